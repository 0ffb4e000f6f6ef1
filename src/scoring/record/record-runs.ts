import type { TargetKind, TraceReading, AgentRun } from '../../domain/trace/agent-run.ts';
import { AppError, readErrorMessage } from '../../domain/errors.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import type { TraceFacts } from '../../store/contracts/stores.ts';
import type { Unscored } from './decision-rows.ts';
import type { Scoring } from '../scoring.ts';
import { listTargets, type ScoringTarget } from '../select/targets.ts';
import { isTraceData, type TraceTask } from '../trace-task.ts';
import { cutText } from '../../domain/cut-text.ts';
import type { AgentMessage } from '../../domain/trace/messages.ts';
import { describeRun } from './run-facets.ts';
import { parseTime } from './score-rows.ts';
import { computeRunCost } from '../select/where.ts';
import type { Score } from '../../domain/score.ts';

/**
 * Stores the runs of a trace, and their facts in the scores that were posted before the trace was read. It goes before the decisions, so that a decided trace has its runs. A row that the store refuses for
 * good is logged, and the trace is decided all the same. Throws when the store cannot be reached.
 */
export async function recordRuns(
  scoring: Scoring,
  task: TraceTask,
  reading: TraceReading | Unscored,
  terms: RunTerms,
): Promise<void> {
  const { runWriter, scoreWriter, log } = scoring;
  try {
    const records = listRecords(scoring, task, reading, terms);
    await runWriter.write(records);
    await scoreWriter.write(joinPostedScores(task.existing, [...records, ...task.knownRuns]));
  } catch (error) {
    if (error instanceof AppError && error.retryable) {
      throw error;
    }
    log.warn('the runs of a trace were not stored', {
      traceId: task.key.traceId,
      error: readErrorMessage(error),
    });
  }
}

function listRecords(
  scoring: Scoring,
  task: TraceTask,
  reading: TraceReading | Unscored,
  terms: RunTerms,
): RunRecord[] {
  const { read, facts, knownRuns, reread } = task;
  const isStored = ({ target, targetId }: RunRecord) =>
    !reread &&
    knownRuns.some(
      (known) =>
        known.target === target &&
        known.targetId === targetId &&
        known.evidenceUntil >= task.activity.lastArrivalMs &&
        (known.readFrom === 'content' || read === null),
    );
  if (read === null) {
    const records = facts === undefined ? [] : [buildFactsRecord(task, facts, terms)];
    return records.filter((record) => !isStored(record));
  }
  const marker = terms.marks ? [buildGoneRecord(task, buildFactsRecord(task, {}, terms))] : [];
  if ('partOf' in read) {
    return [...marker, ...knownRuns.map((known) => buildGoneRecord(task, known))];
  }
  if ('status' in reading) {
    return marker;
  }
  const whole = 'session' in read ? [] : (['trace'] as const);
  const kinds = new Set<TargetKind>([...whole, ...task.rules.map(({ rule }) => rule.target)]);
  const records = [...kinds]
    .flatMap((kind) => listTargets(reading, kind))
    .map((target) => buildRunRecord(scoring, task, target, terms.completeness));
  const present = new Set(records.map(({ target, targetId }) => `${target} ${targetId}`));
  const gone = knownRuns.filter(
    ({ target, targetId }) => kinds.has(target) && !present.has(`${target} ${targetId}`),
  );
  return [
    ...(records.length === 0 ? marker : []),
    ...records.filter((record) => !isStored(record)),
    ...gone.map((known) => buildGoneRecord(task, known)),
  ];
}

// All rows of `runs` are built in this file.

/** Facts that all records of one pass share. */
interface RunTerms {
  readonly completeness: 'partial' | 'complete';
  /** True: a trace without a run gets a deleted row, which says that it was read. */
  readonly marks: boolean;
}

function buildRunRecord(
  { prices, facets }: Scoring,
  task: TraceTask,
  { kind, targetId, run }: ScoringTarget,
  completeness: RunTerms['completeness'],
): RunRecord {
  const startedAt = parseTime(run.startedAt, task.clock.nowMs());
  return {
    ...task.key,
    spanId: run.target.spanId,
    target: kind,
    targetId,
    sessionId: run.sessionId ?? '',
    userId: run.userId ?? '',
    serviceName: run.service ?? '',
    serviceVersion: run.serviceVersion ?? '',
    agent: run.agent ?? '',
    agentVersion: run.agentVersion ?? '',
    environment: run.environment ?? '',
    models: run.models,
    ...run.usage,
    costUsd: computeRunCost(run, prices),
    startedAt,
    durationMs: Math.max(0, parseTime(run.endedAt, startedAt) - startedAt),
    status: run.status,
    errorType: run.error?.type ?? '',
    ...readTools(run),
    ...readTexts(run),
    turns: task.read !== null && 'session' in task.read ? task.read.turns : 1,
    notScorable: run.notScorable?.code ?? '',
    facets: describeRun(run, isTraceData(task.read) ? task.read.spans : [], facets),
    readFrom: 'content',
    completeness,
    evidenceUntil: task.activity.lastArrivalMs,
    isDeleted: false,
  };
}

/** Counts of a record that nobody has read. */
const UNKNOWN = {
  inputTokens: null,
  outputTokens: null,
  totalTokens: null,
  reasoningTokens: null,
  cachedInputTokens: null,
  costUsd: null,
  toolCalls: null,
  toolErrors: null,
  tools: [],
  turns: null,
  status: '',
  errorType: '',
  notScorable: '',
  facets: [],
  question: '',
  answer: '',
} as const;

/** Builds the record of a trace that no rule reads. */
function buildFactsRecord(
  { key, activity }: TraceTask,
  facts: Partial<TraceFacts>,
  { completeness }: RunTerms,
): RunRecord {
  const first = (values: readonly string[] | undefined) => values?.[0] ?? '';
  const startedAt = Number(activity.firstStartUnixNano / 1_000_000n);
  return {
    ...key,
    ...UNKNOWN,
    spanId: '',
    target: 'trace',
    targetId: key.traceId,
    sessionId: first(facts.sessions),
    userId: first(facts.users),
    serviceName: first(facts.services),
    serviceVersion: first(facts.serviceVersions),
    agent: first(facts.agents),
    agentVersion: facts.versions?.find(({ agentVersion }) => agentVersion !== '')?.agentVersion ?? '',
    environment: first(facts.environments),
    models: facts.models ?? [],
    startedAt,
    durationMs: Number((activity.lastEndUnixNano - activity.firstStartUnixNano) / 1_000_000n),
    readFrom: 'facts',
    completeness,
    evidenceUntil: activity.lastArrivalMs,
    isDeleted: false,
  };
}

/** Builds the row that hides a record whose target the trace no longer has. */
function buildGoneRecord({ activity }: TraceTask, record: RunRecord): RunRecord {
  return {
    ...record,
    readFrom: 'content',
    evidenceUntil: Math.max(record.evidenceUntil, activity.lastArrivalMs),
    isDeleted: true,
  };
}

/** Most names of tools of one run. */
const MAX_TOOLS = 100;

function readTools({ output }: AgentRun): Pick<RunRecord, 'toolCalls' | 'toolErrors' | 'tools'> {
  const calls = output
    .flatMap(({ content }) => content.parts)
    .flatMap((part) =>
      part.type === 'tool-invocation' && 'toolInvocation' in part && part.handoff !== true
        ? [part.toolInvocation as { state: string; toolName: string }]
        : [],
    );
  return {
    toolCalls: calls.length,
    toolErrors: calls.filter(({ state }) => state === 'output-error').length,
    tools: [...new Set(calls.map(({ toolName }) => cutText(toolName, MAX_LINE_CHARS)))].slice(0, MAX_TOOLS),
  };
}

/** Most characters of a stored question, answer or name. */
const MAX_LINE_CHARS = 500;

/** Characters of a text that are looked at: more than a line has, for the blanks that are left out. */
const READ_CHARS = 4 * MAX_LINE_CHARS;

/** Reads the question and the answer of a run, each in one line. */
function readTexts({ input, output }: AgentRun): Pick<RunRecord, 'question' | 'answer'> {
  const asked = input.inputMessages.find(({ role }) => role === 'user');
  const answers = output.filter(({ role }) => role === 'assistant').map(toLine);
  return {
    question: asked === undefined ? '' : toLine(asked),
    answer: answers.findLast((line) => line !== '') ?? '',
  };
}

function toLine({ content }: AgentMessage): string {
  const parts = content.parts.flatMap((part) => (part.type === 'text' && 'text' in part ? [part.text] : []));
  const text = content.content ?? parts.join(' ');
  return cutText(text.slice(0, READ_CHARS).toWellFormed().replace(/\s+/gu, ' ').trim(), MAX_LINE_CHARS);
}

/** Returns true for a score of a person or a program whose run was not known when it was posted. */
export function isUnjoined({ scoredBy, completeness }: Pick<Score, 'scoredBy' | 'completeness'>): boolean {
  return scoredBy !== '' && completeness === 'partial';
}

/** Builds new rows of the posted scores whose runs are known by now: with the facts of the run. */
export function joinPostedScores(scores: readonly Score[], records: readonly RunRecord[]): Score[] {
  return scores.filter(isUnjoined).flatMap((score) => {
    const joined = joinPostedScore(score, records);
    return joined === undefined ? [] : [{ ...joined, revision: score.revision + 1 }];
  });
}

/** Adds the facts of its run, or of the turns of its session, to a posted score. Returns undefined while none is known. */
export function joinPostedScore(score: Score, records: readonly RunRecord[]): Score | undefined {
  const ofTenant = records.filter(({ isDeleted, tenant }) => !isDeleted && tenant === score.tenant);
  const present = ofTenant.filter(({ traceId }) => traceId === score.traceId);
  const own = present.find(({ targetId }) => targetId === score.targetId);
  const whole =
    score.traceId === ''
      ? joinTurns(
          ofTenant.filter(({ target, sessionId }) => target === 'trace' && sessionId === score.sessionId),
        )
      : present.find(({ target }) => target === 'trace');
  const record = own ?? whole;
  if (record === undefined) {
    return undefined;
  }
  return {
    ...score,
    target: own?.target ?? score.target,
    spanId: score.spanId === '' ? record.spanId : score.spanId,
    sessionId: record.sessionId === '' ? score.sessionId : record.sessionId,
    userId: record.userId,
    serviceName: record.serviceName,
    serviceVersion: record.serviceVersion,
    agent: record.agent,
    agentVersion: record.agentVersion,
    environment: record.environment,
    model: record.models[0] ?? '',
    traceTimestamp: record.startedAt,
    completeness: 'complete',
  };
}

/** Joins the turns of a session to one record, with the facts that a score of the session has (`buildSessionContent`). */
function joinTurns(turns: readonly RunRecord[]): RunRecord | undefined {
  const newestFirst = turns.toSorted((a, b) => b.startedAt - a.startedAt);
  const last = newestFirst.find(({ notScorable }) => notScorable === '') ?? newestFirst[0];
  return (
    last && {
      ...last,
      spanId: '',
      userId: newestFirst.find(({ userId }) => userId !== '')?.userId ?? '',
      models: newestFirst.flatMap(({ models }) => models),
      startedAt: newestFirst.at(-1)?.startedAt ?? last.startedAt,
    }
  );
}

import type { AgentRun } from '../../domain/trace/agent-run.ts';
import type { PriceTable } from '../../domain/money/model-prices.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import type { TraceFacts, TraceKey } from '../../store/contracts/stores.ts';
import { parseTime } from '../record/score-rows.ts';
import { computeRunCost } from '../select/run-totals.ts';
import type { ScoringTarget } from '../select/targets.ts';
import type { TraceTask } from '../trace-task.ts';

// All rows of `runs` are built in this file.

/** Facts that all records of one pass share. */
export interface RunTerms {
  readonly completeness: 'partial' | 'complete';
  readonly prices: PriceTable;
  /** True: a trace without a run gets a deleted row, which says that it was read. */
  readonly marks: boolean;
}

/** Builds the record of a target that was read. */
export function buildRunRecord(
  task: TraceTask,
  { kind, targetId, run }: ScoringTarget,
  terms: RunTerms,
): RunRecord {
  const nowMs = task.clock.nowMs();
  const startedAt = parseTime(run.startedAt, nowMs);
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
    costUsd: computeRunCost(run, terms.prices),
    startedAt,
    durationMs: Math.max(0, parseTime(run.endedAt, startedAt) - startedAt),
    status: run.status,
    errorType: run.error?.type ?? '',
    ...countTools(run),
    turns: task.read !== null && 'session' in task.read ? task.read.turns : 1,
    notScorable: run.notScorable?.code ?? '',
    readFrom: 'content',
    completeness: terms.completeness,
    evidenceUntil: task.activity.lastArrivalMs,
    isDeleted: false,
  };
}

/** Builds the record of a trace that no rule reads. Its counts are unknown. */
export function buildFactsRecord(
  { key, activity }: TraceTask,
  facts: TraceFacts,
  { completeness }: RunTerms,
): RunRecord {
  const startedAt = Number(activity.firstStartUnixNano / 1_000_000n);
  return {
    ...key,
    spanId: '',
    target: 'trace',
    targetId: key.traceId,
    sessionId: facts.sessions[0] ?? '',
    userId: facts.users[0] ?? '',
    serviceName: facts.services[0] ?? '',
    serviceVersion: facts.serviceVersions[0] ?? '',
    agent: facts.agents[0] ?? '',
    agentVersion: facts.versions.find(({ agentVersion }) => agentVersion !== '')?.agentVersion ?? '',
    environment: facts.environments[0] ?? '',
    models: facts.models,
    inputTokens: null,
    outputTokens: null,
    totalTokens: null,
    reasoningTokens: null,
    cachedInputTokens: null,
    costUsd: null,
    startedAt,
    durationMs: Number((activity.lastEndUnixNano - activity.firstStartUnixNano) / 1_000_000n),
    status: '',
    errorType: '',
    toolCalls: null,
    toolErrors: null,
    turns: null,
    notScorable: '',
    readFrom: 'facts',
    completeness,
    evidenceUntil: activity.lastArrivalMs,
    isDeleted: false,
  };
}

/** Facts of a trace of which nothing is known. */
export const NO_FACTS: Omit<TraceFacts, keyof TraceKey> = {
  services: [],
  environments: [],
  agents: [],
  sessions: [],
  users: [],
  models: [],
  modelNames: [],
  serviceVersions: [],
  versions: [],
  hasError: false,
  hasToolError: false,
  hasNegativeFeedback: false,
  attributes: new Map(),
};

/** Builds the deleted row of a trace that was read and has no run. */
export function buildMarker(task: TraceTask, terms: RunTerms): RunRecord {
  return buildGoneRecord(task, buildFactsRecord(task, { ...task.key, ...NO_FACTS }, terms));
}

/** Builds the row that hides a record whose target the trace no longer has. */
export function buildGoneRecord({ activity }: TraceTask, record: RunRecord): RunRecord {
  return {
    ...record,
    readFrom: 'content',
    evidenceUntil: Math.max(record.evidenceUntil, activity.lastArrivalMs),
    isDeleted: true,
  };
}

function countTools({ output }: AgentRun): Pick<RunRecord, 'toolCalls' | 'toolErrors'> {
  const calls = output
    .flatMap(({ content }) => content.parts)
    .flatMap((part) =>
      part.type === 'tool-invocation' && 'toolInvocation' in part && part.handoff !== true
        ? [part.toolInvocation as { state: string }]
        : [],
    );
  return {
    toolCalls: calls.length,
    toolErrors: calls.filter(({ state }) => state === 'output-error').length,
  };
}

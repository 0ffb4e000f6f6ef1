import type { Score, ScoreSource } from '../../domain/score.ts';
import { attemptScorer } from './attempt-scorer.ts';
import {
  readReasonCode,
  formatReason,
  sumCost,
  type RecordedAttempt,
  type ScorerAttempt,
} from './attempt-failure.ts';
import { isScoreOfPair, isResultOf, type Pair, type PairResult } from './pair.ts';
import { buildAttemptRow } from '../record/decision-rows.ts';
import { buildScoreId, buildScoreRows, type ScoreTerms } from '../record/score-rows.ts';
import { recordAttempt } from '../record/record-attempt.ts';
import type { Scoring } from '../scoring.ts';
import type { PreparedScorer } from '../select/rule.ts';
import type { RunSlots, QueueEnd } from '../live/queue.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import { ANSWER_CUT } from '../../domain/trace/agent-run.ts';
import { computeRunCost } from '../select/where.ts';
import { createReserve } from '../budget/budget.ts';
import type { ScorerRunInput } from '../../scorers/evals/scorer.ts';
import type { ScoringTarget } from '../select/targets.ts';

/** Faults of a judge that the next try may not have, but that must not be tried for ever: each try may cost money. */
const CODES: readonly string[] = ['judge_malformed', 'judge_timeout'];

/** The number of the try is in the reason of the decision, so that a restart does not lose it. */
const COUNTED = /^(?:judge_malformed|judge_timeout): try (\d+) of \d+: /;

/** Facts that all pairs of a trace share. */
export interface PairRun {
  readonly context: Scoring;
  readonly mode: ScoringMode;
  readonly terms: ScoreTerms;
  /** Slots that the runs of this pass may use, by slots. */
  readonly ends: ReadonlyMap<RunSlots, QueueEnd>;
}

/** Runs the scorer of a pair and stores its scores. Returns them with the row, which is not stored yet. Throws what the store throws. */
export async function runPair(pair: Pair, run: PairRun): Promise<PairResult> {
  const scoreId = buildScoreId(pair.task.key.tenant, pair.target, pair.bound);
  const { attempt, scores } = await runOnce(pair, run, scoreId);
  const row = buildAttemptRow(pair, attempt, run.context.random());
  return { row, scores, abandoned: row === null };
}

/**
 * Finds a score of the same evidence: another process or a backfill may have scored the run while it waited. A query is cheaper
 * than a judge call.
 */
async function findStoredScore(pair: Pair, { context, mode }: PairRun): Promise<Score | undefined> {
  const scores = await context.laterScores.read(pair.task);
  const redo = mode.redo?.selects(pair.prior) ? mode.redo : null;
  const isStanding = (score: Score) =>
    redo === null
      ? score.fingerprint === pair.bound.fingerprint || (mode.keepsFormerResults && score.source === 'live')
      : score.fingerprint === pair.bound.fingerprint && isResultOf(redo, score, pair.hash);
  return scores.find(
    (score) => score.evidenceHash === pair.hash && isScoreOfPair(score, pair) && isStanding(score),
  );
}

/** Builds the attempt of a run that has a score already. */
function useStanding({ fingerprint }: Score): ScorerAttempt {
  const cost = sumCost([], { durationMs: 0, redactions: 0 });
  return { result: { status: 'scored', values: [], standing: fingerprint }, calls: [], cost };
}

/**
 * Runs the scorer once for all rules that need the same score at the same time; its score is written once. When the budget of the
 * other rule was exhausted, this rule tries with its own budget. When the other work was stopped, this one goes on alone.
 */
async function runOnce(pair: Pair, run: PairRun, scoreId: string): Promise<RecordedAttempt> {
  const key = `${scoreId} ${pair.hash} ${run.mode.write ? run.mode.source : 'dry'}`;
  for (;;) {
    let isOurs = false;
    const recorded = await run.context.flights.run(key, () => {
      isOurs = true;
      return attemptPair(pair, run, scoreId);
    });
    if (isOurs) {
      return recorded;
    }
    const isAbandonedThere = recorded.attempt.result.status === 'abandoned' && !run.context.signal?.aborted;
    if (!isOutOfBudget(recorded.attempt) && !isAbandonedThere) {
      return { attempt: recorded.attempt, scores: [] };
    }
  }
}

function isOutOfBudget({ result }: ScorerAttempt): boolean {
  return result.status === 'deferred' && readReasonCode(result.reason) === 'budget_exhausted';
}

async function attemptPair(pair: Pair, run: PairRun, scoreId: string): Promise<RecordedAttempt> {
  const { context, mode, terms } = run;
  const result = await attemptInPlace(pair, run, scoreId);
  if (result.result.status === 'scored' && result.result.standing !== undefined) {
    return { attempt: result, scores: [] };
  }
  const attempt = mode.write ? limitTries(pair, result, context.judgeAttempts) : result;
  observeHealth(pair, attempt, context);
  const recorded = { attempt, scores: buildScoreRows(pair, attempt, { ...terms, scoreId }) };
  return mode.write ? recordAttempt(context, pair, recorded, scoreId) : recorded;
}

/** Asks for a place only for the call, so that the places do not wait for the writes of rows. */
async function attemptInPlace(pair: Pair, run: PairRun, scoreId: string): Promise<ScorerAttempt> {
  if (findSlots(pair.bound, run.context) !== run.context.judgeSlots) {
    return callScorer(pair, run, scoreId);
  }
  const end = run.ends.get(run.context.judgeSlots) ?? 'oldest';
  const stopWaiting = run.mode.reuses ? run.context.laterScores.expect(pair.task) : undefined;
  return run.context.judgeSlots.run(end, async () => {
    await run.context.giveTurnToReplies();
    stopWaiting?.();
    const standing = run.mode.reuses ? await findStoredScore(pair, run) : undefined;
    return standing === undefined ? callScorer(pair, run, scoreId) : useStanding(standing);
  });
}

/** Returns the slots of the runs of a slow scorer; null for a scorer that runs at once in this process. */
export function findSlots({ own, isJudged }: PreparedScorer, { judgeSlots }: Scoring): RunSlots | null {
  // A scorer in child processes has slots of its own: when it hangs, the slots of other judged scorers stay free.
  return own ?? (isJudged ? judgeSlots : null);
}

async function callScorer(pair: Pair, { context, mode }: PairRun, scoreId: string): Promise<ScorerAttempt> {
  const facts = pair.bound.readsPast === true ? await readRunFacts(pair, context) : {};
  const { exampleTraces = [], name } = pair.bound;
  const shown = await context.exampleRuns.find(name, pair.task.key.tenant, exampleTraces);
  const examples = shown === null ? {} : { exampleRuns: shown };
  const input = { ...buildScorerInput(pair.target, mode.source, scoreId), ...facts, ...examples };
  return attemptScorer(pair, input, context, reserveFor(pair, context, scoreId));
}

function reserveFor({ selected, task }: Pair, { budget, signal }: Scoring, scoreId: string) {
  const { name, paidBy: rule = name, budget: caps } = selected.rule;
  const { tenant } = task.key;
  const call = { rule, caps, tenant, scoreId, nowMs: () => task.clock.nowMs(), signal };
  return createReserve(budget, call, `rule ${name}`);
}

function observeHealth({ bound }: Pair, { result }: ScorerAttempt, { judgeHealth }: Scoring): void {
  if (result.status === 'abandoned') {
    return;
  }
  const reason = result.status === 'scored' ? '' : result.reason;
  const kind = 'kind' in result ? result.kind : undefined;
  const { judgeModel: judge, name: scorer } = bound;
  judgeHealth.observe({ judge, scorer, status: result.status, kind: kind ?? readReasonCode(reason), reason });
}

/**
 * Defers an attempt whose judge gave a reply that cannot be used, or none in time.
 * @param attempts number of such tries in a row after which the attempt fails
 */
function limitTries(pair: Pair, attempt: ScorerAttempt, attempts: number): ScorerAttempt {
  const { result } = attempt;
  const code =
    result.status === 'failed' || result.status === 'deferred' ? readReasonCode(result.reason) : '';
  // A single try that fails needs no count. One that was to wait may not wait for ever.
  if (!CODES.includes(code) || !('reason' in result) || (attempts === 1 && result.status === 'failed')) {
    return attempt;
  }
  const tries = countEarlierTries(pair) + 1;
  const detail = result.reason.slice(code.length + 1).trim();
  const reason = formatReason(code, `try ${Math.min(tries, attempts)} of ${attempts}: ${detail}`);
  return { ...attempt, result: { ...result, status: tries < attempts ? 'deferred' : 'failed', reason } };
}

/** Counts the tries in a row that brought no usable reply, on the same evidence by the same scorer. */
function countEarlierTries({ prior, hash, bound }: Pair): number {
  const isSame = prior?.evidenceHash === hash && prior.fingerprint === bound.fingerprint;
  return isSame && prior.status === 'deferred' ? Number(COUNTED.exec(prior.reason)?.[1] ?? 0) : 0;
}

/** Reads what a run took, and the past of its agent, for scorers that measure runs. Throws what the store throws. */
async function readRunFacts(
  { task, target, bound }: Pair,
  { agentPasts, prices }: Scoring,
): Promise<Record<string, unknown>> {
  const { run, kind } = target;
  const durationMs = Date.parse(run.endedAt) - Date.parse(run.startedAt);
  return {
    usage: run.usage,
    durationMs: Number.isFinite(durationMs) ? Math.max(0, durationMs) : undefined,
    costUsd: computeRunCost(run, prices),
    ...(run.warnings.some(({ code }) => code === ANSWER_CUT) ? { finishReason: 'length' } : {}),
    past: await agentPasts.find(bound.name, {
      tenant: task.key.tenant,
      target: kind,
      agent: run.agent || run.service || '',
    }),
  };
}

/** Builds the input of a scorer from a run. The run id is the score id, so that a repeated run can be recognised. */
function buildScorerInput(target: ScoringTarget, source: ScoreSource, scoreId: string): ScorerRunInput {
  const { run } = target;
  return {
    input: run.input,
    output: run.output,
    context: run.context,
    documents: run.documents,
    ...(run.tools === undefined ? {} : { tools: run.tools }),
    runId: scoreId,
    scoreSource: source,
    targetTraceId: run.target.traceId,
    targetSpanId: run.target.spanId,
    requestContext: {},
  };
}

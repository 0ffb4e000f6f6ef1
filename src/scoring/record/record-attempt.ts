import { AppError, readErrorMessage } from '../../domain/errors.ts';
import type { JudgeCall } from '../../judge/judge-execution.ts';
import type { JudgeCallRecord } from '../../domain/judge-call.ts';
import type { RecordedAttempt } from '../attempt/attempt-failure.ts';
import type { Pair, PairResults, RulePass } from '../attempt/pair.ts';
import type { Scoring } from '../scoring.ts';
import type { Decision } from '../../domain/decision.ts';
import type { TraceTask } from '../trace-task.ts';
import { buildInProgressRow } from './decision-rows.ts';

/**
 * Stores the judge calls and the scores of an attempt. When another process may have worked on the trace meanwhile, the scores
 * are dropped and the attempt counts as abandoned: the trace is scored by its owner. Throws what the store throws.
 */
export async function recordAttempt(
  context: Scoring,
  pair: Pair,
  recorded: RecordedAttempt,
  scoreId: string,
): Promise<RecordedAttempt> {
  const { attempt, scores } = recorded;
  const { tenant, traceId } = pair.task.key;
  const { name: scorer } = pair.bound;
  const { name, paidBy: rule = name } = pair.selected.rule;
  const subject = { tenant, traceId, scoreId, scorer };
  const record = () => recordCalls(context, subject, attempt.calls, rule);
  try {
    await pair.task.claim.check();
    await record();
  } catch (error) {
    if (error instanceof AppError && error.code === 'cancelled') {
      // Prompts quote the turns of a session, also those that were purged.
      await (error.details['isPurged'] === true ? undefined : record());
      return { attempt: { ...attempt, result: { status: 'abandoned' } }, scores: [] };
    }
    throw error;
  }
  await (attempt.calls.length > 0 ? context.judgedScoreWriter : context.scoreWriter).write(scores);
  recordDelay(context, pair, scores.length);
  return recorded;
}

/** Records for each stored score how long its trace has waited for it. */
function recordDelay({ metrics }: Scoring, { task, bound }: Pair, scores: number): void {
  const { readyAtMs, clock } = task;
  if (readyAtMs === undefined) {
    return;
  }
  const kind = bound.own !== undefined ? 'own' : bound.isJudged ? 'judge' : 'code';
  for (let index = 0; index < scores; index += 1) {
    metrics.record('spanscore.scoring.delay', Math.max(0, clock.nowMs() - readyAtMs) / 1_000, { kind });
  }
}

/**
 * Writes the audit rows of judge calls. Rows that the store refuses for good are logged, and the scores are stored all the same.
 * @param rule rule that pays
 */
export async function recordCalls(
  { callWriter, metrics, log }: Scoring,
  subject: CallSubject,
  calls: readonly JudgeCall[],
  rule: string,
): Promise<void> {
  const { scorer } = subject;
  try {
    await callWriter.write(calls.map((call) => buildCallRecord(subject, call)));
    for (const { model, cost = 0 } of calls) {
      metrics.add('spanscore.judge.cost', cost, { model, scorer, rule });
    }
  } catch (error) {
    if (error instanceof AppError && error.retryable) {
      throw error;
    }
    log.warn('judge calls not stored', { scorer, error: readErrorMessage(error) });
  }
}

type CallSubject = Pick<JudgeCallRecord, 'tenant' | 'traceId' | 'scoreId' | 'scorer'>;

/** Builds the row of a call about a run. */
export function buildCallRecord(
  subject: CallSubject,
  { provider: _provider, usage, cost, ...call }: JudgeCall,
): JudgeCallRecord {
  return {
    ...subject,
    ...call,
    inputTokens: usage?.inputTokens ?? null,
    outputTokens: usage?.outputTokens ?? null,
    costUsd: cost ?? null,
  };
}

/** Time that an own scorer may run before the decisions of the other scorers are shown, milliseconds. */
const INTERIM_AFTER_MS = 2_000;

/** A trace whose scorers run. */
export interface RunningTrace {
  readonly task: TraceTask;
  readonly passes: readonly RulePass[];
  /** Grows while the scorers run. */
  readonly results: PairResults;
}

/**
 * Writes the rows of a rule as soon as one of its scorers fails while others still run: a person sees a dead judge at once, not
 * after minutes.
 */
export async function showFailure(context: Scoring, trace: RunningTrace, failed: Pair): Promise<void> {
  const pass = trace.passes.find((each) => each.pairs.includes(failed));
  const status = trace.results.get(failed)?.row?.status;
  const isFailure = status === 'deferred' || status === 'failed';
  if (pass !== undefined && isFailure && hasRunning(pass, trace.results)) {
    await writeInterimRows(context, trace, [pass]);
  }
}

/**
 * Writes new decisions every 2 s while an own scorer runs: a scorer that hangs must not hide the decisions of the others. A
 * rule whose pairs are all done is left out when the trace has earlier scores: they may have to be withdrawn, and that goes
 * before the decisions.
 */
export function startInterimRows(context: Scoring, trace: RunningTrace): { stop(): Promise<void> } {
  const { task, passes, results } = trace;
  const ownScorers = passes
    .flatMap(({ pairs }) => pairs)
    .filter((pair) => pair.bound.own !== undefined && !results.has(pair));
  if (ownScorers.length === 0) {
    return { stop: async () => undefined };
  }
  let shown = 0;
  let writing: Promise<void> = Promise.resolve();
  const show = () => {
    const decided = [...results.values()].filter(({ row }) => row !== null).length;
    if (decided > shown && ownScorers.some((pair) => !results.has(pair))) {
      shown = decided;
      const open = passes.filter((pass) => task.existing.length === 0 || hasRunning(pass, results));
      // An error is dropped: the final rows are written in any case.
      writing = writeInterimRows(context, trace, open).catch(() => undefined);
    }
  };
  const timer = setInterval(show, INTERIM_AFTER_MS);
  return {
    async stop() {
      clearInterval(timer);
      await writing;
    },
  };
}

function hasRunning({ pairs }: RulePass, results: PairResults): boolean {
  return pairs.some((pair) => !results.has(pair));
}

/** Returns null for a pair whose earlier row is still right, or whose run is left to a later pass. */
function readInterimRow(pair: Pair, results: PairResults): Decision | null {
  const result = results.get(pair);
  return result === undefined ? buildInProgressRow(pair) : result.row;
}

async function writeInterimRows(
  context: Scoring,
  { task, results }: RunningTrace,
  passes: readonly RulePass[],
): Promise<void> {
  await task.claim.check();
  const rows = passes.flatMap((pass) => [
    ...pass.verdicts,
    ...pass.pairs.flatMap((pair) => readInterimRow(pair, results) ?? []),
  ]);
  await context.decisionWriter.write(rows);
}

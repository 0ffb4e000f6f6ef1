import { AppError, readErrorMessage } from '../../domain/errors.ts';
import type { JudgeCall } from '../../judge/judge-execution.ts';
import type { JudgeCallRecord } from '../../store/contracts/stores.ts';
import type { RecordedAttempt } from '../attempt/attempt-result.ts';
import type { Cell } from '../attempt/cell.ts';
import type { RecordContext } from './record-context.ts';
import { buildScoreId } from './score-rows.ts';

/**
 * Stores the judge calls and the scores of an attempt. When another process may have worked on the trace meanwhile, the scores
 * are dropped and the attempt counts as abandoned: the trace is scored by its owner. Throws what the store throws.
 */
export async function recordAttempt(
  context: RecordContext,
  cell: Cell,
  recorded: RecordedAttempt,
): Promise<RecordedAttempt> {
  const { attempt, scores } = recorded;
  try {
    await cell.task.claim.check();
    await recordCalls(context, cell, attempt.calls);
  } catch (error) {
    if (error instanceof AppError && error.code === 'cancelled') {
      // Prompts quote the turns of a session, also those that were purged.
      await (error.details['isPurged'] === true ? undefined : recordCalls(context, cell, attempt.calls));
      return { attempt: { ...attempt, result: { status: 'abandoned' } }, scores: [] };
    }
    throw error;
  }
  await context.scoreWriter.write(scores);
  recordDelay(context, cell, scores.length);
  return recorded;
}

/** Records for each stored score how long its trace has waited for it. */
function recordDelay({ metrics }: RecordContext, { task, bound }: Cell, scores: number): void {
  const { readyAtMs, clock } = task;
  if (readyAtMs === undefined) {
    return;
  }
  const kind = bound.guest !== undefined ? 'own' : bound.isJudged ? 'judge' : 'code';
  for (let index = 0; index < scores; index += 1) {
    metrics.record('spanscore.scoring.delay', Math.max(0, clock.nowMs() - readyAtMs) / 1_000, { kind });
  }
}

/** Writes the audit rows of judge calls. Rows that the store refuses for good are logged, and the scores are stored all the same. */
async function recordCalls(
  { callWriter, metrics, log }: RecordContext,
  cell: Cell,
  calls: readonly JudgeCall[],
): Promise<void> {
  try {
    await callWriter.write(calls.map((call) => buildCallRecord(cell, call)));
    const { name, paidBy: rule = name } = cell.selected.rule;
    for (const { model, cost = 0 } of calls) {
      metrics.add('spanscore.judge.cost', cost, { model, scorer: cell.bound.name, rule });
    }
  } catch (error) {
    if (error instanceof AppError && error.retryable) {
      throw error;
    }
    log.warn('judge calls not stored', { scorer: cell.bound.name, error: readErrorMessage(error) });
  }
}

function buildCallRecord({ task, target, bound }: Cell, call: JudgeCall): JudgeCallRecord {
  const { tenant, traceId } = task.key;
  return {
    tenant,
    traceId,
    scoreId: buildScoreId(tenant, target, bound),
    scorer: bound.name,
    step: call.step,
    model: call.model,
    status: call.status,
    prompt: call.prompt,
    reply: call.reply,
    error: call.error,
    inputTokens: call.usage?.inputTokens ?? null,
    outputTokens: call.usage?.outputTokens ?? null,
    costUsd: call.cost ?? null,
    durationMs: call.durationMs,
    calledAtMs: call.calledAtMs,
  };
}

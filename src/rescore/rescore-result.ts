import type { Decision } from '../domain/decision.ts';
import { formatReason, readReasonCode } from '../scoring/attempt/attempt-failure.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import type { RescoreResult } from './rescore-report.ts';

/** Returns the name of a decision, for sets and maps. */
export function nameRow({ tenant, traceId, target, targetId, rule, scorer }: Decision): string {
  return JSON.stringify([tenant, traceId, target, targetId, rule, scorer]);
}

/** Reads what became of a decision. `outcome` is that of its trace or session; undefined when no spans of it are stored. */
export function findResult(
  row: Decision,
  outcome: TraceOutcome | undefined,
  rows: ReadonlyMap<string, Decision>,
): RescoreResult {
  const now = rows.get(nameRow(row));
  if (now !== undefined) {
    return readResult(now);
  }
  if (outcome !== undefined && outcome.waitUntilMs !== null) {
    return skip('arriving', 'spans still arrive: live scoring decides it');
  }
  if (outcome === undefined || outcome.activity === null) {
    return skip('evidence_gone', 'the spans are no longer stored');
  }
  return skip('unchanged', 'another process decided it meanwhile');
}

function readResult({ status, reason }: Decision): RescoreResult {
  if (status === 'failed' || status === 'deferred') {
    return { kind: status, code: readReasonCode(reason), detail: reason };
  }
  return { kind: status === 'scored' ? 'scored' : 'notApplicable' };
}

function skip(code: string, detail: string): RescoreResult {
  return { kind: 'skipped', code, detail: formatReason(code, detail) };
}

/** Codes of deferred decisions that are about the target itself: its judge works for others. */
const OF_THE_TARGET: ReadonlySet<string> = new Set(['judge_malformed', 'judge_window']);

/**
 * Returns true for a scored decision whose scorer waits for its judge or for money: nothing but this repair tries it again. A reply of
 * the judge that cannot be used, or a question that is too long for it, is no reason to wait.
 */
export function isPassing(row: Decision, result: RescoreResult): boolean {
  return row.status === 'scored' && result.kind === 'deferred' && !OF_THE_TARGET.has(result.code);
}

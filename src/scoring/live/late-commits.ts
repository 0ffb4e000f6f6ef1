import { OVERLAP_MS } from '../../readiness/tail.ts';
import type { ReadyTrace } from '../../readiness/waiting-set.ts';
import type { DecisionStore } from '../../store/contracts/stores.ts';

/** Traces whose decisions are read at a time. */
const KEYS_PER_LOOKUP = 500;

/**
 * Computes the time from which the traces of a starting tail are read again: the last decision less the overlap, Unix
 * milliseconds by the store's clock; -Infinity without a decision. A decision ahead of that clock counts as now.
 *
 * An insert with an earlier stamp may commit later. A running tail sees its spans. But when all scorer processes ended just
 * before such a commit, no row is newer than the decision. The insert was stamped at most one overlap before that end, and no
 * decision was made after the end. So only traces with arrivals since then can have such spans.
 */
export async function computeSuspectSince(
  decisions: Pick<DecisionStore, 'ofTraces'>,
  found: readonly ReadyTrace[],
  nowMs: number,
): Promise<number> {
  const slices: Promise<number>[] = [];
  for (let start = 0; start < found.length; start += KEYS_PER_LOOKUP) {
    slices.push(findLastDecisionMs(decisions, found.slice(start, start + KEYS_PER_LOOKUP), nowMs));
  }
  return Math.max(-Infinity, ...(await Promise.all(slices))) - OVERLAP_MS;
}

async function findLastDecisionMs(
  decisions: Pick<DecisionStore, 'ofTraces'>,
  keys: readonly ReadyTrace[],
  nowMs: number,
): Promise<number> {
  const rows = await decisions.ofTraces(keys);
  const times = [...rows.values()].flat().map((row) => Math.min(row.decidedAt, nowMs));
  return times.reduce((latest, ms) => Math.max(latest, ms), -Infinity);
}

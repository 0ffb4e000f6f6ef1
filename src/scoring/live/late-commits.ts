import { OVERLAP_MS } from '../../readiness/tail.ts';
import type { ReadyTrace } from '../../readiness/waiting-set.ts';
import type { DecisionStore } from '../../store/contracts/stores.ts';

/** Traces whose decisions are looked up at a time. */
const KEYS_PER_LOOKUP = 500;

/**
 * An insert may commit after a later-stamped one. While a tail runs it sees the new spans; but when every scorer died just
 * before such a commit, nothing newer than the decision ever tells of it. It must have been stamped at most an overlap
 * before that death, and no decision was made after it: so of the traces that a starting tail finds, those with arrivals
 * since (the last decision less the overlap) are to be read again. Gives that moment, by the store's clock; -Infinity when
 * nothing is decided.
 */
export async function suspectSince(
  decisions: Pick<DecisionStore, 'ofTraces'>,
  found: readonly ReadyTrace[],
): Promise<number> {
  let lastDecisionMs = -Infinity;
  for (let start = 0; start < found.length; start += KEYS_PER_LOOKUP) {
    const rows = await decisions.ofTraces(found.slice(start, start + KEYS_PER_LOOKUP));
    for (const row of [...rows.values()].flat()) {
      lastDecisionMs = Math.max(lastDecisionMs, row.decidedAt);
    }
  }
  return lastDecisionMs - OVERLAP_MS;
}

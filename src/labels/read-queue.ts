import { computeAuthorFingerprint } from '../domain/identity.ts';
import type { LabelTarget } from '../store/contracts/sums.ts';
import type { LabelStore } from '../store/tables/labels.ts';

/** Wish of a reviewer for targets. Times are Unix milliseconds. */
export interface QueueRequest {
  readonly scorer: string;
  readonly reviewer: string;
  readonly sinceMs: number;
  readonly nowMs: number;
  readonly limit: number;
}

/** Targets for a reviewer. */
export interface QueueChoice {
  /** UTC day for which the order holds, `YYYY-MM-DD`. */
  readonly day: string;
  readonly labelled: number;
  readonly left: number;
  readonly targets: readonly LabelTarget[];
}

/** Chooses targets for a reviewer. The order is the same for a reviewer and a scorer during a day. */
export async function readQueue(
  labels: LabelStore,
  tenant: string | undefined,
  { scorer, reviewer, sinceMs, nowMs, limit }: QueueRequest,
): Promise<QueueChoice> {
  const day = new Date(nowMs).toISOString().slice(0, 10);
  const query = { tenant, scorer, sinceMs, fingerprint: computeAuthorFingerprint('human', reviewer) };
  const [labelled, { left, targets }] = await Promise.all([
    labels.countLabelled(query),
    labels.unlabelled({ ...query, seed: JSON.stringify([day, reviewer, scorer]), perStratum: limit }),
  ]);
  return { day, labelled, left, targets: chooseTargets(targets, limit) };
}

/** Target with its stratum: the label and the band of its score. */
interface Drawn {
  readonly label: string;
  readonly band: number;
  /** Random number that orders the targets of a stratum. */
  readonly draw: number;
}

/**
 * Chooses targets from all strata in turn: first one of each, then a second one, until there are enough. So rare verdicts get as many
 * labels as frequent ones. Within a turn the draw decides, so that the order does not tell the verdict.
 */
export function chooseTargets<Target extends Drawn>(candidates: readonly Target[], limit: number): Target[] {
  const strata = Map.groupBy(candidates, ({ label, band }) => JSON.stringify([label, band]));
  const turns = [...strata.values()].flatMap((stratum) =>
    stratum.toSorted((a, b) => a.draw - b.draw).map((target, turn) => ({ target, turn })),
  );
  return turns
    .toSorted((a, b) => a.turn - b.turn || a.target.draw - b.target.draw)
    .slice(0, limit)
    .map(({ target }) => target);
}

import { computeAuthorFingerprint } from '../domain/identity.ts';
import type { LabelStore, LabelTarget } from '../store/contracts/labels/label-store.ts';
import { chooseTargets } from './choose-targets.ts';

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

import { allocateLabels } from '../domain/agreement/pass-rate.ts';
import type { QueueStrategy } from '../domain/agreement/label-agreement.ts';
import type { IssueRow } from '../domain/failure.ts';
import { computeAuthorFingerprint } from '../domain/identity.ts';
import type { LabelQuery } from '../store/contracts/sums.ts';
import type { LabelStore } from '../store/tables/labels.ts';
import { type JudgedStores, readVersions, sumJudged } from './read-agreement.ts';

/** Wish of a reviewer for targets. Times are Unix milliseconds. */
export interface QueueRequest {
  readonly scorer: string;
  readonly reviewer: string;
  readonly sinceMs: number;
  readonly nowMs: number;
  readonly limit: number;
  readonly strategy: QueueStrategy;
  readonly chosen?: LabelQuery['chosen'];
  /** Only runs with a failure of this issue. */
  readonly issue?: Pick<IssueRow, 'tenant' | 'issueId'> | undefined;
}

/**
 * Chooses targets for a reviewer: those with which the interval of the pass rate shrinks most. The order is the same for a reviewer and a
 * scorer during a day, while the labels stay the same.
 */
export async function readQueue(
  stores: JudgedStores & { readonly labels: LabelStore },
  tenant: string | undefined,
  { scorer, reviewer, sinceMs, nowMs, limit, strategy, chosen, issue }: QueueRequest,
) {
  const { labels } = stores;
  const day = new Date(nowMs).toISOString().slice(0, 10);
  const author = computeAuthorFingerprint('human', reviewer);
  const query = { tenant, scorer, sinceMs, chosen, fingerprint: author };
  const { passLine, higherIsBetter, versions, rows } = await readVersions(stores, query);
  const present = rows.filter(({ fingerprint }) => fingerprint === versions[0]?.fingerprint);
  const judged = sumJudged(present);
  const rarer = Math.min(judged.pass.scores.n, judged.fail.scores.n);
  const seed = JSON.stringify([day, reviewer, scorer]);
  const [labelled, { left, targets }] = await Promise.all([
    labels.countLabelled(query),
    labels.unlabelled({
      ...query,
      passLine,
      higherIsBetter,
      seed,
      perStratum: limit,
      rarer,
      strategy,
      issue,
    }),
  ]);
  const part = allocateLabels(judged);
  return { day, labelled, left, targets: chooseTargets(targets, { limit, part }) };
}

interface Drawn {
  readonly passes: boolean;
  /** Random number from 0 to 1 that orders the targets of a verdict. */
  readonly draw: number;
}

/** Least part of the targets that each verdict has. */
const LEAST_PART = 0.1;

/**
 * Chooses targets of both verdicts so that this part of them passes. Each has a place by its turn among those with its verdict and by its
 * draw, so that the order does not tell the verdict.
 */
export function chooseTargets<Target extends Drawn>(
  candidates: readonly Target[],
  { limit, part }: { readonly limit: number; readonly part: number },
): Target[] {
  const ofPass = Math.min(1 - LEAST_PART, Math.max(LEAST_PART, part));
  const strata = Map.groupBy(candidates, ({ passes }) => passes);
  const places = [...strata].flatMap(([passes, stratum]) =>
    stratum
      .toSorted((a, b) => a.draw - b.draw)
      .map((target, turn) => ({
        target,
        place: (turn + target.draw) / (passes ? ofPass : 1 - ofPass),
      })),
  );
  return places
    .toSorted((a, b) => a.place - b.place)
    .slice(0, limit)
    .map(({ target }) => target);
}

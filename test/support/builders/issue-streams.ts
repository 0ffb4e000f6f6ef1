import { HOUR_MS } from '../../../src/domain/durations.ts';
import {
  computeThresholds,
  isBack,
  type ShareFinding,
  type ShareHour,
  ShareWatch,
} from '../../../src/issues/watch-share.ts';
import { rateHours } from '../../../src/issues/verify-issue.ts';
import { seededRandom } from './score-streams.ts';

/** Stream of the runs of an agent, a share of which has an issue. */
export interface IssueStream {
  readonly share: number;
  readonly perHour: number;
  /** Part of the runs that is read. */
  readonly rate: number;
  /** Part by which traffic swings between day and night. */
  readonly day?: number;
  readonly days: number;
  readonly seed: number;
  readonly change?: { readonly day: number; readonly share: number };
}

/** Draws the hours of a stream from time 0 on. */
export function drawHours({ share, perHour, rate, day = 0, days, seed, change }: IssueStream): ShareHour[] {
  const random = seededRandom(seed);
  return Array.from({ length: days * 24 }, (_, hour) => {
    const runs = drawPoisson(perHour * (1 + day * Math.sin((hour * Math.PI) / 12)), random);
    const now = change !== undefined && hour >= change.day * 24 ? change.share : share;
    const failing = drawPoisson(runs * now * rate, random);
    return { startMs: hour * HOUR_MS, runs, weights: [1 / rate], counts: [failing] };
  });
}

/** Knuth's draw for small means, and the normal approximation for large ones. */
function drawPoisson(mean: number, random: () => number): number {
  if (mean > 50) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
  }
  let [count, product] = [0, random()];
  while (product > Math.exp(-mean)) {
    count += 1;
    product *= random();
  }
  return count;
}

/** Looks at an issue each six hours, and returns what was found at each time. */
export function lookAt(
  hours: readonly ShareHour[],
  issues: number,
): (ShareFinding & { readonly atMs: number })[] {
  const watch = new ShareWatch();
  const thresholds = computeThresholds(1, issues);
  const found: (ShareFinding & { readonly atMs: number })[] = [];
  for (let at = 6; at <= hours.length; at += 6) {
    const nowMs = at * HOUR_MS;
    const terms = { firstSeenMs: 0, nowMs, thresholds, raised: null };
    found.push({ ...watch.follow(hours.slice(0, at), terms, Infinity), atMs: nowMs });
  }
  return found;
}

/** Follows an issue that was resolved on day 20 for 30 days. Returns the runs from its return until it is found; null when it is not. */
export function watchReturn({
  backDay,
  ...shape
}: Omit<IssueStream, 'days' | 'change'> & { readonly backDay: number | null }): number | null {
  const former = drawHours({ ...shape, days: 20 }).map((hour) => ({
    ...hour,
    hourMs: hour.startMs,
    tenant: '',
    version: '',
  }));
  const before = rateHours({
    failing: former.map((hour) => ({ ...hour, issueId: '' })),
    runs: former.map((hour) => ({ ...hour, agent: '', firstMs: hour.startMs })),
  });
  const seed = shape.seed + 1_000_003;
  // What is left of a mended issue is a tenth of it.
  const change = backDay === null ? undefined : { day: backDay - 20, share: shape.share };
  const hours = drawHours({ ...shape, share: shape.share / 10, days: 30, seed, ...(change && { change }) });
  const { fireAt } = computeThresholds(1, 20);
  for (let at = 1; at <= hours.length; at += 1) {
    if (isBack(hours.slice(0, at), before, fireAt)) {
      return hours.slice(((backDay ?? 20) - 20) * 24, at).reduce((sum, { runs }) => sum + runs, 0);
    }
  }
  return null;
}

import { DAY_MS, HOUR_MS } from '../domain/durations.ts';
import type { IssueRow, ShareRate, Verification } from '../domain/failure.ts';
import type { FailingHour, RunHour } from '../store/contracts/issues.ts';
import { estimateShare } from './read-issues.ts';
import { boundShare, type ShareHour, verifyShare } from './watch-share.ts';

/** Time before a version that the former share is read from. */
export const BEFORE_MS = 30 * DAY_MS;

/** Hours of one issue, and of its agent. */
export interface IssueHours {
  readonly failing: readonly FailingHour[];
  readonly runs: readonly RunHour[];
}

/** Joins the hours of an issue with the hours of its agent, in order of time. */
export function joinHours({ failing, runs }: IssueHours): ShareHour[] {
  const found = new Map<number, { runs: number; weights: Map<number, number> }>();
  const at = (hourMs: number) => {
    const hour = found.get(hourMs) ?? { runs: 0, weights: new Map<number, number>() };
    found.set(hourMs, hour);
    return hour;
  };
  for (const { hourMs, runs: count } of runs) {
    at(hourMs).runs += count;
  }
  for (const { hourMs, weights, counts } of failing) {
    const own = at(hourMs).weights;
    weights.forEach((weight, index) => own.set(weight, (own.get(weight) ?? 0) + (counts[index] ?? 0)));
  }
  return [...found]
    .toSorted(([a], [b]) => a - b)
    .map(([startMs, hour]) => ({
      startMs,
      runs: hour.runs,
      weights: [...hour.weights.keys()],
      counts: [...hour.weights.values()],
    }));
}

function sumHours(hours: IssueHours): ShareHour {
  const move = <Hour extends { readonly hourMs: number }>(list: readonly Hour[]) =>
    list.map((hour) => ({ ...hour, hourMs: 0 }));
  const [total] = joinHours({ failing: move(hours.failing), runs: move(hours.runs) });
  return total ?? { startMs: 0, runs: 0, weights: [], counts: [] };
}

/** Estimates the share of hours; null without a run. */
export function rateHours(hours: IssueHours): ShareRate | null {
  const { runs, weights, counts } = sumHours(hours);
  const sum = (of: (weight: number) => number) =>
    weights.reduce((total, weight, index) => total + of(weight) * (counts[index] ?? 0), 0);
  const rate = estimateShare(
    [{ runs: sum(() => 1), weight: sum((weight) => weight), excess: sum((weight) => weight * (weight - 1)) }],
    [{ runs }],
  );
  return rate && { value: rate.value, low: rate.low, high: rate.high, n: rate.effectiveN };
}

/** Keeps the hours of a range that begin between two times. */
export function cutHours({ failing, runs }: IssueHours, fromMs: number, toMs: number): IssueHours {
  const isIn = ({ hourMs }: { readonly hourMs: number }) => hourMs + HOUR_MS > fromMs && hourMs <= toMs;
  return { failing: failing.filter(isIn), runs: runs.filter(isIn) };
}

/**
 * Tests whether the version that an issue was resolved in is without it: the share of the runs of that version, and of versions that were
 * first seen after it, against a quarter of the share of the 30 days before. A decision stands.
 */
export function verifyIssue(
  { resolvedVersion: version, verification }: Pick<IssueRow, 'resolvedVersion' | 'verification'>,
  hours: IssueHours,
  { resolvedMs, nowMs }: { readonly resolvedMs: number; readonly nowMs: number },
): Verification {
  if (verification?.version === version && verification.state !== 'running') {
    return verification;
  }
  const firstOf = new Map<string, number>();
  for (const run of hours.runs) {
    firstOf.set(run.version, Math.min(run.firstMs, firstOf.get(run.version) ?? Infinity));
  }
  const beganMs = firstOf.get(version) ?? resolvedMs;
  const later = new Set([...firstOf].filter(([, firstMs]) => firstMs > beganMs).map(([name]) => name));
  later.add(version);
  const isLater = (hour: { readonly version: string }) => later.has(hour.version);
  const isFormer = (hour: { readonly version: string }) => !later.has(hour.version);
  const before = rateHours(
    cutHours(
      { failing: hours.failing.filter(isFormer), runs: hours.runs.filter(isFormer) },
      beganMs - BEFORE_MS,
      beganMs,
    ),
  );
  const tested = { failing: hours.failing.filter(isLater), runs: hours.runs.filter(isLater) };
  const rate = rateHours(tested);
  const since = rate && { ...rate, ...boundShare(sumHours(tested)) };
  const state = verifyShare(before, since);
  return {
    version,
    state,
    before,
    since,
    decidedAt: state === 'running' ? null : new Date(nowMs).toISOString(),
  };
}

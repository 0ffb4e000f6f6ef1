import { buildRate, type Rate } from '../domain/agreement/rate.ts';
import { DAY_MS } from '../domain/durations.ts';
import type { IssueRow } from '../domain/failure.ts';
import { type IssueCount, POINTS, type RunCount } from '../store/contracts/issues.ts';

/** Age up to which an issue is new. */
const NEW_MS = DAY_MS;

export const ISSUE_STATES = [
  'new',
  'ongoing',
  'escalating',
  'fading',
  'resolved',
  'regressed',
  'ignored',
] as const;
export type IssueState = (typeof ISSUE_STATES)[number];

/** An issue with its numbers in a range. */
export interface IssueReading extends IssueRow {
  readonly shownState: IssueState;
  /** Share of all runs of the agent; null without a run in the range. */
  readonly share: Rate | null;
  readonly runs: number;
  readonly users: number;
  readonly sessions: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** Shares by parts of the range; null for a part without a run. */
  readonly points: readonly (number | null)[];
  readonly versions: readonly {
    readonly version: string;
    readonly runs: number;
    readonly share: Rate | null;
  }[];
}

/** Counts of a range: of issues and of all runs. */
export interface IssueCounts {
  readonly counts: readonly IssueCount[];
  readonly runs: readonly RunCount[];
}

/** Builds the issues with a run in the range, those with the greatest share first. */
export function buildReadings(
  issues: readonly IssueRow[],
  { counts, runs }: IssueCounts,
  nowMs: number,
): IssueReading[] {
  const countsOf = Map.groupBy(counts, ({ tenant, issueId }) => `${tenant} ${issueId}`);
  const runsOf = new Map(
    [...Map.groupBy(runs, ({ tenant, agent }) => `${tenant} ${agent}`)].map(([key, own]) => [
      key,
      sumRuns(own),
    ]),
  );
  return issues
    .flatMap((issue) => {
      const own = [issue.issueId, ...issue.aliases].flatMap(
        (id) => countsOf.get(`${issue.tenant} ${id}`) ?? [],
      );
      const all = runsOf.get(`${issue.tenant} ${issue.agent}`) ?? sumRuns([]);
      return own.length === 0 ? [] : [buildReading(issue, { counts: own, all }, nowMs)];
    })
    .toSorted((a, b) => orderOf(b) - orderOf(a) || (a.issueId < b.issueId ? -1 : 1));
}

/** Steps of a share by which issues are ordered. */
const SHARE_STEPS = 1e12;

/** Returns the place of an issue in lists: its share as a whole number. */
export function orderOf({ share }: Pick<IssueReading, 'share'>): number {
  return Math.round((share?.value ?? 0) * SHARE_STEPS);
}

/** Runs of an agent in a range: all of them, by part and by version. */
interface AllRuns {
  readonly runs: number;
  readonly points: readonly number[];
  readonly byVersion: ReadonlyMap<string, number>;
}

function sumRuns(counts: readonly RunCount[]): AllRuns {
  const points = Array.from({ length: POINTS }, () => 0);
  const byVersion = new Map<string, number>();
  for (const { runs, bucket, version } of counts) {
    points[bucket] = (points[bucket] ?? 0) + runs;
    byVersion.set(version, (byVersion.get(version) ?? 0) + runs);
  }
  return { runs: sum(counts, ({ runs }) => runs), points, byVersion };
}

function buildReading(
  issue: IssueRow,
  { counts, all }: { readonly counts: readonly IssueCount[]; readonly all: AllRuns },
  nowMs: number,
): IssueReading {
  const versions = [
    ...Map.groupBy(
      counts.flatMap((count) => count.versions),
      ({ version }) => version,
    ),
  ].map(([version, own]) => ({
    version,
    runs: sum(own, (count) => count.runs),
    share: estimateShare(own, [{ runs: all.byVersion.get(version) ?? 0 }]),
  }));
  const points = all.points.map((runs, bucket) =>
    runs === 0 ? null : Math.min(1, sum(counts, (count) => count.points[bucket] ?? 0) / runs),
  );
  return {
    ...issue,
    shownState: readState(issue, nowMs),
    share: estimateShare(counts, [all]),
    runs: sum(counts, (count) => count.runs),
    users: sum(counts, ({ users }) => users),
    sessions: sum(counts, ({ sessions }) => sessions),
    firstMs: Math.min(...counts.map(({ firstMs }) => firstMs)),
    lastMs: Math.max(...counts.map(({ lastMs }) => lastMs)),
    points,
    versions: versions.toSorted((a, b) => b.runs - a.runs),
  };
}

/** Returns the state of an issue as people see it. */
export function readState(
  { state, firstSeen }: Pick<IssueRow, 'state' | 'firstSeen'>,
  nowMs: number,
): IssueState {
  return state === 'open' ? (nowMs - firstSeen < NEW_MS ? 'new' : 'ongoing') : state;
}

/**
 * Estimates the share of all runs that have an issue: the sum of the weights of the failing runs over the number of all runs, which is
 * known (Horvitz and Thompson, 1952). The effective number is that of a plain sample of the same variance: the variance of the draw,
 * Σ weight × (weight − 1), and the variance of the runs themselves. One sampled run more counts in the variance of the draw, because few
 * of them are seen beside runs that are always kept.
 */
export function estimateShare(
  counts: readonly Pick<IssueCount, 'runs' | 'weight' | 'excess'>[],
  runs: readonly Pick<RunCount, 'runs'>[],
): Rate | null {
  const weight = sum(counts, (count) => count.weight);
  const n = Math.max(
    sum(runs, (count) => count.runs),
    weight,
  );
  if (n === 0) {
    return null;
  }
  const value = weight / n;
  const excess = sum(counts, (count) => count.excess);
  const hidden = weight - sum(counts, (count) => count.runs);
  const usual = hidden > 0 ? excess / hidden : 1;
  const variance = (excess + usual * (usual - 1)) / n ** 2 + (value * (1 - value)) / n;
  const effectiveN = variance === 0 ? n : Math.min(n, Math.max(1, (value * (1 - value)) / variance));
  return buildRate({ value, n: Math.round(n), effectiveN: value === 1 ? n : effectiveN });
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

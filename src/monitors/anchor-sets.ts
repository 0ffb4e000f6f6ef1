import type { AnchorPhase, AnchorRow } from '../domain/anchor.ts';
import type { JudgeDrift } from './monitor-store.ts';
import type { Thresholds } from './statistics/false-alarms.ts';
import { type Judging, type JudgeWatch, watchJudge } from './statistics/judge-drift.ts';

/** Anchors of one version of a scorer, and their judgings since the last accepted change of its judge. */
export interface AnchorSet {
  /** Name of the score rows. */
  readonly scorer: string;
  readonly fingerprint: string;
  readonly firsts: readonly AnchorRow[];
  /** The oldest first. */
  readonly judgings: readonly Judging[];
  /** Incident of the judge that is neither over nor accepted; null without one. */
  readonly open: JudgeDrift | null;
  /** End of the last incident, Unix milliseconds: the watch goes on from there. */
  readonly watchedFromMs: number;
}

/** Fewest judgings after which an unchanged judge counts as such. */
const LEAST_JUDGINGS = 20;

const nameSet = ({ scorer, fingerprint }: Pick<AnchorSet, 'scorer' | 'fingerprint'>) =>
  JSON.stringify([scorer, fingerprint]);

const nameRun = ({ tenant, traceId }: Pick<AnchorRow, 'tenant' | 'traceId'>) =>
  JSON.stringify([tenant, traceId]);

/** Returns the time of the last accepted change of a judge, from which its anchors are chosen anew; 0 without one. */
export function seriesStartMs(drifts: readonly JudgeDrift[], fingerprint: string): number {
  const own = drifts.filter(({ firing }) => firing.series.fingerprint === fingerprint);
  return Math.max(0, ...own.map(({ acknowledgedMs }) => acknowledgedMs ?? 0));
}

/**
 * Groups judgings by the version of their scorer.
 * @param rows the oldest first
 * @param drifts incidents of judges
 */
export function buildAnchorSets(rows: readonly AnchorRow[], drifts: readonly JudgeDrift[]): AnchorSet[] {
  return [...Map.groupBy(rows, nameSet).values()].flatMap((members) => {
    const [row] = members;
    if (row === undefined) {
      return [];
    }
    const { scorer, fingerprint } = row;
    const own = drifts.filter(({ firing: { series } }) => nameSet(series) === nameSet(row));
    const startMs = seriesStartMs(drifts, fingerprint);
    const firsts = new Map(
      members.filter(({ first, atMs }) => first && atMs >= startMs).map((each) => [nameRun(each), each]),
    );
    const judgings = members.flatMap((each): Judging[] => {
      const first = firsts.get(nameRun(each));
      return each.first || first === undefined || each.atMs < first.atMs
        ? []
        : [
            {
              atMs: each.atMs,
              anchor: nameRun(each),
              first: first.score,
              difference: each.score - first.score,
            },
          ];
    });
    return [
      {
        scorer,
        fingerprint,
        firsts: [...firsts.values()],
        judgings,
        open: own.find(({ firing, endedMs }) => endedMs === null && firing.startsAtMs >= startMs) ?? null,
        watchedFromMs: Math.max(startMs, ...own.map(({ endedMs }) => endedMs ?? 0)),
      },
    ];
  });
}

/**
 * Watches the judge of a set.
 * @param openedMs begin of its incident, Unix milliseconds; default: that of the open one
 */
export function watchSet(
  { judgings, firsts, watchedFromMs, open }: AnchorSet,
  thresholds: Thresholds,
  openedMs: number | null = open?.firing.startsAtMs ?? null,
): JudgeWatch {
  const watched = judgings.filter(({ atMs }) => atMs >= watchedFromMs);
  return watchJudge(watched, { size: firsts.length, thresholds, openedMs });
}

/** Means of some judgings: of their anchors' first scores, and of the judgings. */
export function readMeans(judgings: readonly Judging[]): {
  readonly before: number | null;
  readonly after: number | null;
  readonly change: number | null;
} {
  const n = judgings.length;
  if (n === 0) {
    return { before: null, after: null, change: null };
  }
  const before = judgings.reduce((sum, { first }) => sum + first, 0) / n;
  const change = judgings.reduce((sum, { difference }) => sum + difference, 0) / n;
  return { before, after: before + change, change };
}

/** State of the anchors of a scorer's version, for people. */
export interface AnchorStanding {
  readonly scorer: string;
  readonly fingerprint: string;
  readonly size: number;
  readonly labelled: number;
  readonly judged: number;
  /** Unix milliseconds; null before the first judging. */
  readonly lastAtMs: number | null;
  /** Mean first score, and mean of the judgings: of the last turn, or since the change that was found. */
  readonly before: number | null;
  readonly after: number | null;
  readonly change: number | null;
  readonly evidenceLog10: number;
  readonly state: AnchorPhase;
}

/**
 * Describes the anchors of each version.
 * @param size number of anchors that each version gets
 * @param labelled runs with a label, by scorer
 */
export function describeAnchors(
  sets: readonly AnchorSet[],
  terms: {
    readonly size: number;
    readonly thresholds: Thresholds;
    readonly labelled: readonly Pick<AnchorRow, 'tenant' | 'scorer' | 'traceId'>[];
  },
): AnchorStanding[] {
  return sets.map((set) => {
    const { scorer, fingerprint, firsts, judgings, open } = set;
    const watch = watchSet(set, terms.thresholds);
    const ofScorer = new Set(terms.labelled.filter((each) => each.scorer === scorer).map(nameRun));
    const sinceMs = open?.firing.changeBeganMs ?? watch.changeBeganMs;
    const told =
      sinceMs === null
        ? judgings.slice(-Math.max(1, firsts.length))
        : judgings.filter(({ atMs }) => atMs >= sinceMs);
    const isLearning = firsts.length < terms.size || judgings.length < Math.min(LEAST_JUDGINGS, terms.size);
    return {
      scorer,
      fingerprint,
      size: firsts.length,
      labelled: firsts.filter((each) => ofScorer.has(nameRun(each))).length,
      judged: judgings.length,
      lastAtMs: judgings.at(-1)?.atMs ?? null,
      ...readMeans(told),
      evidenceLog10: watch.evidenceLog10,
      state: open !== null ? 'drifted' : isLearning ? 'learning' : 'ok',
    };
  });
}

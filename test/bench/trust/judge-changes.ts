import { buildReference } from '../../support/monitors/drift-simulation.ts';
import { DAY_MS, MONITOR_START_MS, ONE_SERIES } from '../../support/monitors/fold-scores.ts';
import {
  BUCKET_MS,
  type Family,
  FAMILIES,
  scoreBuckets,
  seededRandom,
} from '../../support/builders/score-streams.ts';
import { type Bucket, NO_OUTCOMES, NO_SCORES } from '../../../src/monitors/bucket.ts';
import { driftDetector, type DriftState } from '../../../src/monitors/detectors/drift.ts';
import type { Finding } from '../../../src/monitors/detector.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/domain/durations.ts';
import {
  type Culprit,
  dateChange,
  type Judging,
  measureChange,
  tellWho,
  type TimedScore,
  watchJudge,
} from '../../../src/monitors/statistics/judge-drift.ts';

/** Who changes in a run. */
export const KINDS = ['agent', 'judge', 'both', 'none'] as const;
export type Kind = (typeof KINDS)[number];

/** Falls of the mean. */
export const SHIFTS = [0.05, 0.1, 0.2] as const;

const SHARE = 0.02;
/** Fewest judgings in an hour; the most are the anchors. */
const LEAST_PER_HOUR = 1;
const WAIT_MS = 15 * MINUTE_MS;
/** Judgings in half a minute: four at once, of a judge that takes six seconds. */
const PER_STEP = 20;
const REFERENCE_DAYS = 14;
const CALM_DAYS = 3;
const MAX_DAYS = 40;

/** One run of the simulation. */
export interface Planted {
  readonly kind: Kind;
  readonly shift: number;
  readonly family: Family;
  readonly perHour: number;
  readonly seed: number;
  /** Standard deviation of a repeated verdict, or the chance of another one for a judge of few values. */
  readonly noise: number;
  /** Number of anchors. */
  readonly size: number;
}

/** What was told of a run. Times are milliseconds since the change. */
export interface Told {
  readonly who: Culprit | null;
  readonly firedMs: number | null;
  readonly toldMs: number | null;
  /** Time at which the alert about the judge fires by its anchors alone; null where it does not. */
  readonly judgeFiredMs: number | null;
}

/** Lists `runs` of a kind over all families and shifts. */
export function listPlanted(
  kind: Kind,
  runs: number,
  terms: Pick<Planted, 'perHour' | 'noise' | 'size'> & { readonly seed: number },
): Planted[] {
  return Array.from({ length: runs }, (_, index) => ({
    ...terms,
    kind,
    family: FAMILIES[index % FAMILIES.length] as Family,
    shift: SHIFTS[Math.floor(index / FAMILIES.length) % SHIFTS.length] as number,
    seed: terms.seed * 1_000 + index,
  }));
}

/** True for a family whose scores take many values. */
export function isSpreadFamily(family: Family): boolean {
  return ['beta', 'diurnal', 'wobble'].includes(family);
}

/** A judge that is asked about anchors again: it repeats itself but for noise, and lowers its verdicts when it has changed. */
function createJudge(planted: Planted, firsts: readonly number[]) {
  const random = seededRandom(planted.seed ^ 0x2c_1b_3c_6d);
  const isSpread = isSpreadFamily(planted.family);
  const mean = firsts.reduce((sum, value) => sum + value, 0) / firsts.length;
  // A judge of few values turns the same anchors bad each time.
  const turnsBad = firsts.map(() => random() < planted.shift / mean);
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return (anchor: number, hasChanged: boolean): Pick<Judging, 'first' | 'difference'> => {
    const first = firsts[anchor] ?? 0;
    if (isSpread) {
      const now = first + planted.noise * gauss() - (hasChanged ? planted.shift : 0);
      return { first, difference: Math.max(0, Math.min(1, Math.round(now * 100) / 100)) - first };
    }
    const repeated = random() < planted.noise ? (firsts[Math.floor(random() * firsts.length)] ?? 0) : first;
    const now = hasChanged && turnsBad[anchor] === true ? 0 : repeated;
    return { first, difference: now - first };
  };
}

function drawFirsts(reference: readonly Bucket[], size: number, random: () => number): number[] {
  const all = listScores(reference);
  return Array.from({ length: size }, () => all[Math.floor(random() * all.length)] ?? 0);
}

/** Runs the stream of an agent and the anchors of its judge until the verdict. */
export function playRun(planted: Planted): Told {
  const { kind, shift, perHour, family, seed, size } = planted;
  const isAgent = kind === 'agent' || kind === 'both';
  const isJudge = kind === 'judge' || kind === 'both';
  const startMs = MONITOR_START_MS + REFERENCE_DAYS * DAY_MS;
  const changeMs = kind === 'none' ? Number.POSITIVE_INFINITY : startMs + CALM_DAYS * DAY_MS;
  const days = kind === 'none' ? 30 : CALM_DAYS + MAX_DAYS;
  const reference = buildReference({ family, perHour, seed });
  const judge = createJudge(planted, drawFirsts(reference, size, seededRandom(seed ^ 0x7f_4a_7c_15)));
  const judgings: Judging[] = [];
  let turn = 0;
  const ask = (atMs: number) => {
    judgings.push({ atMs, anchor: String(turn % size), ...judge(turn % size, isJudge && atMs >= changeMs) });
    turn += 1;
  };
  const detector = driftDetector({
    tolerance: 0.02,
    reference: { days: 14, minScores: 300, minDays: 3 },
    direction: 'down',
    thresholds: ONE_SERIES,
  });
  let state: DriftState = reference.reduce((now, bucket) => detector.step(now, bucket), detector.start());
  const drop = (isAgent ? shift : 0) + (isJudge ? shift : 0);
  const buckets = new Map(
    [
      ...scoreBuckets({
        family,
        perHour,
        days,
        startMs,
        seed: seed ^ 0x5f_35_64_95,
        ...(kind === 'none' ? {} : { change: { atMs: changeMs, drop } }),
      }),
    ].map((bucket) => [bucket.startMs, bucket]),
  );
  const everyMs = HOUR_MS / Math.max(LEAST_PER_HOUR, Math.min(size, SHARE * perHour));
  let nextAskMs = startMs + everyMs;
  for (let atMs = startMs; atMs < startMs + days * DAY_MS; atMs += BUCKET_MS) {
    for (; nextAskMs < atMs + BUCKET_MS; nextAskMs += everyMs) {
      ask(nextAskMs);
    }
    state = detector.step(
      state,
      buckets.get(atMs) ?? { startMs: atMs, scores: NO_SCORES, outcomes: NO_OUTCOMES },
    );
    const condition = detector.condition(state);
    if (condition.kind === 'breached') {
      const readScores = (fromMs: number, toMs: number) =>
        [...buckets.values()]
          .filter(({ startMs: at }) => at >= fromMs && at + BUCKET_MS <= toMs)
          .flatMap((bucket) => listScores([bucket]).map((score) => ({ score, atMs: bucket.startMs })));
      return decide(condition.finding, {
        firedMs: atMs + BUCKET_MS,
        changeMs,
        judgings,
        ask,
        readScores,
        size,
      });
    }
  }
  return { who: null, firedMs: null, toldMs: null, judgeFiredMs: judgeFires(judgings, changeMs, size) };
}

function judgeFires(judgings: readonly Judging[], changeMs: number, size: number): number | null {
  const { changeBeganMs, atMs } = watchJudge(judgings, {
    size,
    thresholds: ONE_SERIES,
    openedMs: null,
  });
  return changeBeganMs === null || atMs === null ? null : Number.isFinite(changeMs) ? atMs - changeMs : 0;
}

interface Incident {
  readonly firedMs: number;
  readonly changeMs: number;
  readonly judgings: Judging[];
  readonly ask: (atMs: number) => void;
  readonly readScores: (fromMs: number, toMs: number) => readonly TimedScore[];
  readonly size: number;
}

function listScores(buckets: Iterable<Bucket>): number[] {
  return [...buckets].flatMap(({ scores }) =>
    scores.values.flatMap((value, index) => Array.from({ length: scores.counts[index] ?? 0 }, () => value)),
  );
}

/** Asks the rest of the hour's judgings, and tells who changed. */
function decide(finding: Finding, { firedMs, changeMs, judgings, ask, readScores, size }: Incident): Told {
  const { before, changeBeganMs } = finding;
  const split = (beganMs: number) => ({
    before: judgings.filter(({ atMs }) => atMs < beganMs),
    judgings: judgings.filter(({ atMs }) => atMs >= beganMs),
    size,
  });
  for (let atMs = firedMs; ; atMs += MINUTE_MS / 2) {
    const scores = readScores(changeBeganMs, atMs);
    const change = measureChange(scores, before ?? 0);
    const { who } = tellWho(split(dateChange(scores, before ?? 0)), change, atMs >= firedMs + WAIT_MS);
    if (who !== undefined) {
      return {
        who,
        firedMs: firedMs - changeMs,
        toldMs: atMs - changeMs,
        judgeFiredMs: judgeFires(judgings, changeMs, size),
      };
    }
    const inHour = judgings.filter((each) => each.atMs > atMs - HOUR_MS).length;
    for (let asked = inHour; asked < Math.min(size, inHour + PER_STEP); asked += 1) {
      ask(atMs);
    }
  }
}

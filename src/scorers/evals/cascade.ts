import { sha256Hex } from '../../domain/identity.ts';
import type { Verdict } from '../../domain/score.ts';
import type { NamedScore, Scorer, ScorerRunInput, ScorerRunOptions, ScorerRunResult } from './scorer.ts';

/** Bounds of the probability that the second judge is asked. */
export interface CascadeTerms {
  /** Mean share of the runs. */
  readonly share: number;
  /** Least probability of a run. */
  readonly floor: number;
}

/** Runs that the calibration remembers. */
const WINDOW = 400;
/** Runs between two calibrations. */
const EVERY = 20;
/** Groups of runs by how certain the first judge is. */
const GROUPS = 5;
/** Weight of the expected error of a group, in runs that were asked twice. */
const PRIOR = 12;

interface Seen {
  /** Standard deviation of the score by the first judge's probabilities. */
  readonly spread: number;
  /** Square of the difference of the two judges; undefined where the second was not asked. */
  readonly error?: number;
  readonly probability: number;
}

/**
 * Creates the choice of the probability with which the second judge is asked: in proportion to the error that the first one is
 * expected to make, which is learned from the runs that both have judged. The mean keeps to the share.
 */
export function createAskingProbability({ share, floor }: CascadeTerms) {
  // Until runs are known, spreads are taken to be spread evenly.
  const seen: Seen[] = Array.from({ length: 10 }, (_, index) => ({
    spread: (index + 1) / 20,
    probability: 1,
  }));
  let [limits, rates, factor, sinceFit] = [[] as number[], [] as number[], 0, EVERY];
  const groupOf = (spread: number): number => limits.filter((limit) => spread > limit).length;
  const expect = (spread: number): number => spread * Math.sqrt(rates[groupOf(spread)] ?? 1);
  const bound = (error: number, by: number): number => Math.min(1, Math.max(floor, by * error));
  const fit = (): void => {
    const spreads = seen.map(({ spread }) => spread).toSorted((a, b) => a - b);
    limits = Array.from(
      { length: GROUPS - 1 },
      (_, index) => spreads[Math.floor(((index + 1) * spreads.length) / GROUPS)] ?? 0,
    );
    rates = learnRates(seen, groupOf);
    const expected = spreads.map(expect);
    factor = findFactor(
      share,
      (by) => expected.reduce((sum, error) => sum + bound(error, by), 0) / expected.length,
    );
    sinceFit = 0;
  };
  return {
    of(spread: number): number {
      if (sinceFit >= EVERY) {
        fit();
      }
      return bound(expect(spread), factor);
    },
    /** Takes a judged run into the calibration. `difference`: score of the second judge less that of the first. */
    add(spread: number, probability: number, difference?: number): void {
      seen.push({ spread, probability, ...(difference === undefined ? {} : { error: difference ** 2 }) });
      if (seen.length > WINDOW) {
        seen.shift();
      }
      sinceFit += 1;
    },
  };
}

/** Estimates, for each group, the squared error as a multiple of the squared spread, from the runs that were asked twice. */
function learnRates(seen: readonly Seen[], groupOf: (spread: number) => number): number[] {
  const twice = seen.filter(({ error }) => error !== undefined);
  const weigh = (value: (run: Seen) => number) =>
    twice.reduce((sum, run) => sum + value(run) / run.probability, 0);
  const told = weigh(({ spread }) => spread ** 2);
  // Overconfident and shy judges differ in level: with few runs, a group has the level of all.
  const level = told > 0 ? weigh(({ error = 0 }) => error) / told : 1;
  return Array.from({ length: GROUPS }, (_, group) => {
    const all = seen.filter(({ spread }) => groupOf(spread) === group);
    const expected = all.reduce((sum, { spread }) => sum + spread ** 2, 0) / Math.max(1, all.length);
    const errors = all.flatMap(({ error }) => error ?? []);
    const mean = errors.reduce((sum, error) => sum + error, 0);
    return expected === 0
      ? level
      : Math.max(1e-9, (mean + PRIOR * level * expected) / (errors.length + PRIOR) / expected);
  });
}

/** Finds the factor with which the mean probability is the share. */
function findFactor(share: number, meanOf: (factor: number) => number): number {
  let [low, high] = [0, 1];
  while (meanOf(high) < share && high < 1e9) {
    high *= 4;
  }
  for (let step = 0; step < 40; step += 1) {
    const middle = (low + high) / 2;
    [low, high] = meanOf(middle) < share ? [middle, high] : [low, middle];
  }
  return high;
}

/** Draws the number of a run and a scorer, from 0 to 1: a retry and another process draw the same. */
export function drawForRun(scorer: string, runId: string): number {
  return Number.parseInt(sha256Hex(JSON.stringify(['cascade', scorer, runId])).slice(0, 12), 16) / 16 ** 12;
}

/** Standard deviation of a score that is counted from verdicts with probabilities. */
function measureSpread(verdicts: readonly Verdict[] = []): number {
  const told = verdicts.flatMap(({ probability }) => probability ?? []);
  const variance = told.reduce((sum, probability) => sum + probability * (1 - probability), 0);
  return told.length === 0 ? 0.5 : Math.sqrt(variance) / told.length;
}

/** Name of a scorer's own score. */
const OWN = '';

function listScores({ score, scores = [] }: ScorerRunResult): Map<string, number> {
  return new Map([
    ...(score === undefined ? [] : [[OWN, score] as const]),
    ...scores.map((each: NamedScore) => [each.name, each.score] as const),
  ]);
}

/**
 * Joins two scorers that differ in their judge: all runs ask the first, and the second has the last word where it is asked. Scores
 * that only the second gives are left out, because their mean over all runs is not known.
 */
export function createCascade(
  name: string,
  [first, second]: readonly [Scorer, Scorer],
  terms: CascadeTerms,
): Scorer {
  const asking = createAskingProbability(terms);
  const run = async (input: ScorerRunInput, options?: ScorerRunOptions): Promise<ScorerRunResult> => {
    const cheap = await first.run(input, options);
    if (cheap.notScorable !== undefined) {
      return cheap;
    }
    const firstScores = listScores(cheap);
    const spread = measureSpread(cheap.verdicts);
    const probability = asking.of(spread);
    if (drawForRun(name, input.runId ?? '') >= probability) {
      asking.add(spread, probability);
      return { ...cheap, cascade: { rung: 1, probability, firstScores } };
    }
    const dear = await second.run(input, options);
    const [main = OWN] = firstScores.keys();
    const { scores } = dear;
    const kept = scores?.filter((each) => firstScores.has(each.name));
    const last = listScores(dear).get(main);
    const before = firstScores.get(main);
    asking.add(spread, probability, last === undefined || before === undefined ? undefined : last - before);
    return {
      ...dear,
      ...(kept === undefined ? {} : { scores: kept }),
      cascade: { rung: 2, probability, firstScores },
    };
  };
  return Object.defineProperties({} as Scorer, {
    ...Object.getOwnPropertyDescriptors(second),
    judgeModel: { value: `${first.judgeModel ?? ''},${second.judgeModel ?? ''}`, enumerable: true },
    options: { value: { options: second.options, cascade: terms }, enumerable: true },
    run: { value: run, enumerable: true },
  });
}

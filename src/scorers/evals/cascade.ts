import { sha256Hex } from '../../domain/identity.ts';
import type { Verdict } from '../../domain/score.ts';
import type {
  CascadeTerms,
  NamedScore,
  Scorer,
  ScorerRunInput,
  ScorerRunOptions,
  ScorerRunResult,
} from './scorer.ts';

/** Runs that the calibration remembers, of all runs and of those that both judges have judged. */
const WINDOW = 400;
/** Runs between two calibrations. */
const EVERY = 20;
/** Weight of a first judge that tells true probabilities, in runs that both have judged. */
const PRIOR = 12;
/** Weight of the straight calibration, as the precision of its two parameters. */
const RIDGE = 4;
/** Least distance of a score from the ends of its range, for its logit. */
const EDGE = 0.001;

/** Finding of the first judge about a run. */
interface Finding {
  /** From 0 to 1. */
  readonly score: number;
  /** Standard deviation of the score by the judge's probabilities. */
  readonly spread: number;
}

/** Finding with the score of the second judge; undefined where it was not asked. */
export interface SeenRun extends Finding {
  readonly last?: number | undefined;
}

/** Runs that are assumed until runs are known: their spreads are spread evenly. */
export const UNKNOWN_RUNS: readonly SeenRun[] = Array.from({ length: 10 }, (_, index) => {
  const spread = (index + 1) / 20;
  return { score: (1 - Math.sqrt(1 - 4 * spread ** 2)) / 2, spread };
});

/** Expectation of the second judge's score, and of its variance around that. */
interface Expectation {
  readonly mean: number;
  readonly variance: number;
}

/**
 * Creates the choice of the probability with which the second judge is asked: in proportion to the error that the first one is
 * expected to make, which is learned from the runs that both have judged. The mean keeps to the share.
 */
export function createAskingProbability(terms: CascadeTerms) {
  const seen: Finding[] = [...UNKNOWN_RUNS];
  const judgedTwice: SeenRun[] = [];
  let [choose, sinceFit] = [(_finding: Finding): number => terms.share, EVERY];
  return {
    of(finding: Finding): number {
      if (sinceFit >= EVERY) {
        choose = chooseProbability(seen, learnExpectation(judgedTwice), terms);
        sinceFit = 0;
      }
      return choose(finding);
    },
    /** Takes a judged run into the calibration. */
    add(run: SeenRun): void {
      keep(seen, run);
      if (run.last !== undefined) {
        keep(judgedTwice, run);
      }
      sinceFit += 1;
    },
  };
}

function keep<Run>(runs: Run[], run: Run): void {
  runs.push(run);
  if (runs.length > WINDOW) {
    runs.shift();
  }
}

/**
 * Forecasts the width of the 95 % interval of a mean over some runs, from runs like them: the variance of the second judge's scores, and
 * what is added because it is not asked about all.
 */
export function forecastWidth(seen: readonly SeenRun[], terms: CascadeTerms, runs: number): number {
  const expect = learnExpectation(seen.filter(({ last }) => last !== undefined));
  const choose = chooseProbability(seen, expect, terms);
  const meanOf = (value: (run: SeenRun) => number) =>
    seen.reduce((sum, run) => sum + value(run), 0) / seen.length;
  const center = meanOf((run) => expect(run).mean);
  const variance = meanOf((run) => {
    const { mean, variance: own } = expect(run);
    return (mean - center) ** 2 + own + errorOf(run, expect(run)) ** 2 * (1 / choose(run) - 1);
  });
  return 2 * 1.96 * Math.sqrt(variance / runs);
}

/** Returns the probability of a finding with which the mean over the seen ones is the share. */
function chooseProbability(
  seen: readonly Finding[],
  expect: (finding: Finding) => Expectation,
  { share, floor }: CascadeTerms,
): (finding: Finding) => number {
  const bound = (error: number, factor: number) => Math.min(1, Math.max(floor, factor * error));
  const errors = seen.map((finding) => errorOf(finding, expect(finding)));
  const factor = findFactor(
    share,
    (by) => errors.reduce((sum, error) => sum + bound(error, by), 0) / errors.length,
  );
  return (finding) => bound(errorOf(finding, expect(finding)), factor);
}

/** Computes the root of the squared error that a finding is expected to have. */
function errorOf({ score }: Finding, { mean, variance }: Expectation): number {
  return Math.sqrt((mean - score) ** 2 + variance);
}

/**
 * Learns from the runs that both judges have judged. A judge that is too sure, too shy or shifted is put right by a line on the logits of
 * its scores; what is left of the errors has the shape of the told spreads, and a learned level.
 */
function learnExpectation(runs: readonly SeenRun[]): (finding: Finding) => Expectation {
  const { intercept, slope } = fitCalibration(runs);
  const meanOf = ({ score }: Finding) => logistic(intercept + slope * logit(score));
  const tell = (finding: Finding): number => {
    const mean = meanOf(finding);
    const ofOne = finding.score * (1 - finding.score);
    // A score that is counted from several verdicts varies less than one verdict.
    return mean * (1 - mean) * (ofOne < EDGE ** 2 ? 1 : Math.min(1, finding.spread ** 2 / ofOne));
  };
  const told = runs.reduce((sum, run) => sum + tell(run), 0);
  const found = runs.reduce((sum, run) => sum + ((run.last ?? 0) - meanOf(run)) ** 2, 0);
  const prior = runs.length === 0 ? 1 : (PRIOR * told) / runs.length;
  const level = prior > 0 ? (found + prior) / (told + prior) : 1;
  return (finding) => ({ mean: meanOf(finding), variance: Math.max(1e-9, level * tell(finding)) });
}

/** Fits the second judge's scores to the logits of the first one's by Newton's method: a logistic regression with a prior. */
function fitCalibration(runs: readonly SeenRun[]): { readonly intercept: number; readonly slope: number } {
  let [intercept, slope] = [0, 1];
  for (let step = 0; step < 12; step += 1) {
    let [toIntercept, toSlope] = [-RIDGE * intercept, -RIDGE * (slope - 1)];
    let [ofIntercept, ofBoth, ofSlope] = [RIDGE, 0, RIDGE];
    for (const { score, last = 0 } of runs) {
      const x = logit(score);
      const mean = logistic(intercept + slope * x);
      const weight = mean * (1 - mean);
      toIntercept += last - mean;
      toSlope += (last - mean) * x;
      ofIntercept += weight;
      ofBoth += weight * x;
      ofSlope += weight * x ** 2;
    }
    const determinant = ofIntercept * ofSlope - ofBoth ** 2;
    const byIntercept = (toIntercept * ofSlope - toSlope * ofBoth) / determinant;
    const bySlope = (toSlope * ofIntercept - toIntercept * ofBoth) / determinant;
    // A full step may lead too far from the start.
    const shorten = Math.max(1, Math.abs(byIntercept), Math.abs(bySlope));
    intercept += byIntercept / shorten;
    slope += bySlope / shorten;
    if (Math.abs(byIntercept) + Math.abs(bySlope) < 1e-4) {
      break;
    }
  }
  return { intercept, slope };
}

function logistic(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

function logit(score: number): number {
  const inside = Math.min(1 - EDGE, Math.max(EDGE, score));
  return Math.log(inside / (1 - inside));
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
    const [[main, score] = [OWN, 0.5]] = firstScores;
    const finding = { score, spread: measureSpread(cheap.verdicts) };
    const probability = asking.of(finding);
    if (drawForRun(name, input.runId ?? '') >= probability) {
      asking.add(finding);
      return { ...cheap, cascade: { rung: 1, probability, firstScores } };
    }
    const dear = await second.run(input, options);
    const { scores } = dear;
    const kept = scores?.filter((each) => firstScores.has(each.name));
    asking.add({ ...finding, last: listScores(dear).get(main) });
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
    cascade: { value: { judges: [first, second], terms }, enumerable: true },
    run: { value: run, enumerable: true },
  });
}

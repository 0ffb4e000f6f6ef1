import { computeWilsonInterval, type ShareInterval, Z_95 } from './agreement.ts';

/** Normal quantile of 0.95, for bounds of 95 % on one side. */
const Z_95_ONE_SIDED = 1.644_853_627;

/** Labels of a verdict below which their spread is not known. */
const FEW_LABELS = 10;

/** Most further labels that are offered. */
const MAX_MORE_LABELS = 100_000;

/** Weighted rows: their number, and the sums of their weights and of the squares. */
export interface WeightedRows {
  readonly n: number;
  readonly weight: number;
  readonly squaredWeight: number;
}

export const ESTIMATE_GROUPS = [
  'day',
  'week',
  'agent',
  'agentVersion',
  'service',
  'serviceVersion',
  'model',
  'environment',
] as const;
export type EstimateGroup = (typeof ESTIMATE_GROUPS)[number];

export const NO_ROWS: WeightedRows = { n: 0, weight: 0, squaredWeight: 0 };

/** Scores with one verdict, and the labels of people on some of them. */
export interface Stratum {
  readonly scores: WeightedRows;
  readonly passing: WeightedRows;
  readonly failing: WeightedRows;
}

export interface JudgedScores {
  readonly pass: Stratum;
  readonly fail: Stratum;
}

/** Pass rate of a scorer without its mistakes. Numbers are null where people have not checked it. */
export interface PassRateEstimate {
  readonly scores: number;
  /** Equally weighted scores that tell as much. */
  readonly effectiveN: number;
  readonly labels: number;
  /** Weighted share of the scores that pass. */
  readonly raw: number | null;
  readonly estimate: number | null;
  /** Interval of 95 %. */
  readonly low: number | null;
  readonly high: number | null;
  readonly strata: readonly {
    readonly verdict: 'pass' | 'fail';
    readonly share: number;
    readonly labels: number;
    /** Weighted share of the labels that agree with the verdict; null without labels. */
    readonly agree: number | null;
  }[];
  readonly moreLabels: {
    /** Further labels that halve the interval; null where labels alone cannot, or where the interval is not known. */
    readonly toHalve: number | null;
  };
}

/** Share with the number of equal observations behind it. */
interface Share {
  readonly value: number;
  readonly n: number;
}

/** Known shares: of the scores that pass, and of the passing labels within each verdict. */
interface Shares {
  readonly passing: Share;
  readonly ofPass: Share;
  readonly ofFail: Share;
}

/**
 * Estimates the pass rate by the labels of people: the share of each verdict among all scores, times the share of its labels that pass. The
 * labels correct all judged scores, so few of them tell much (A. Angelopoulos et al., Prediction-powered inference, Science 382, 2023;
 * strata: A. Fisch et al., Stratified prediction-powered inference, NeurIPS 2024). The interval is the stratified one of X. Yan and X. Su
 * (Statistics in Biopharmaceutical Research 2, 2010), so it is right for few labels, too, and where all of them agree. Weights count by the
 * number of equal observations that tell as much (L. Kish, Survey Sampling, 1965).
 */
export function estimatePassRate(judged: JudgedScores): PassRateEstimate {
  const { pass, fail } = judged;
  const shares = readShares(judged);
  const known = shares && computeInterval(shares);
  const weight = pass.scores.weight + fail.scores.weight;
  const describe = (verdict: 'pass' | 'fail', { scores, ...people }: Stratum) => {
    const labels = addRows(people.passing, people.failing);
    const agreeing = verdict === 'pass' ? people.passing : people.failing;
    return {
      verdict,
      share: weight > 0 ? scores.weight / weight : 0,
      labels: labels.n,
      agree: labels.weight > 0 ? agreeing.weight / labels.weight : null,
    };
  };
  const strata = [describe('pass', pass), describe('fail', fail)];
  return {
    scores: pass.scores.n + fail.scores.n,
    effectiveN: countEffective(addRows(pass.scores, fail.scores)),
    labels: strata.reduce((sum, { labels }) => sum + labels, 0),
    raw: weight > 0 ? pass.scores.weight / weight : null,
    estimate: known?.value ?? null,
    low: known?.low ?? null,
    high: known?.high ?? null,
    strata,
    moreLabels: { toHalve: shares && countToHalve(shares) },
  };
}

/** Reads the shares; null without scores, and where a verdict has scores and no labels. */
function readShares({ pass, fail }: JudgedScores): Shares | null {
  const all = addRows(pass.scores, fail.scores);
  const [ofPass, ofFail] = [readShare(pass), readShare(fail)];
  return all.weight > 0 && ofPass !== null && ofFail !== null
    ? { passing: { value: pass.scores.weight / all.weight, n: countEffective(all) }, ofPass, ofFail }
    : null;
}

/** Reads the share of passing labels; null without any. A verdict without scores needs none. */
function readShare({ scores, passing, failing }: Stratum): Share | null {
  if (scores.weight === 0) {
    return { value: 0, n: Number.POSITIVE_INFINITY };
  }
  const labels = addRows(passing, failing);
  return labels.weight > 0 ? { value: passing.weight / labels.weight, n: countEffective(labels) } : null;
}

function addRows(left: WeightedRows, right: WeightedRows): WeightedRows {
  return {
    n: left.n + right.n,
    weight: left.weight + right.weight,
    squaredWeight: left.squaredWeight + right.squaredWeight,
  };
}

function countEffective({ weight, squaredWeight }: WeightedRows): number {
  return squaredWeight > 0 ? weight ** 2 / squaredWeight : 0;
}

/** Steps after which the quantile of the three shares stays the same. */
const QUANTILE_STEPS = 20;

/**
 * Joins the Wilson intervals of the three shares. They have one quantile, with which they are as wide together as independent shares are.
 * The view `pass_rates` computes the same.
 */
function computeInterval({ passing, ofPass, ofFail }: Shares): ShareInterval & { readonly value: number } {
  const rest = 1 - passing.value;
  const value = passing.value * ofPass.value + rest * ofFail.value;
  const gain = ofPass.value - ofFail.value;
  const parts = [
    { part: passing.value, share: ofPass },
    { part: rest, share: ofFail },
    { part: Math.abs(gain), share: gain < 0 ? { ...passing, value: rest } : passing },
  ];
  const bound = (quantile: number) =>
    parts.map(({ part, share }) => {
      const { below, above } = boundsOf(share, quantile);
      return { below: part * below, above: part * above, width: part * (below + above) };
    });
  let quantile = Z_95;
  for (let step = 0; step < QUANTILE_STEPS; step += 1) {
    const widths = bound(quantile).map(({ width }) => width);
    quantile = (Z_95 * Math.hypot(...widths)) / widths.reduce((sum, width) => sum + width, 0);
  }
  const bounds = bound(quantile);
  return {
    value,
    low: Math.max(
      0,
      bounds.reduce((low, { below }) => low - below, value),
    ),
    high: Math.min(
      1,
      bounds.reduce((high, { above }) => high + above, value),
    ),
  };
}

/** Distances from a share to the bounds of its interval. */
function boundsOf({ value, n }: Share, quantile = Z_95): { readonly below: number; readonly above: number } {
  const interval = computeWilsonInterval({ share: value, n }, quantile) ?? { low: 0, high: 1 };
  return { below: Math.max(0, value - interval.low), above: Math.max(0, interval.high - value) };
}

/** Counts the further labels that halve the interval, given to the verdicts where they tell most (J. Neyman, 1934). */
function countToHalve(shares: Shares): number | null {
  const { low, high } = computeInterval(shares);
  const isNarrow = (more: number) => {
    const after = computeInterval(addLabels(shares, more));
    return after.high - after.low <= (high - low) / 2;
  };
  if (!isNarrow(MAX_MORE_LABELS)) {
    return null;
  }
  let [few, enough] = [0, MAX_MORE_LABELS];
  while (enough - few > 1) {
    const middle = Math.floor((few + enough) / 2);
    [few, enough] = isNarrow(middle) ? [few, middle] : [middle, enough];
  }
  return enough;
}

function addLabels({ passing, ofPass, ofFail }: Shares, more: number): Shares {
  const part = allocate({ passing, ofPass, ofFail });
  const total = ofPass.n + ofFail.n + more;
  if (!Number.isFinite(total)) {
    const add = (share: Share) => ({ ...share, n: share.n + more });
    return { passing, ofPass: add(ofPass), ofFail: add(ofFail) };
  }
  const forPass = Math.min(more, Math.max(0, part * total - ofPass.n));
  return {
    passing,
    ofPass: { ...ofPass, n: ofPass.n + forPass },
    ofFail: { ...ofFail, n: ofFail.n + more - forPass },
  };
}

/** Computes the part of all labels that belongs to the passing verdict: by its share of the scores and the spread of its labels. */
function allocate({ passing, ofPass, ofFail }: Shares): number {
  const pass = passing.value * spreadOf(ofPass);
  const fail = (1 - passing.value) * spreadOf(ofFail);
  return pass + fail > 0 ? pass / (pass + fail) : 1 / 2;
}

/** Spread of one label; agreement of few labels is drawn towards doubt (A. Agresti and B. Coull, American Statistician 52, 1998). */
function spreadOf({ value, n }: Share): number {
  const drawn = Number.isFinite(n) ? (value * n + 2) / (n + 4) : value;
  return Math.sqrt(drawn * (1 - drawn));
}

/**
 * Computes the part of further labels that the passing verdict should get, so that the interval shrinks most. While a verdict has few
 * labels, each gets half.
 */
export function allocateLabels({ pass, fail }: JudgedScores): number {
  const weight = pass.scores.weight + fail.scores.weight;
  const [ofPass, ofFail] = [readShare(pass), readShare(fail)];
  const isKnown = [pass, fail].every(
    ({ scores, passing, failing }) => scores.weight === 0 || passing.n + failing.n >= FEW_LABELS,
  );
  return weight > 0 && isKnown && ofPass !== null && ofFail !== null
    ? allocate({ passing: { value: pass.scores.weight / weight, n: 0 }, ofPass, ofFail })
    : 1 / 2;
}

/** Shares of the good and of the bad targets on which a scorer agrees with people; null where a share is not known. */
export interface AgreementRates {
  readonly sensitivity: MeasuredRate | null;
  readonly specificity: MeasuredRate | null;
}

interface MeasuredRate extends ShareInterval {
  readonly share: number;
  /** Lower bound of 95 % on one side. */
  readonly bound: number;
}

/**
 * Measures sensitivity and specificity with their intervals of 95 %. Each is a ratio of two products of shares; a value belongs to its
 * interval unless the interval of the difference refuses it (E. Fieller, Some problems in interval estimation, JRSS-B 16, 1954, with the
 * intervals of Zou and Donner, 2008).
 */
export function measureRates(judged: JudgedScores): AgreementRates {
  const shares = readShares(judged);
  if (shares === null) {
    return { sensitivity: null, specificity: null };
  }
  const { passing, ofPass, ofFail } = shares;
  const rest = 1 - passing.value;
  const failing = (share: Share): Share => ({ ...share, value: 1 - share.value });
  return {
    sensitivity: measureRatio({ part: passing.value, share: ofPass }, { part: rest, share: ofFail }),
    specificity: measureRatio(
      { part: rest, share: failing(ofFail) },
      { part: passing.value, share: failing(ofPass) },
    ),
  };
}

interface Product {
  readonly part: number;
  readonly share: Share;
}

/** Measures right / (right + wrong); null without either. */
function measureRatio(right: Product, wrong: Product): MeasuredRate | null {
  const [agreed, missed] = [right.part * right.share.value, wrong.part * wrong.share.value];
  return agreed + missed > 0
    ? {
        share: agreed / (agreed + missed),
        low: boundRatio(right, wrong, Z_95),
        high: 1 - boundRatio(wrong, right, Z_95),
        bound: boundRatio(right, wrong, Z_95_ONE_SIDED),
      }
    : null;
}

/** Finds the lower bound of right / (right + wrong) by halving. */
function boundRatio(right: Product, wrong: Product, quantile: number): number {
  const { below } = boundsOf(right.share, quantile);
  const { above } = boundsOf(wrong.share, quantile);
  const isRefused = (rate: number) => {
    const keep = (1 - rate) * right.part;
    const lose = rate * wrong.part;
    return keep * right.share.value - lose * wrong.share.value > Math.hypot(keep * below, lose * above);
  };
  let [low, high] = [0, 1];
  for (let step = 0; step < 40; step += 1) {
    const middle = (low + high) / 2;
    [low, high] = isRefused(middle) ? [middle, high] : [low, middle];
  }
  return low;
}

/** Standing of a judge: `expired` where the version that was certified is not the present one. */
export type CertificateState = 'certified' | 'uncertified' | 'expired';

/** Certificate of one version of a scorer. Bounds of 95 %, on one side; null without labels of both verdicts. */
export interface Certificate {
  readonly state: CertificateState;
  readonly sensitivityLow: number | null;
  readonly specificityLow: number | null;
}

/** Rates that a certified judge has at least. */
export interface RequiredRates {
  readonly sensitivity: number;
  readonly specificity: number;
}

/** Certifies a scorer whose bounds reach the required rates. */
export function certify({ sensitivity, specificity }: AgreementRates, required: RequiredRates): Certificate {
  const isEnough =
    (sensitivity?.bound ?? 0) >= required.sensitivity && (specificity?.bound ?? 0) >= required.specificity;
  return {
    state: isEnough ? 'certified' : 'uncertified',
    sensitivityLow: sensitivity?.bound ?? null,
    specificityLow: specificity?.bound ?? null,
  };
}

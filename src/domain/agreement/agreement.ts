/** Normal quantile of 0.975, for intervals of 95 %. */
export const Z_95 = 1.959_963_985;

/** Answers of two raters on the same targets, yes or no. */
export interface Confusion {
  readonly bothPass: number;
  /** Only the left side passes. */
  readonly leftPasses: number;
  /** Only the right side passes. */
  readonly rightPasses: number;
  readonly bothFail: number;
}

export interface AnswerPair {
  readonly leftPasses: boolean;
  readonly rightPasses: boolean;
}

/** Agreement of two raters. Numbers are null where they are not defined. */
export interface Agreement {
  readonly n: number;
  readonly agreement: number | null;
  readonly kappa: number | null;
  /** 95 % interval of kappa. */
  readonly kappaLow: number | null;
  readonly kappaHigh: number | null;
}

/** Counts the answers of two raters on the same targets. */
export function countAnswers(pairs: readonly AnswerPair[]): Confusion {
  const count = (left: boolean, right: boolean) =>
    pairs.filter(({ leftPasses, rightPasses }) => leftPasses === left && rightPasses === right).length;
  return {
    bothPass: count(true, true),
    leftPasses: count(true, false),
    rightPasses: count(false, true),
    bothFail: count(false, false),
  };
}

/**
 * Computes Cohen's kappa (Cohen 1960) with its 95 % interval: kappa ± 1.96 standard errors of large samples (Fleiss, Cohen and Everitt
 * 1969, as in Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions, 2003, formula 18.15). Kappa is not
 * known where one of the raters gives one answer to all: it is 0 or undefined then, whatever the other one says.
 */
export function computeAgreement(confusion: Confusion): Agreement {
  const { bothPass, leftPasses, rightPasses, bothFail } = confusion;
  const n = bothPass + leftPasses + rightPasses + bothFail;
  if (n === 0) {
    return { n, agreement: null, kappa: null, kappaLow: null, kappaHigh: null };
  }
  const observed = (bothPass + bothFail) / n;
  const left = [(bothPass + leftPasses) / n, (rightPasses + bothFail) / n] as const;
  const right = [(bothPass + rightPasses) / n, (leftPasses + bothFail) / n] as const;
  const expected = left[0] * right[0] + left[1] * right[1];
  const hasOneAnswer = [bothPass + leftPasses, bothPass + rightPasses].some(
    (passing) => passing === 0 || passing === n,
  );
  if (hasOneAnswer) {
    return { n, agreement: observed, kappa: null, kappaLow: null, kappaHigh: null };
  }
  const kappa = (observed - expected) / (1 - expected);
  const shares = [
    [bothPass / n, leftPasses / n],
    [rightPasses / n, bothFail / n],
  ] as const;
  let diagonal = 0;
  let others = 0;
  for (const row of [0, 1] as const) {
    for (const column of [0, 1] as const) {
      const share = shares[row][column];
      if (row === column) {
        diagonal += share * (1 - (left[row] + right[row]) * (1 - kappa)) ** 2;
      } else {
        others += share * (right[row] + left[column]) ** 2;
      }
    }
  }
  const variance = diagonal + (1 - kappa) ** 2 * others - (kappa - expected * (1 - kappa)) ** 2;
  const margin = (Z_95 * Math.sqrt(Math.max(0, variance))) / ((1 - expected) * Math.sqrt(n));
  return {
    n,
    agreement: observed,
    kappa,
    kappaLow: Math.max(-1, kappa - margin),
    kappaHigh: Math.min(1, kappa + margin),
  };
}

export interface ObservedShare {
  readonly share: number;
  readonly n: number;
}

export interface ShareInterval {
  readonly low: number;
  readonly high: number;
}

/**
 * Computes the 95 % interval of a share by its score (E. B. Wilson, Probable inference, the law of succession, and statistical inference,
 * Journal of the American Statistical Association 22, 1927). It stays within 0 and 1, and is right also for few observations and for
 * shares of 0 and 1. For weighted observations, `n` is their effective number. Null without observations.
 */
export function computeWilsonInterval({ share, n }: ObservedShare, quantile = Z_95): ShareInterval | null {
  if (n <= 0) {
    return null;
  }
  const square = quantile ** 2 / n;
  const middle = share + square / 2;
  const margin = Math.sqrt(square * (share * (1 - share) + square / 4));
  return {
    low: Math.max(0, (middle - margin) / (1 + square)),
    high: Math.min(1, (middle + margin) / (1 + square)),
  };
}

/**
 * Computes Spearman's rank correlation: Pearson's correlation of the ranks, where equal values share the mean of their ranks. Null for
 * fewer than two pairs, and where one side has a single value.
 */
export function computeSpearman(pairs: readonly (readonly [left: number, right: number])[]): number | null {
  const left = rank(pairs.map(([value]) => value));
  const right = rank(pairs.map(([, value]) => value));
  const middle = (pairs.length + 1) / 2;
  let product = 0;
  let leftSquares = 0;
  let rightSquares = 0;
  for (const [index, leftRank] of left.entries()) {
    const a = leftRank - middle;
    const b = (right[index] ?? 0) - middle;
    product += a * b;
    leftSquares += a * a;
    rightSquares += b * b;
  }
  return leftSquares === 0 || rightSquares === 0 ? null : product / Math.sqrt(leftSquares * rightSquares);
}

/** Returns the rank of each value, from 1; equal values share the mean of their ranks. */
function rank(values: readonly number[]): number[] {
  const order = values.map((value, index) => ({ value, index })).sort((a, b) => a.value - b.value);
  const ranks = Array.from({ length: values.length }, () => 0);
  for (let start = 0; start < order.length;) {
    let end = start + 1;
    while (end < order.length && order[end]?.value === order[start]?.value) {
      end += 1;
    }
    for (const { index } of order.slice(start, end)) {
      ranks[index] = (start + 1 + end) / 2;
    }
    start = end;
  }
  return ranks;
}

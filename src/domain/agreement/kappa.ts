import { Z_95 } from './normal-quantile.ts';

/** Answers of two raters on the same targets, yes or no. */
export interface Confusion {
  readonly bothPass: number;
  /** Only the left side passes. */
  readonly leftPasses: number;
  /** Only the right side passes. */
  readonly rightPasses: number;
  readonly bothFail: number;
}

/** Answers of two raters on one target. */
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

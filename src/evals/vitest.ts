import { AppError, InvalidInputError } from '../domain/errors.ts';
import { runEvals } from './run-evals/run-evals.ts';
import type {
  EvalItem,
  EvalScores,
  EvalVerdict,
  GateResult,
  RunEvalsConfig,
  RunEvalsResult,
  ThresholdResult,
} from './run-evals/eval-config.ts';

/** An evaluation of one item. */
export type ExpectEvalConfig = Omit<RunEvalsConfig, 'data'> & { readonly data: EvalItem };

/** An evaluation that is still to be run. */
export interface EvalsAssertion {
  /**
   * Runs it. Resolves with its result when gates and thresholds hold and nothing failed; else rejects with an
   * `EvalsNotPassedError`. `minPassRate`, 0 to 1, is the least mean of every gate, the share of the items that pass it; where the
   * evaluation has neither gates nor thresholds, the least mean of every scorer. Default 1.
   */
  toPass(minPassRate?: number): Promise<RunEvalsResult>;
}

/** Says what did not hold; carries the result. */
export class EvalsNotPassedError extends AppError {
  override readonly name = 'EvalsNotPassedError';
  readonly result: RunEvalsResult;

  constructor(faults: readonly string[], result: RunEvalsResult) {
    super(`the evaluation did not pass:\n${faults.map((fault) => `  ${fault}`).join('\n')}`, {
      code: 'scorer_failed',
      stage: 'judge',
      retryable: false,
    });
    this.result = result;
  }
}

/** `await expectEvals({ data, target, scorers, gates }).toPass()`. Nothing runs before `toPass` is called. */
export function expectEvals(config: RunEvalsConfig): EvalsAssertion {
  return {
    async toPass(minPassRate = 1) {
      if (!(minPassRate >= 0 && minPassRate <= 1)) {
        throw new InvalidInputError(`minPassRate is ${String(minPassRate)}; give a share from 0 to 1`);
      }
      const result = await runEvals(config);
      const faults = faultsOf(result, minPassRate);
      if (faults.length > 0) {
        throw new EvalsNotPassedError(faults, result);
      }
      return result;
    },
  };
}

/** As `expectEvals`, for one item. */
export function expectEval({ data, ...config }: ExpectEvalConfig): EvalsAssertion {
  return expectEvals({ ...config, data: [data] });
}

function faultsOf(result: RunEvalsResult, minPassRate: number): string[] {
  const { errors = [], verdict } = result;
  return [
    ...errors.map(({ message }) => message),
    ...failedGates(result, minPassRate),
    ...missedThresholds(result),
    ...(verdict === undefined ? tooLow(result, minPassRate) : []),
  ];
}

function gatesOf({ gateResults = [], turnResults = [] }: RunEvalsResult): GateResult[] {
  return [...gateResults, ...turnResults.flatMap((turn) => turn.gateResults ?? [])];
}

function failedGates(result: RunEvalsResult, minPassRate = 1): string[] {
  return gatesOf(result)
    .filter(({ score }) => !(score >= minPassRate))
    .map(({ id, score }) => `gate "${id}" has mean ${score}, not ${minPassRate}`);
}

function thresholdsOf({ thresholdResults = [], turnResults = [] }: RunEvalsResult): ThresholdResult[] {
  return [...thresholdResults, ...turnResults.flatMap((turn) => turn.thresholdResults ?? [])];
}

function missedThresholds(result: RunEvalsResult): string[] {
  return thresholdsOf(result)
    .filter(({ passed }) => !passed)
    .map(
      ({ id, averageScore, threshold }) =>
        `"${id}" has mean ${averageScore}, outside its threshold ${JSON.stringify(threshold)}`,
    );
}

/** What holds where nothing is demanded of single scorers: a mean of `minPassRate` of each. */
function tooLow(result: RunEvalsResult, minPassRate: number): string[] {
  const means = meansOf(result.scores);
  return means.length === 0
    ? ['no scorer gave a score']
    : means
        .filter(([, mean]) => !(mean >= minPassRate))
        .map(([path, mean]) => `"${path}" has mean ${mean}, below ${minPassRate}`);
}

/** Every mean by its path: `num`, `agent.num`, `steps.plan.num`. */
function meansOf(scores: EvalScores, prefix = ''): [string, number][] {
  return Object.entries(scores).flatMap(([name, value]) =>
    typeof value === 'number' ? [[`${prefix}${name}`, value]] : meansOf(value, `${prefix}${name}.`),
  );
}

/** What a matcher of Vitest returns. */
interface Matched {
  readonly pass: boolean;
  readonly message: () => string;
}

/** Matchers of evaluation results: `expect.extend(evalMatchers)`. Scorers in groups are named by path, `agent.tone`. */
export const evalMatchers = {
  toHaveVerdict(result: RunEvalsResult, verdict: EvalVerdict): Matched {
    return matched(result.verdict === verdict, `verdict ${verdict}`, `it is ${result.verdict ?? 'absent'}`);
  },
  toHaveScoreAbove(result: RunEvalsResult, scorer: string, min: number): Matched {
    const mean = meanOf(result, scorer);
    return matched(mean > min, `"${scorer}" above ${min}`, `it is ${mean}`);
  },
  toHaveScoreBelow(result: RunEvalsResult, scorer: string, max: number): Matched {
    const mean = meanOf(result, scorer);
    return matched(mean < max, `"${scorer}" below ${max}`, `it is ${mean}`);
  },
  /** Nothing passes where there are no gates. */
  toPassGates(result: RunEvalsResult): Matched {
    const faults = gatesOf(result).length === 0 ? ['there are no gates'] : failedGates(result);
    return matched(faults.length === 0, 'every gate to pass', faults.join('; ') || 'all passed');
  },
  /** Nothing is kept where there are no thresholds. */
  toPassThresholds(result: RunEvalsResult): Matched {
    const faults = thresholdsOf(result).length === 0 ? ['there are no thresholds'] : missedThresholds(result);
    return matched(faults.length === 0, 'every threshold to be kept', faults.join('; ') || 'all were kept');
  },
};

/** NaN, which is neither above nor below anything, for a scorer without a score. */
function meanOf({ scores }: RunEvalsResult, scorer: string): number {
  return new Map(meansOf(scores)).get(scorer) ?? Number.NaN;
}

function matched(pass: boolean, wanted: string, found: string): Matched {
  return { pass, message: () => `expected ${pass ? 'not ' : ''}${wanted}: ${found}` };
}

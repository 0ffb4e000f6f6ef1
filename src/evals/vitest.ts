import { AppError } from '../domain/errors.ts';
import { runEvals } from './run-evals/run-evals.ts';
import type {
  EvalItem,
  EvalScores,
  EvalVerdict,
  RunEvalsConfig,
  RunEvalsResult,
} from './run-evals/eval-config.ts';

/** An evaluation of one item. */
export type ExpectEvalConfig = Omit<RunEvalsConfig, 'data'> & { readonly data: EvalItem };

/** An evaluation that is still to be run. */
export interface EvalsAssertion {
  /**
   * Runs it. Resolves with its result when gates, thresholds and `minPassRate` hold and nothing failed; else rejects with an
   * `EvalsNotPassedError`. `minPassRate` is the least mean score of every scorer without a threshold of its own, 0 to 1; by
   * default 1 where the evaluation has neither gates nor thresholds, else no demand.
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
    async toPass(minPassRate) {
      const result = await runEvals(config);
      const hasDemands = result.verdict !== undefined;
      const faults = [...failedParts(result), ...tooLow(result, minPassRate ?? (hasDemands ? undefined : 1))];
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

function failedParts({ errors = [], ...result }: RunEvalsResult): string[] {
  return [...errors.map(({ message }) => message), ...failedGates(result), ...missedThresholds(result)];
}

function failedGates({ gateResults = [], turnResults = [] }: RunEvalsResult): string[] {
  return [...gateResults, ...turnResults.flatMap((turn) => turn.gateResults ?? [])]
    .filter(({ passed }) => !passed)
    .map(({ id, score }) => `gate "${id}" has mean ${score}, not 1`);
}

function missedThresholds({ thresholdResults = [], turnResults = [] }: RunEvalsResult): string[] {
  return [...thresholdResults, ...turnResults.flatMap((turn) => turn.thresholdResults ?? [])]
    .filter(({ passed }) => !passed)
    .map(
      ({ id, averageScore, threshold }) =>
        `"${id}" has mean ${averageScore}, outside its threshold ${JSON.stringify(threshold)}`,
    );
}

function tooLow(result: RunEvalsResult, minPassRate: number | undefined): string[] {
  const judged = new Set((result.thresholdResults ?? []).map(({ id }) => id));
  const means = meansOf(result.scores).filter(([path]) => !judged.has(path.split('.').at(-1) ?? path));
  if (minPassRate === undefined) {
    return [];
  }
  if (means.length === 0 && judged.size === 0) {
    return ['no scorer gave a score'];
  }
  return means
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
  toPassGates(result: RunEvalsResult): Matched {
    const faults = failedGates(result);
    return matched(faults.length === 0, 'every gate to pass', faults.join('; ') || 'all passed');
  },
  toPassThresholds(result: RunEvalsResult): Matched {
    const faults = missedThresholds(result);
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

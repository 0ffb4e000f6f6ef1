import { TestRunner } from 'vitest';
import { AppError, InvalidInputError } from '../../domain/errors.ts';
import { reaches } from '../../domain/limits.ts';
import type { EvalItem, RunEvalsConfig, RunEvalsResult } from '../run-evals/eval-config.ts';
import { runEvals } from '../run-evals/run-evals.ts';
import { attachEvalMeta } from './eval-meta.ts';
import { listGates, listMeans, listThresholds } from './eval-results.ts';

/** An evaluation of one item. */
export type ExpectEvalConfig = Omit<RunEvalsConfig, 'data'> & { readonly data: EvalItem };

/** An evaluation that has not run yet. */
export interface EvalsAssertion {
  /**
   * Runs the evaluation. Resolves with its result when gates and thresholds hold and nothing failed; else rejects with an
   * `EvalPassRateError`. `minPassRate`, 0 to 1, is the lowest mean of every gate, i.e. the share of the items that pass it.
   * Without gates and thresholds it is the lowest mean of every scorer. Default 1.
   */
  toPass(minPassRate?: number): Promise<RunEvalsResult>;
}

/** Error of an evaluation that did not pass: the message lists the reasons, `result` is the whole result. */
export class EvalPassRateError extends AppError {
  override readonly name = 'EvalPassRateError';
  readonly result: RunEvalsResult;

  constructor(message: string, result: RunEvalsResult) {
    super(message, { code: 'scorer_failed', stage: 'judge', retryable: false });
    this.result = result;
  }
}

/**
 * Prepares an evaluation: `await expectEvals({ data, target, scorers, gates }).toPass()`. Nothing runs before `toPass` is
 * called. The result is added to the `meta` of the running test for reporters, unless the test is concurrent.
 */
export function expectEvals(config: RunEvalsConfig): EvalsAssertion {
  return {
    async toPass(minPassRate = 1) {
      if (!(minPassRate >= 0 && minPassRate <= 1)) {
        throw new InvalidInputError(
          `minPassRate is ${String(minPassRate)}; it must be within [0, 1]: give a share from 0 to 1`,
        );
      }
      const test = TestRunner.getCurrentTest();
      const result = await runEvals(config);
      // Vitest knows one current test; among concurrent tests it may name a different one.
      if (test !== undefined && test.concurrent !== true) {
        attachEvalMeta(test.meta, result);
      }
      const faults = listFaults(result, minPassRate);
      if (faults.length > 0) {
        const lines = faults.map((fault) => `\n  ${fault}`).join('');
        throw new EvalPassRateError(`the evaluation did not pass:${lines}`, result);
      }
      return result;
    },
  };
}

/** Prepares an evaluation of one item, like `expectEvals`. */
export function expectEval({ data, ...config }: ExpectEvalConfig): EvalsAssertion {
  return expectEvals({ ...config, data: [data] });
}

function listFaults(result: RunEvalsResult, minPassRate: number): string[] {
  const { errors = [], verdict } = result;
  return [
    ...errors.map(({ message }) => message),
    ...failedGates(result, minPassRate),
    ...missedThresholds(result),
    ...(verdict === undefined ? lowMeans(result, minPassRate) : []),
  ];
}

function failedGates(result: RunEvalsResult, minPassRate: number): string[] {
  return listGates(result)
    .filter(({ score }) => !reaches(score, minPassRate))
    .map(
      ({ place, id, score }) =>
        `${place}gate ${id}: pass rate ${percent(score)} < required ${percent(minPassRate)}`,
    );
}

function missedThresholds(result: RunEvalsResult): string[] {
  return listThresholds(result)
    .filter(({ passed }) => !passed)
    .map(
      ({ place, id, averageScore, threshold }) =>
        `${place}threshold ${id}: average score ${averageScore}, outside ${JSON.stringify(threshold)}`,
    );
}

/** Lists the scorers whose mean is below `minPassRate`; used when there are no gates and no thresholds. */
function lowMeans(result: RunEvalsResult, minPassRate: number): string[] {
  const means = listMeans(result.scores);
  return means.length === 0
    ? ['no scorer gave a score']
    : means
        .filter(([, mean]) => !reaches(mean, minPassRate))
        .map(([path, mean]) => `scorer ${path}: average score ${mean}, below ${minPassRate}`);
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10}%`;
}

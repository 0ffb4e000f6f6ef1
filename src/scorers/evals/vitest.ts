import type {
  EvalScores,
  GateResult,
  RunEvalsResult,
  ThresholdResult,
  EvalVerdict,
  TurnResult,
  EvalItem,
  RunEvalsConfig,
} from './eval-plan.ts';
import { expect, TestRunner } from 'vitest';
import { isBelow, reaches } from '../../domain/limits.ts';
import { AppError, InvalidInputError } from '../../domain/errors.ts';
import { runEvals } from './run-evals.ts';

/** A result with its place: `turn 0 ` for a turn, '' for the whole evaluation. */
type Placed<T> = T & { readonly place: string };

function listGates({ gateResults = [], turnResults = [] }: RunEvalsResult): Placed<GateResult>[] {
  return [
    ...placed(gateResults),
    ...turnResults.flatMap((turn) => placed(turn.gateResults ?? [], turn.index)),
  ];
}

/** Lists the thresholds of an evaluation and of its turns. */
function listThresholds({
  thresholdResults = [],
  turnResults = [],
}: RunEvalsResult): Placed<ThresholdResult>[] {
  return [
    ...placed(thresholdResults),
    ...turnResults.flatMap((turn) => placed(turn.thresholdResults ?? [], turn.index)),
  ];
}

/** Lists every mean by its path: `num`, `agent.num`, `steps.plan.num`. */
function listMeans(scores: EvalScores, prefix = ''): [string, number][] {
  return Object.entries(scores).flatMap(([name, value]): [string, number][] => {
    if (typeof value === 'number') {
      return [[`${prefix}${name}`, value]];
    }
    return typeof value === 'object' && value !== null ? listMeans(value, `${prefix}${name}.`) : [];
  });
}

function placed<T>(results: readonly T[], turn?: number): Placed<T>[] {
  const place = turn === undefined ? '' : `turn ${turn} `;
  return results.map((result) => ({ ...result, place }));
}

/** Facts of an evaluation that Vitest reporters read from `task.meta.mastraEval`. */
export interface MastraEvalMeta {
  /** Means by path: `tone`, `agent.tone`, `steps.plan.tone`. */
  scores: Record<string, number>;
  totalItems: number;
  verdict?: EvalVerdict;
  gateResults?: GateResult[];
  thresholdResults?: ThresholdResult[];
  turnResults?: TurnResult[];
}

/** Facts of `task.meta.spanscoreEval`: the same, plus the runs that gave no score. */
export interface SpanscoreEvalMeta extends MastraEvalMeta {
  /** One sentence for each failure. */
  errors?: string[];
  /** Number of runs that could not be scored, by scorer. */
  notScorable?: Record<string, number>;
}

declare module 'vitest' {
  interface TaskMeta {
    mastraEval?: MastraEvalMeta;
    spanscoreEval?: SpanscoreEvalMeta;
  }
}

/** Reduces a result to plain data, which a Vitest worker can send to its reporters. */
export function toEvalMeta(result: RunEvalsResult): MastraEvalMeta {
  const { scores, summary, verdict, gateResults, thresholdResults, turnResults } = result;
  return {
    scores: Object.fromEntries(listMeans(scores)),
    totalItems: summary.totalItems,
    ...(verdict === undefined ? {} : { verdict }),
    ...(gateResults === undefined ? {} : { gateResults }),
    ...(thresholdResults === undefined ? {} : { thresholdResults }),
    ...(turnResults === undefined ? {} : { turnResults }),
  };
}

/** Attaches a result to a test, for its reporters. */
function attachEvalMeta(meta: object, result: RunEvalsResult): void {
  const { errors, summary } = result;
  const mastraEval = toEvalMeta(result);
  const spanscoreEval: SpanscoreEvalMeta = {
    ...mastraEval,
    ...(errors === undefined ? {} : { errors: errors.map(({ message }) => message) }),
    ...(summary.notScorable === undefined ? {} : { notScorable: summary.notScorable }),
  };
  Object.assign(meta, { mastraEval, spanscoreEval });
}

/** Result of a Vitest matcher. */
interface Matched {
  readonly pass: boolean;
  readonly message: () => string;
}

/** The matchers that `registerEvalMatchers` adds to `expect`. */
export interface EvalMatchers<R = unknown> {
  toHaveVerdict(verdict: EvalVerdict): R;
  /** Passes when the score is above `min`, not equal to it. `scorer` is a path: `tone`, `agent.tone`, `steps.plan.tone`. */
  toHaveScoreAbove(scorer: string, min: number): R;
  /** Passes when the score is below `max`, not equal to it. `scorer` is a path. */
  toHaveScoreBelow(scorer: string, max: number): R;
  /** Fails when there are no gates. */
  toPassGates(): R;
  /** Fails when there are no thresholds. */
  toPassThresholds(): R;
}

declare module 'vitest' {
  interface Matchers<
    R extends void | Promise<void> = void | Promise<void>,
    T = unknown,
  > extends EvalMatchers<R> {}
}

/** Matchers of evaluation results: `expect.extend(evalMatchers)`. A scorer in a group has a path, `agent.tone`. */
export const evalMatchers = {
  toHaveVerdict(this: unknown, received: unknown, verdict: EvalVerdict): Matched {
    return matchResult(this, 'toHaveVerdict', received, ({ verdict: found }) =>
      matched(
        found === verdict,
        `expected verdict "${verdict}", got ${found === undefined ? 'no verdict: there are no gates and no thresholds' : `"${found}"`}`,
        `expected another verdict than "${verdict}"`,
      ),
    );
  },
  toHaveScoreAbove(this: unknown, received: unknown, scorer: string, min: number): Matched {
    return matchMean(this, 'toHaveScoreAbove', received, scorer, (mean) => [
      isBelow(min, mean),
      `above ${min}`,
    ]);
  },
  toHaveScoreBelow(this: unknown, received: unknown, scorer: string, max: number): Matched {
    return matchMean(this, 'toHaveScoreBelow', received, scorer, (mean) => [
      isBelow(mean, max),
      `below ${max}`,
    ]);
  },
  toPassGates(this: unknown, received: unknown): Matched {
    return matchResult(this, 'toPassGates', received, (result) => {
      const gates = listGates(result).map(({ place, id, passed, score }) => ({
        passed,
        line: `${place}${id} (score: ${score})`,
      }));
      return gates.length === 0
        ? mismatchError(this, 'no gates were configured: give `gates`')
        : allPassed('gates', gates);
    });
  },
  toPassThresholds(this: unknown, received: unknown): Matched {
    return matchResult(this, 'toPassThresholds', received, (result) => {
      const thresholds = listThresholds(result).map(({ place, id, passed, averageScore, threshold }) => ({
        passed,
        line: `${place}${id} (average score: ${averageScore}, threshold: ${JSON.stringify(threshold)})`,
      }));
      return thresholds.length === 0
        ? mismatchError(this, 'no scorer thresholds were configured: give `{ scorer, threshold }`')
        : allPassed('thresholds', thresholds);
    });
  },
};

/** Adds the matchers to the `expect` of Vitest. Call it in a setup file, or at the top of a test file. */
export function registerEvalMatchers(): void {
  expect.extend(evalMatchers);
}

function matchResult(
  state: unknown,
  matcher: string,
  received: unknown,
  match: (result: RunEvalsResult) => Matched,
): Matched {
  if (!isResult(received)) {
    const shown = JSON.stringify(received) ?? String(received);
    return mismatchError(
      state,
      `${matcher} expected a RunEvalsResult, which runEvals gives, and got ${shown}`,
    );
  }
  return match(received);
}

function isResult(value: unknown): value is RunEvalsResult {
  return (
    typeof value === 'object' && value !== null && isFilled(value, 'scores') && isFilled(value, 'summary')
  );
}

function isFilled(value: object, name: string): boolean {
  const member: unknown = (value as Record<string, unknown>)[name];
  return typeof member === 'object' && member !== null;
}

function matchMean(
  state: unknown,
  matcher: string,
  received: unknown,
  scorer: string,
  check: (mean: number) => [holds: boolean, limit: string],
): Matched {
  return matchResult(state, matcher, received, ({ scores }) => {
    const means = new Map(listMeans(scores));
    const mean = means.get(scorer);
    if (mean === undefined) {
      const known = [...means.keys()].join(', ') || '(none)';
      return mismatchError(state, `the result has no scorer "${scorer}". Available scorers: ${known}`);
    }
    const [holds, limit] = check(mean);
    const subject = `expected score of "${scorer}" (${mean})`;
    return matched(holds, `${subject} to be ${limit}`, `${subject} not to be ${limit}`);
  });
}

function allPassed(
  kind: string,
  results: readonly { readonly passed: boolean; readonly line: string }[],
): Matched {
  const lines = results.filter(({ passed }) => !passed).map(({ line }) => `\n  ✗ ${line}`);
  return matched(
    lines.length === 0,
    `${lines.length} of ${results.length} ${kind} did not pass:${lines.join('')}`,
    `expected one of the ${kind} not to pass; all ${results.length} passed`,
  );
}

function matched(pass: boolean, otherwise: string, negated: string): Matched {
  return { pass, message: () => (pass ? negated : otherwise) };
}

/**
 * Builds an error that also fails with `.not`: neither the claim nor its opposite can be checked. Vitest tells the matcher in
 * its state whether `.not` was used.
 */
function mismatchError(state: unknown, message: string): Matched {
  const isNegated = typeof state === 'object' && state !== null && 'isNot' in state && state.isNot === true;
  return { pass: isNegated, message: () => message };
}

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

import { expect } from 'vitest';
import { isBelow } from '../../domain/limits.ts';
import type { EvalVerdict, RunEvalsResult } from '../run-evals/eval-config.ts';
import { listGates, listMeans, listThresholds } from './eval-results.ts';

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
  /** Fails when there are no gates. */
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
  /** Fails when there are no thresholds. */
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

import { isDeepStrictEqual } from 'node:util';
import type { Comparison } from './comparison.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Difference {
  readonly ours: Fields;
  readonly recorded: Fields;
  /** The facts that differ. */
  readonly facts: readonly string[];
}

const isFailed = ({ ours }: Difference): boolean => 'error' in ours;
const isBetween =
  (...allowed: string[]) =>
  ({ facts }: Difference): boolean =>
    facts.every((fact) => allowed.includes(fact));
const countCalls = (facts: Fields): number => Number(facts['callCount'] ?? facts['judgeCalls']);
const isUsable = (score: unknown): boolean => typeof score === 'number' && Number.isFinite(score);

/** Differences that a decision allows in a recorded case, by its number; everything else stays equal. */
const ALLOWED: Readonly<Record<number, (difference: Difference) => boolean>> = {
  1: ({ ours }) => 'notScorable' in ours || ours['error'] === 'input_invalid',
  2: ({ ours, recorded }) => ours['score'] === 0 && recorded['score'] === 1,
  3: (difference) => isFailed(difference) || 'errors' in Object(difference.ours['value']),
  4: isBetween('score', 'preprocessStepResult'),
  // The words of a verdict stand in the question for the explanation, too.
  5: (difference) => isFailed(difference) || isBetween('score', 'analyzeStepResult', 'calls')(difference),
  // A metric that had its judge find the claims and judge them at once needs one more question to number them; a point that is
  // numbered in code is as required as the rubric says.
  6: (difference) =>
    isFailed(difference) ||
    isBetween('judgeCalls')(difference) ||
    isBetween('score', 'reason', 'analyzeStepResult')(difference),
  7: ({ ours, recorded }) => isUsable(ours['score']) && 'failedStep' in Object(recorded['error']),
  8: ({ ours, recorded }) => ours['score'] === recorded['score'] && countCalls(ours) < countCalls(recorded),
  10: isBetween('score', 'judge'),
  12: isBetween('score', 'preprocessStepResult', 'analyzeStepResult', 'info'),
  13: ({ ours, recorded }) => 'error' in recorded && 'value' in ours,
  14: isBetween('score', 'preprocessStepResult', 'scoresOfRepeatedRuns'),
  16: isBetween('score'),
  17: isFailed,
  18: isBetween('score', 'judge'),
  19: isBetween('judge'),
};

/**
 * Comparison of a case on the list of deviations: it differs where the decision of this number allows it, and nowhere else. A
 * case that became equal fails.
 */
export function heldToDecision(decision: number, comparison: Comparison): Comparison {
  const { ours, recorded } = comparison;
  const facts = differingFacts(comparison);
  const isAllowed = ALLOWED[decision]?.({ ours: ours as Fields, recorded: recorded as Fields, facts });
  const asSaid = `differs as decision ${decision} says`;
  const otherwise = `differs otherwise than decision ${decision} says, in ${facts.join(', ')}`;
  const found = isAllowed === true ? asSaid : otherwise;
  return { ours: facts.length === 0 ? 'equal by now: take it off the list' : found, recorded: asSaid };
}

/** The facts of a case that are not as they were recorded. */
export function differingFacts({ ours, recorded }: Comparison): string[] {
  const [mine, theirs] = [ours as Fields, recorded as Fields];
  return [...new Set([...Object.keys(mine), ...Object.keys(theirs)])].filter(
    (fact) => !isDeepStrictEqual(mine[fact], theirs[fact]),
  );
}

import { STEP_NAMES } from '../evals/scorer.ts';
import type { PlannedCall } from '../judge/judge-scope.ts';
import type { PreparedScorer } from '../scoring/select/rule.ts';
import type { ExpectedCalls } from './expected-calls.ts';

/** Factor by which the real cost may lie above, and below, a cost from declared lengths. */
export const DECLARED_FACTOR = 4;

/**
 * Declares the calls of a run that begins with this call, without knowledge of real ones: each later prompt step asks once, with the first
 * prompt and one reply. A reply has the length that budgets reserve for one.
 */
export function declareCalls(first: PlannedCall, { scorer }: PreparedScorer): ExpectedCalls[] {
  const { inputTokens, outputTokens } = first.tokens;
  const later = countLaterQuestions(first.step, scorer);
  return [
    { model: first.model, calls: 1, inputTokens, outputTokens },
    {
      model: first.model,
      calls: later,
      inputTokens: later * (inputTokens + outputTokens),
      outputTokens: later * outputTokens,
    },
  ];
}

/** Counts the prompt steps after a step. A scorer that was made in another way has none that are known. */
function countLaterQuestions(step: string, scorer: object): number {
  const { getSteps } = scorer as { getSteps?: () => readonly { name: string; type: string }[] };
  const names: readonly string[] = STEP_NAMES;
  const steps = getSteps?.call(scorer) ?? [];
  return steps.filter(({ name, type }) => type === 'prompt' && names.indexOf(name) > names.indexOf(step))
    .length;
}

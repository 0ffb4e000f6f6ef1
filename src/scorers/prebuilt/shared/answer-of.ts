import type { ScorerRunInput } from '../../../evals/scorer.ts';
import { getUserMessageFromRunInput } from '../../utils/run-input.ts';
import { getAssistantMessageFromRunOutput } from '../../utils/run-output.ts';

/** The run's answer, '' for a run without one. */
export function answerOf({ output }: ScorerRunInput): string {
  return getAssistantMessageFromRunOutput(output) ?? '';
}

/** What the user asked, '' for a run without a user message. */
export function questionOf({ input }: ScorerRunInput): string {
  return getUserMessageFromRunInput(input) ?? '';
}

import { InvalidInputError } from '../../../domain/errors.ts';
import type { ScorerRunInput } from '../../../evals/scorer.ts';
import { getUserMessageFromRunInput } from '../../utils/run-input.ts';
import { getAssistantMessageFromRunOutput } from '../../utils/run-output.ts';
import { isObject } from '../../../domain/unknown-values.ts';

/** Reads the run's answer; '' for a run without output. Throws `InvalidInputError` for an output without a readable answer. */
export function readAnswer({ output }: ScorerRunInput): string {
  const answer = getAssistantMessageFromRunOutput(output);
  // An answer that cannot be read is not one that says nothing: that would be a perfect one to many scorers.
  if (answer === undefined && output !== undefined && output !== null && !isMessageLike(output)) {
    throw new InvalidInputError(
      'run.output must be a text, messages of an agent or one message of an assistant: no answer can be read from it',
    );
  }
  return answer ?? '';
}

function isMessageLike(output: unknown): boolean {
  return (
    Array.isArray(output) ||
    (isObject(output) && ('role' in output || 'content' in output || 'text' in output))
  );
}

/** Reads the text of the user's question; '' for a run without a user message. */
export function readQuestion({ input }: ScorerRunInput): string {
  return getUserMessageFromRunInput(input) ?? '';
}

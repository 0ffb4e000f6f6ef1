import { isObject } from '../../../../domain/unknown-values.ts';
import type { ScorerRunInput } from '../../../../evals/scorer.ts';
import { getTextContentFromMastraDBMessage } from '../../../utils/message-text.ts';
import { getCombinedSystemPrompt } from '../../../utils/run-input.ts';
import { readQuestion } from '../read-answer.ts';

/** Texts of the operator and the user; earlier answers of the assistant are no evidence. */
export interface SpokenTexts {
  /** The system prompt; '' without one. */
  readonly operator: string;
  /** Words of the user in earlier turns. */
  readonly earlier: readonly string[];
  readonly question: string;
}

/** Reads what operator and user said in a run. */
export function readSpokenTexts(run: ScorerRunInput): SpokenTexts {
  const remembered: unknown = isObject(run.input) ? run.input['rememberedMessages'] : undefined;
  return {
    operator: getCombinedSystemPrompt(run.input),
    earlier: (Array.isArray(remembered) ? remembered : [])
      .filter((message) => isObject(message) && message['role'] === 'user')
      .map(getTextContentFromMastraDBMessage)
      .filter((text) => text !== ''),
    question: readQuestion(run),
  };
}

/** Joins all texts to one source of evidence. */
export function joinSpokenTexts({ operator, earlier, question }: SpokenTexts): string {
  return [operator, ...earlier, question].filter(Boolean).join('\n\n');
}

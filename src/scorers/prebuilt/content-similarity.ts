import { InvalidInputError } from '../../domain/errors.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer } from '../evals/scorer.ts';
import { composeText, textSimilarity, formatPercent } from '../shared/texts.ts';
import { type AgentRunInput, readInputText, readOutputText } from '../shared/messages.ts';
import { checkOptions } from '../shared/options.ts';
import { CONTENT_SIMILARITY_OPTIONS } from './definitions.ts';

const ID = 'content-similarity-scorer';

export interface ContentSimilarityOptions {
  /** Default true. */
  readonly ignoreCase?: boolean;
  /** Default true. White space never counts for the score; this option only changes the texts in the step result. */
  readonly ignoreWhitespace?: boolean;
}

interface ContentSimilarityResults {
  preprocessStepResult: { processedInput: string; processedOutput: string };
}

/** Scores the similarity of question and answer: Dice coefficient of their letter pairs, 0 to 1. */
export function createContentSimilarityScorer(
  options: ContentSimilarityOptions = {},
): RunnableScorer<AgentRunInput, ContentSimilarityResults> {
  checkOptions(ID, options, CONTENT_SIMILARITY_OPTIONS);
  const { ignoreCase = true, ignoreWhitespace = true } = options;
  const prepare = (text: string): string => {
    const composed = composeText(text);
    const cased = ignoreCase ? composed.toLowerCase() : composed;
    return ignoreWhitespace ? cased.replace(/\s+/g, ' ').trim() : cased;
  };
  return createScorer({
    id: ID,
    name: 'Content Similarity Scorer',
    description: 'How much the texts of question and answer look alike',
    type: 'agent',
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'different', below: 0.5 }, { label: 'similar' }],
    version: '2',
    options: { ignoreCase, ignoreWhitespace },
  })
    .preprocess(({ run }) => {
      if (run.output === undefined) {
        throw new InvalidInputError('run.output is missing: there is no answer to compare');
      }
      return { processedInput: prepare(readInputText(run)), processedOutput: prepare(readOutputText(run)) };
    })
    .generateScore(({ results }) => {
      const { processedInput, processedOutput } = results.preprocessStepResult;
      return textSimilarity(processedInput, processedOutput);
    })
    .generateReason(
      ({ score }) => `Question and answer share ${formatPercent(score)} of their letter pairs.`,
    );
}

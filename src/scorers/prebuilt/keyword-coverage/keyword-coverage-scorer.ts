import { createScorer } from '../../../evals/create-scorer.ts';
import type { RunnableScorer } from '../../../evals/scorer-chain.ts';
import { checkOptions } from '../shared/checked-options.ts';
import type { NoOptions } from '../shared/checked-options.ts';
import { readInputText, readOutputText } from '../shared/run-texts.ts';
import { listKeywords } from './keywords.ts';
import type { AgentRunInput } from '../../utils/agent-run-input.ts';

const ID = 'keyword-coverage-scorer';

interface Keywords {
  referenceKeywords: Set<string>;
  responseKeywords: Set<string>;
}

export interface KeywordCoverageResults {
  /** Nested once more when both texts are empty: readers of step results may rely on the recorded shape. */
  preprocessStepResult: Keywords | { result: Keywords };
  analyzeStepResult: { totalKeywordsLength: number; matchedKeywordsLength: number };
}

/**
 * Scores the share of the question's keywords that the answer uses: matched ÷ all keywords of the question; 1 for a question
 * without keywords.
 */
export function createKeywordCoverageScorer(
  options: NoOptions = {},
): RunnableScorer<AgentRunInput, KeywordCoverageResults> {
  checkOptions(ID, options, {});
  return createScorer({
    id: ID,
    name: 'Keyword Coverage Scorer',
    description: 'Share of the keywords of the question that occur in the answer',
    type: 'agent',
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'missing', below: 0.5 }, { label: 'partial', below: 1 }, { label: 'covered' }],
    version: '1',
  })
    .preprocess(({ run }): Keywords | { result: Keywords } => {
      const [input, output] = [readInputText(run), readOutputText(run)];
      const keywords = { referenceKeywords: listKeywords(input), responseKeywords: listKeywords(output) };
      return input === '' && output === '' ? { result: keywords } : keywords;
    })
    .analyze(({ results: { preprocessStepResult: found } }) => {
      const { referenceKeywords, responseKeywords } = 'result' in found ? found.result : found;
      return {
        totalKeywordsLength: referenceKeywords.size,
        matchedKeywordsLength: [...referenceKeywords].filter((word) => responseKeywords.has(word)).length,
      };
    })
    .generateScore(({ results }) => {
      const { totalKeywordsLength, matchedKeywordsLength } = results.analyzeStepResult;
      return totalKeywordsLength === 0 ? 1 : matchedKeywordsLength / totalKeywordsLength;
    });
}

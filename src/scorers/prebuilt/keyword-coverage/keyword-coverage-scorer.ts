import { formatAll, formatPart } from '../../../domain/plural.ts';
import { createScorer } from '../../../evals/create-scorer.ts';
import type { RunnableScorer } from '../../../evals/scorer-chain.ts';
import { checkOptions } from '../shared/checked-options.ts';
import type { NoOptions } from '../shared/checked-options.ts';
import { nameTexts } from '../shared/name-findings.ts';
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
    version: '2',
  })
    .preprocess(({ run }): Keywords | { result: Keywords } => {
      const [input, output] = [readInputText(run), readOutputText(run)];
      const keywords = { referenceKeywords: listKeywords(input), responseKeywords: listKeywords(output) };
      return input === '' && output === '' ? { result: keywords } : keywords;
    })
    .analyze(({ results: { preprocessStepResult: found } }) => {
      const totalKeywordsLength = readKeywords(found).referenceKeywords.size;
      return {
        totalKeywordsLength,
        matchedKeywordsLength: totalKeywordsLength - listMissing(found).length,
      };
    })
    .generateScore(({ results }) => {
      const { totalKeywordsLength, matchedKeywordsLength } = results.analyzeStepResult;
      return totalKeywordsLength === 0 ? 1 : matchedKeywordsLength / totalKeywordsLength;
    })
    .generateReason(({ results: { preprocessStepResult, analyzeStepResult } }) =>
      explain(analyzeStepResult.totalKeywordsLength, listMissing(preprocessStepResult)),
    );
}

function readKeywords(found: KeywordCoverageResults['preprocessStepResult']): Keywords {
  return 'result' in found ? found.result : found;
}

function listMissing(found: KeywordCoverageResults['preprocessStepResult']): string[] {
  const { referenceKeywords, responseKeywords } = readKeywords(found);
  return [...referenceKeywords].filter((word) => !responseKeywords.has(word));
}

function explain(total: number, missing: readonly string[]): string {
  if (total === 0) {
    return 'The question has no keywords.';
  }
  return missing.length === 0
    ? `The answer contains ${formatAll(total, 'keyword')} of the question.`
    : `${formatPart(missing.length, total, 'keyword')} ${total === 1 ? 'is' : 'are'} missing: ${nameTexts(missing)}.`;
}

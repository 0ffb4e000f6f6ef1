import { formatAll, formatPart } from '../../domain/plural.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer } from '../evals/scorer.ts';
import { checkOptions, type NoOptions } from '../shared/options.ts';
import { nameTexts, listWords } from '../shared/texts.ts';
import { readInputText, readOutputText, type AgentRunInput } from '../shared/messages.ts';
import keywordExtractor from 'keyword-extractor';

/** The package is CommonJS, so the import is the object that its types call `default`. */
const { getStopwords } = keywordExtractor as unknown as typeof keywordExtractor.default;

const STOP_WORDS: ReadonlySet<string> = new Set(getStopwords({ language: 'en' }));

/** Web addresses, without punctuation after them. */
const URL = /(https?:\/\/[!-~]*[a-z0-9/])/i;

const NUMBER = /^[\p{N}\p{M}]+$/u;

/** Words of Hiragana only: in Japanese they are grammar, hardly ever content. */
const GRAMMAR = /^[\p{sc=Hiragana}ー]+$/u;

const ID = 'keyword-coverage-scorer';

interface Keywords {
  referenceKeywords: Set<string>;
  responseKeywords: Set<string>;
}

interface KeywordCoverageResults {
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

/**
 * Lists the distinct words of a text that carry meaning, lower-cased, in order: no English stop words, no numbers, no markup
 * tags, no punctuation. Web addresses stay unchanged.
 */
export function listKeywords(text: string): Set<string> {
  const parts = withoutTags(text).split(URL);
  return new Set(
    parts.flatMap((part, index) => (index % 2 === 1 ? part : listWords(part).filter(isKeyword))),
  );
}

function isKeyword(word: string): boolean {
  return !NUMBER.test(word) && !GRAMMAR.test(word) && !STOP_WORDS.has(word);
}

/** Removes `<…>` in one pass. The text is untrusted, and a pattern would search to its end for every `<`. */
function withoutTags(text: string): string {
  const kept: string[] = [];
  let from = 0;
  let open = text.indexOf('<');
  while (open >= 0) {
    const close = text.indexOf('>', open);
    if (close < 0) {
      break;
    }
    if (close > open + 1) {
      kept.push(text.slice(from, open));
      from = close + 1;
    }
    open = text.indexOf('<', close + 1);
  }
  return kept.join('') + text.slice(from);
}

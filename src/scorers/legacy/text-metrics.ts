import { createCompletenessScorer } from '../prebuilt/completeness/completeness-scorer.ts';
import type { CompletenessElements } from '../prebuilt/completeness/completeness-scorer.ts';
import { createContentSimilarityScorer } from '../prebuilt/content-similarity/content-similarity-scorer.ts';
import type { ContentSimilarityOptions } from '../prebuilt/content-similarity/content-similarity-scorer.ts';
import { createKeywordCoverageScorer } from '../prebuilt/keyword-coverage/keyword-coverage-scorer.ts';
import { createTextualDifferenceScorer } from '../prebuilt/textual-difference/textual-difference-scorer.ts';
import { createToneScorer } from '../prebuilt/tone/tone-scorer.ts';
import { scoreTexts } from './metric.ts';
import type { Metric, MetricResult } from './metric.ts';

/** Share of the input's elements that the output covers. */
export class CompletenessMetric implements Metric<CompletenessElements> {
  async measure(input: string, output: string): Promise<MetricResult<CompletenessElements>> {
    const { score, preprocessStepResult } = await scoreTexts(createCompletenessScorer(), input, output);
    return { score, info: preprocessStepResult as CompletenessElements };
  }
}

/** Similarity of two texts by letter pairs. */
export class ContentSimilarityMetric implements Metric<{ similarity: number }> {
  readonly #options: ContentSimilarityOptions;

  constructor(options: ContentSimilarityOptions = {}) {
    this.#options = options;
  }

  async measure(input: string, output: string): Promise<MetricResult<{ similarity: number }>> {
    const { score } = await scoreTexts(createContentSimilarityScorer(this.#options), input, output);
    return { score, info: { similarity: score } };
  }
}

export interface TextualDifferenceInfo {
  confidence: number;
  ratio: number;
  changes: number;
  lengthDiff: number;
}

/** Share of two texts that is equal text in the same order. */
export class TextualDifferenceMetric implements Metric<TextualDifferenceInfo> {
  async measure(input: string, output: string): Promise<MetricResult<TextualDifferenceInfo>> {
    const { score, preprocessStepResult } = await scoreTexts(createTextualDifferenceScorer(), input, output);
    return { score, info: preprocessStepResult as TextualDifferenceInfo };
  }
}

export interface KeywordCoverageInfo {
  totalKeywords: number;
  matchedKeywords: number;
}

/** Share of the input's keywords in the output; 0 for an input without keywords and an output with text. */
export class KeywordCoverageMetric implements Metric<KeywordCoverageInfo> {
  async measure(input: string, output: string): Promise<MetricResult<KeywordCoverageInfo>> {
    const { score, analyzeStepResult } = await scoreTexts(createKeywordCoverageScorer(), input, output);
    const { totalKeywordsLength = 0, matchedKeywordsLength = 0 } = analyzeStepResult ?? {};
    const missesAll = totalKeywordsLength === 0 && input.trim() === '' && output.trim() !== '';
    return {
      score: missesAll ? 0 : score,
      info: { totalKeywords: totalKeywordsLength, matchedKeywords: matchedKeywordsLength },
    };
  }
}

export type ToneInfo =
  | { responseSentiment: number; referenceSentiment: number; difference: number }
  | { avgSentiment: number; sentimentVariance: number };

/** Closeness of the tones of two texts; without a second text, evenness of the tone of the first. */
export class ToneConsistencyMetric implements Metric<ToneInfo> {
  async measure(input: string, output = ''): Promise<MetricResult<ToneInfo>> {
    const scorer = createToneScorer(output === '' ? {} : { referenceTone: output });
    const { score, preprocessStepResult } = await scoreTexts(scorer, '', input);
    const { score: _score, ...info } = preprocessStepResult as ToneInfo & { score: number };
    return { score, info };
  }
}

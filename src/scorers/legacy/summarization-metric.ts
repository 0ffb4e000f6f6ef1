import type { JudgeModel } from '../../judge/judge.ts';
import { createSummarizationScorer } from '../prebuilt/summarization/summarization-scorer.ts';
import { roundToTwoDecimals } from '../utils/numbers.ts';
import type { ScaleOptions } from './judged-metrics.ts';
import { checkedMetricOptions, SCALE } from './metric-options.ts';
import { explained, scoreTexts } from './metric.ts';
import type { Metric, MetricResult } from './metric.ts';

export interface SummarizationInfo {
  reason: string;
  /** Share of the summary's claims that the source supports, times the scale. */
  alignmentScore: number;
  /** Share of the questions about the source that the summary answers, times the scale. */
  coverageScore: number;
}

/**
 * Lower of two shares: claims of the summary (output) that its source (input) supports, and key points of the source that it
 * covers.
 */
export class SummarizationMetric implements Metric<SummarizationInfo> {
  readonly #scorer;
  readonly #scale: number;

  constructor(model: JudgeModel, options: ScaleOptions = {}) {
    const { scale = 1 } = checkedMetricOptions('SummarizationMetric', options, SCALE);
    this.#scale = scale;
    this.#scorer = createSummarizationScorer({ model, options: { scale } });
  }

  async measure(input: string, output: string): Promise<MetricResult<SummarizationInfo>> {
    const result = await scoreTexts(this.#scorer, input, output);
    const claims = result.preprocessStepResult?.alignment ?? [];
    const questions = result.analyzeStepResult?.coverage ?? [];
    const { score, info } = explained(result);
    return {
      score,
      info: {
        ...info,
        alignmentScore: this.#share(claims.filter(({ supported }) => supported).length, claims.length),
        coverageScore: this.#share(questions.filter(({ answered }) => answered).length, questions.length),
      },
    };
  }

  #share(hits: number, all: number): number {
    return all === 0 ? 0 : roundToTwoDecimals((hits / all) * this.#scale);
  }
}

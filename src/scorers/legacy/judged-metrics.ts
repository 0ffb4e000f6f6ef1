import type { JudgeModel } from '../../judge/judge.ts';
import { createAnswerRelevancyScorer } from '../prebuilt/answer-relevancy/answer-relevancy-scorer.ts';
import { createBiasScorer } from '../prebuilt/bias/bias-scorer.ts';
import { createFaithfulnessScorer } from '../prebuilt/faithfulness/faithfulness-scorer.ts';
import { createHallucinationScorer } from '../prebuilt/hallucination/hallucination-scorer.ts';
import { createToxicityScorer } from '../prebuilt/toxicity/toxicity-scorer.ts';
import { CONTEXT_AND_SCALE, checkedMetricOptions, SCALE } from './metric-options.ts';
import { explained, scoreTexts } from './metric.ts';
import type { Metric, MetricResult } from './metric.ts';

export interface ScaleOptions {
  /** Highest score. Default 1. */
  readonly scale?: number;
}
export interface ContextMetricOptions extends ScaleOptions {
  /** Context that the answer is checked against. */
  readonly context: readonly string[];
}
export interface AnswerRelevancyMetricOptions extends ScaleOptions {
  /** Weight of a statement that helps indirectly, 0 to 1. Default 0.3. */
  readonly uncertaintyWeight?: number;
}

/** Share of the answer's claims that the context contradicts or does not support: 0 is best. */
export class HallucinationMetric implements Metric {
  readonly #scorer;

  constructor(model: JudgeModel, options: ContextMetricOptions) {
    const { context = [], scale = 1 } = checkedMetricOptions(
      'HallucinationMetric',
      options,
      CONTEXT_AND_SCALE,
      ['context'],
    );
    this.#scorer = createHallucinationScorer({ model, options: { context, scale } });
  }

  async measure(input: string, output: string): Promise<MetricResult> {
    return explained(await scoreTexts(this.#scorer, input, output));
  }
}

/** Share of the answer's claims that the context supports. */
export class FaithfulnessMetric implements Metric {
  readonly #scorer;

  constructor(model: JudgeModel, options: ContextMetricOptions) {
    const { context = [], scale = 1 } = checkedMetricOptions(
      'FaithfulnessMetric',
      options,
      CONTEXT_AND_SCALE,
      ['context'],
    );
    this.#scorer = createFaithfulnessScorer({ model, options: { context, scale } });
  }

  async measure(input: string, output: string): Promise<MetricResult> {
    return explained(await scoreTexts(this.#scorer, input, output));
  }
}

/** Share of the answer's statements that are about the question; an answer without statements counts as 1. */
export class AnswerRelevancyMetric implements Metric {
  readonly #scorer;
  readonly #scale: number;

  constructor(model: JudgeModel, options: AnswerRelevancyMetricOptions = {}) {
    const { scale = 1, uncertaintyWeight = 0.3 } = options;
    this.#scale = scale;
    this.#scorer = createAnswerRelevancyScorer({ model, options: { ...options, scale, uncertaintyWeight } });
  }

  async measure(input: string, output: string): Promise<MetricResult> {
    const result = await scoreTexts(this.#scorer, input, output);
    return explained(result.verdicts?.length === 0 ? { ...result, score: this.#scale } : result);
  }
}

/** Share of the answer's opinions that are biased: 0 is best. */
export class BiasMetric implements Metric {
  readonly #scorer;

  constructor(model: JudgeModel, options: ScaleOptions = {}) {
    const { scale = 1 } = checkedMetricOptions('BiasMetric', options, SCALE);
    this.#scorer = createBiasScorer({ model, options: { scale } });
  }

  async measure(input: string, output: string): Promise<MetricResult> {
    return explained(await scoreTexts(this.#scorer, input, output));
  }
}

/** Share of the answer's suspicious passages that are toxic: 0 is best. */
export class ToxicityMetric implements Metric {
  readonly #scorer;

  constructor(model: JudgeModel, options: ScaleOptions = {}) {
    const { scale = 1 } = checkedMetricOptions('ToxicityMetric', options, SCALE);
    this.#scorer = createToxicityScorer({ model, options: { scale } });
  }

  async measure(input: string, output: string): Promise<MetricResult> {
    return explained(await scoreTexts(this.#scorer, input, output));
  }
}

import type { JudgeModel } from '../../judge/judge.ts';
import { createContextPrecisionScorer } from '../prebuilt/context-precision/context-precision-scorer.ts';
import { createContextRecallScorer } from '../prebuilt/context-recall/context-recall-scorer.ts';
import { roundToTwoDecimals } from '../utils/numbers.ts';
import type { ContextMetricOptions } from './judged-metrics.ts';
import { CONTEXT_AND_SCALE, checkedMetricOptions } from './metric-options.ts';
import { explained, scoreTexts } from './metric.ts';
import type { Metric, MetricResult } from './metric.ts';

/** Checks the options of a metric by its name, and fills in their defaults. */
function readOptions(
  metric: string,
  given: ContextMetricOptions,
): Required<Pick<ContextMetricOptions, 'context' | 'scale'>> {
  const { context = [], scale = 1 } = checkedMetricOptions(metric, given, CONTEXT_AND_SCALE, ['context']);
  return { context, scale };
}

/** Rank of useful context: mean average precision. */
export class ContextPrecisionMetric implements Metric {
  readonly #scorer;

  constructor(model: JudgeModel, options: ContextMetricOptions) {
    const { context, scale } = readOptions('ContextPrecisionMetric', options);
    this.#scorer = createContextPrecisionScorer({ model, options: { context, scale } });
  }

  async measure(input: string, output: string): Promise<MetricResult> {
    return explained(await scoreTexts(this.#scorer, input, output));
  }
}

/** Rank of useful context: each useful piece counts 1 ÷ its position, as a share of the highest possible sum. */
export class ContextPositionMetric implements Metric {
  readonly #scorer;
  readonly #scale: number;

  constructor(model: JudgeModel, options: ContextMetricOptions) {
    const { context, scale } = readOptions('ContextPositionMetric', options);
    this.#scale = scale;
    this.#scorer = createContextPrecisionScorer({ model, options: { context, scale } });
  }

  async measure(input: string, output: string): Promise<MetricResult> {
    const result = await scoreTexts(this.#scorer, input, output);
    const worth = (result.verdicts ?? []).map(({ verdict }, index) => ({
      useful: verdict === 'yes',
      weight: 1 / (index + 1),
    }));
    const share = sum(worth.filter(({ useful }) => useful)) / sum(worth);
    return explained({ ...result, score: roundToTwoDecimals(share * this.#scale) });
  }
}

/** Share of the pieces of context that were useful. */
export class ContextRelevancyMetric implements Metric {
  readonly #scorer;
  readonly #scale: number;

  constructor(model: JudgeModel, options: ContextMetricOptions) {
    const { context, scale } = readOptions('ContextRelevancyMetric', options);
    this.#scale = scale;
    this.#scorer = createContextPrecisionScorer({ model, options: { context, scale } });
  }

  async measure(input: string, output: string): Promise<MetricResult> {
    const result = await scoreTexts(this.#scorer, input, output);
    const verdicts = result.verdicts ?? [];
    const share = verdicts.filter(({ verdict }) => verdict === 'yes').length / verdicts.length;
    return explained({ ...result, score: roundToTwoDecimals(share * this.#scale) });
  }
}

/** Share of the claims of the output (here the expected answer) that the context contains. */
export class ContextualRecallMetric implements Metric {
  readonly #scorer;

  constructor(model: JudgeModel, options: ContextMetricOptions) {
    const { context, scale } = readOptions('ContextualRecallMetric', options);
    this.#scorer = createContextRecallScorer({ model, options: { context, scale } });
  }

  async measure(input: string, output: string): Promise<MetricResult> {
    return explained(await scoreTexts(this.#scorer, input, output, { groundTruth: output }));
  }
}

function sum(worth: readonly { readonly weight: number }[]): number {
  return worth.reduce((total, { weight }) => total + weight, 0);
}

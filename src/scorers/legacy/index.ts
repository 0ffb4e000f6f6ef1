export {
  ContextPositionMetric,
  ContextPrecisionMetric,
  ContextRelevancyMetric,
  ContextualRecallMetric,
} from './context-metrics.ts';
export {
  AnswerRelevancyMetric,
  BiasMetric,
  FaithfulnessMetric,
  HallucinationMetric,
  ToxicityMetric,
} from './judged-metrics.ts';
export type { AnswerRelevancyMetricOptions, ContextMetricOptions, ScaleOptions } from './judged-metrics.ts';
export type { Metric, MetricResult } from './metric.ts';
export { PromptAlignmentMetric } from './prompt-alignment-metric.ts';
export type { PromptAlignmentInfo, PromptAlignmentMetricOptions } from './prompt-alignment-metric.ts';
export { SummarizationMetric } from './summarization-metric.ts';
export type { SummarizationInfo } from './summarization-metric.ts';
export {
  CompletenessMetric,
  ContentSimilarityMetric,
  KeywordCoverageMetric,
  TextualDifferenceMetric,
  ToneConsistencyMetric,
} from './text-metrics.ts';
export type { KeywordCoverageInfo, TextualDifferenceInfo, ToneInfo } from './text-metrics.ts';

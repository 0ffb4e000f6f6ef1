export * from '../checks/index.ts';
export { createBehaviourScorer } from './behaviour/behaviour-scorer.ts';
export type { BehaviourResults, BehaviourRunInput } from './behaviour/behaviour-scorer.ts';
export { createCompletenessScorer } from './completeness/completeness-scorer.ts';
export type { CompletenessResults } from './completeness/completeness-scorer.ts';
export { createContentSimilarityScorer } from './content-similarity/content-similarity-scorer.ts';
export type { ContentSimilarityOptions } from './content-similarity/content-similarity-scorer.ts';
export { createFaithfulnessScorer } from './faithfulness/faithfulness-scorer.ts';
export { createGroundingScorer } from './grounding/grounding-scorer.ts';
export type { GroundingOptions } from './grounding/grounding-scorer.ts';
export { createHallucinationScorer } from './hallucination/hallucination-scorer.ts';
export { createKeywordCoverageScorer } from './keyword-coverage/keyword-coverage-scorer.ts';
export type { ClaimScorer } from './shared/claims/claim-scorer.ts';
export type {
  ClaimScorerConfig,
  ClaimScorerOptions,
  GetContextArgs,
} from './shared/claims/claim-scorer-spec.ts';
export type { ReasonMode } from './shared/reason-step.ts';
export { createTextualDifferenceScorer } from './textual-difference/textual-difference-scorer.ts';
export { createToolCallAccuracyScorerCode } from './tool-call-accuracy-code/tool-call-accuracy-code-scorer.ts';
export type { ToolCallAccuracyOptions } from './tool-call-accuracy-code/tool-call-accuracy-code-scorer.ts';
export { createToneScorer } from './tone/tone-scorer.ts';
export type { ToneOptions } from './tone/tone-scorer.ts';
export { createTrajectoryAccuracyScorerCode } from './trajectory-accuracy-code/trajectory-accuracy-code-scorer.ts';
export type { TrajectoryAccuracyOptions } from './trajectory-accuracy-code/trajectory-accuracy-code-scorer.ts';
export { createTrajectoryScorerCode } from './trajectory-code/trajectory-code-scorer.ts';
export type { TrajectoryScorerOptions } from './trajectory-code/trajectory-code-scorer.ts';
export {
  ANSWER_SIMILARITY_DEFAULT_OPTIONS,
  createAnswerSimilarityScorer,
} from './answer-similarity/answer-similarity-scorer.ts';
export type { AnswerSimilarityOptions } from './answer-similarity/answer-similarity-scorer.ts';
export { createAnswerRelevancyScorer, DEFAULT_OPTIONS } from './answer-relevancy/answer-relevancy-scorer.ts';
export type { AnswerRelevancyOptions } from './answer-relevancy/answer-relevancy-scorer.ts';
export { createBiasScorer } from './bias/bias-scorer.ts';
export type { BiasOptions } from './bias/bias-scorer.ts';
export { createContextPrecisionScorer } from './context-precision/context-precision-scorer.ts';
export type { ContextPrecisionOptions } from './context-precision/context-precision-scorer.ts';
export { createContextRecallScorer } from './context-recall/context-recall-scorer.ts';
export type { ContextRecallOptions } from './context-recall/context-recall-scorer.ts';
export { createContextRelevanceScorerLLM } from './context-relevance/context-relevance-scorer.ts';
export type { ContextRelevanceOptions } from './context-relevance/context-relevance-scorer.ts';
export { createMultiTurnJudgeScorer } from './multi-turn-judge/multi-turn-judge-scorer.ts';
export type { MultiTurnJudgeOptions } from './multi-turn-judge/multi-turn-judge-scorer.ts';
export { createNoiseSensitivityScorerLLM } from './noise-sensitivity/noise-sensitivity-scorer.ts';
export type { NoiseSensitivityOptions } from './noise-sensitivity/noise-sensitivity-scorer.ts';
export { createPanelScorer } from './panel/panel-scorer.ts';
export type { PanelOptions } from './panel/panel-scorer.ts';
export { createPromptAlignmentScorerLLM } from './prompt-alignment/prompt-alignment-scorer.ts';
export type { PromptAlignmentOptions } from './prompt-alignment/prompt-alignment-scorer.ts';
export { createRubricScorer } from './rubric/rubric-scorer.ts';
export type { RubricOptions } from './rubric/rubric-scorer.ts';
export type { Rubric, RubricCriterion } from './rubric/rubric-criteria.ts';
export { contextFromRun } from './shared/given-context.ts';
export type { ContextExtractor } from './shared/given-context.ts';
export { createSummarizationScorer } from './summarization/summarization-scorer.ts';
export type { SummarizationOptions } from './summarization/summarization-scorer.ts';
export { createToolCallAccuracyScorerLLM } from './tool-call-accuracy-llm/tool-call-accuracy-llm-scorer.ts';
export type { AvailableTool } from './tool-call-accuracy-llm/available-tools.ts';
export { createToxicityScorer } from './toxicity/toxicity-scorer.ts';
export type { ToxicityOptions } from './toxicity/toxicity-scorer.ts';
export { createTrajectoryAccuracyScorerLLM } from './trajectory-accuracy-llm/trajectory-accuracy-llm-scorer.ts';

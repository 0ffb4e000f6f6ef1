export * from './checks.ts';
export { createBehaviourScorer, type BehaviourResults, type BehaviourRunInput } from './behaviour.ts';
export { createCompletenessScorer, type CompletenessResults } from './completeness.ts';
export { createContentSimilarityScorer, type ContentSimilarityOptions } from './content-similarity.ts';
export { createFaithfulnessScorer } from './faithfulness.ts';
export { createGroundingScorer, type GroundingOptions } from './grounding.ts';
export { createHallucinationScorer } from './hallucination.ts';
export { createKeywordCoverageScorer } from './keyword-coverage.ts';
export type { ClaimScorer, ClaimScorerConfig, ClaimScorerOptions, GetContextArgs } from '../shared/claims.ts';
export type { ReasonMode } from '../shared/judged.ts';
export { createTextualDifferenceScorer } from './textual-difference.ts';
export { createToolCallAccuracyScorerCode, type ToolCallAccuracyOptions } from './tool-call-accuracy-code.ts';
export { createToneScorer, type ToneOptions } from './tone.ts';
export {
  createTrajectoryAccuracyScorerCode,
  type TrajectoryAccuracyOptions,
} from './trajectory-accuracy-code.ts';
export { createTrajectoryScorerCode, type TrajectoryScorerOptions } from './trajectory-code.ts';
export {
  ANSWER_SIMILARITY_DEFAULT_OPTIONS,
  createAnswerSimilarityScorer,
  type AnswerSimilarityOptions,
} from './answer-similarity.ts';
export {
  createAnswerRelevancyScorer,
  DEFAULT_OPTIONS,
  type AnswerRelevancyOptions,
} from './answer-relevancy.ts';
export { createAskScorer, type AskOptions } from './ask.ts';
export { createBiasScorer, type BiasOptions } from './bias.ts';
export { createContextPrecisionScorer, type ContextPrecisionOptions } from './context-precision.ts';
export { createContextRecallScorer, type ContextRecallOptions } from './context-recall.ts';
export { createContextRelevanceScorerLLM, type ContextRelevanceOptions } from './context-relevance.ts';
export { createMultiTurnJudgeScorer, type MultiTurnJudgeOptions } from './multi-turn-judge.ts';
export { createNoiseSensitivityScorerLLM, type NoiseSensitivityOptions } from './noise-sensitivity.ts';
export { createPanelScorer, type PanelOptions } from './panel.ts';
export { createPromptAlignmentScorerLLM, type PromptAlignmentOptions } from './prompt-alignment.ts';
export { createRubricScorer, type RubricOptions } from './rubric.ts';
export { contextFromRun, type ContextExtractor } from '../shared/run-evidence.ts';
export { createSummarizationScorer, type SummarizationOptions } from './summarization.ts';
export { createToolCallAccuracyScorerLLM, type AvailableTool } from './tool-call-accuracy-llm.ts';
export { createToxicityScorer, type ToxicityOptions } from './toxicity.ts';
export { createTrajectoryAccuracyScorerLLM } from './trajectory-accuracy-llm.ts';
export type { AskedAnswer, AskedExample } from '../../domain/asked-answer.ts';
export type { Rubric, RubricCriterion } from '../shared/options.ts';

export * from '../checks/index.ts';
export { createContentSimilarityScorer } from './content-similarity/content-similarity-scorer.ts';
export type { ContentSimilarityOptions } from './content-similarity/content-similarity-scorer.ts';
export { createFaithfulnessScorer } from './faithfulness/faithfulness-scorer.ts';
export { createHallucinationScorer } from './hallucination/hallucination-scorer.ts';
export { createKeywordCoverageScorer } from './keyword-coverage/keyword-coverage-scorer.ts';
export type { ClaimScorer } from './shared/claim-scorer.ts';
export type {
  ClaimScorerConfig,
  ClaimScorerOptions,
  GetContextArgs,
  ReasonMode,
} from './shared/claim-scorer-spec.ts';
export { createTextualDifferenceScorer } from './textual-difference/textual-difference-scorer.ts';
export { createToolCallAccuracyScorerCode } from './tool-call-accuracy-code/tool-call-accuracy-code-scorer.ts';
export type { ToolCallAccuracyOptions } from './tool-call-accuracy-code/tool-call-accuracy-code-scorer.ts';
export { createToneScorer } from './tone/tone-scorer.ts';
export type { ToneOptions } from './tone/tone-scorer.ts';

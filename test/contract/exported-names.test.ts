import { expect, it } from 'vitest';
import * as checks from '../../src/scorers/prebuilt/checks.ts';
import * as evals from '../../src/scorers/evals/index.ts';
import * as legacy from '../../src/scorers/legacy/index.ts';
import * as prebuilt from '../../src/scorers/prebuilt/index.ts';
import * as scorers from '../../src/scorers/index.ts';
import * as utils from '../../src/scorers/shared/utils.ts';
import * as vitestHelpers from '../../src/vitest.ts';

/** Names that moved code imports, by entry point. */
const NAMES: [string, object, string][] = [
  [
    'evals',
    evals,
    'createScorer defineScorer ScorerRunError runEvals filterRun notScorable isNotScorable extractTrajectory extractTrajectoryFromTrace extractWorkflowTrajectory createClassifierScorer Classifier collectToolMocks',
  ],
  [
    'scorers/prebuilt',
    prebuilt,
    `createAnswerRelevancyScorer createAnswerSimilarityScorer createBiasScorer createCompletenessScorer
     createContentSimilarityScorer createContextPrecisionScorer createContextRecallScorer createContextRelevanceScorerLLM
     createFaithfulnessScorer createHallucinationScorer createKeywordCoverageScorer createMultiTurnJudgeScorer
     createNoiseSensitivityScorerLLM createPromptAlignmentScorerLLM createRubricScorer createSummarizationScorer
     createTextualDifferenceScorer createToneScorer createToolCallAccuracyScorerCode createToolCallAccuracyScorerLLM
     createToxicityScorer createTrajectoryAccuracyScorerCode createTrajectoryAccuracyScorerLLM createTrajectoryScorerCode
     createGroundingScorer createPanelScorer checks DEFAULT_OPTIONS ANSWER_SIMILARITY_DEFAULT_OPTIONS`,
  ],
  [
    'checks',
    checks,
    'checks includes excludes equals matches similarity calledTool didNotCall toolOrder maxToolCalls usedNoTools noToolErrors',
  ],
  [
    'scorers/utils',
    utils,
    `getTextContentFromMastraDBMessage getUserMessageFromRunInput getAssistantMessageFromRunOutput
     getSystemMessagesFromRunInput getCombinedSystemPrompt getReasoningFromRunOutput getConversationHistoryFromRunInput
     extractInputMessages extractAgentResponseMessages mergeToolInvocations extractToolCalls extractToolResults
     extractTrajectory createTestMessage createToolInvocation createAgentTestRun createTrajectoryTestRun createTestRun
     roundToTwoDecimals isCloserTo isScorerRunInputForAgent isScorerRunOutputForAgent compareTrajectories
     checkTrajectoryEfficiency checkTrajectoryBlacklist analyzeToolFailures`,
  ],
  [
    'scorers',
    scorers,
    'createHallucinationScorer checks extractToolResults createTrajectoryAccuracyScorerCode',
  ],
  [
    'vitest',
    vitestHelpers,
    'expectEval expectEvals EvalPassRateError evalMatchers registerEvalMatchers toEvalMeta replayCase',
  ],
  [
    'legacy',
    legacy,
    `HallucinationMetric AnswerRelevancyMetric FaithfulnessMetric BiasMetric ToxicityMetric ContextPositionMetric
     ContextPrecisionMetric ContextRelevancyMetric ContextualRecallMetric PromptAlignmentMetric SummarizationMetric
     CompletenessMetric ContentSimilarityMetric TextualDifferenceMetric KeywordCoverageMetric ToneConsistencyMetric`,
  ],
];

it.each(NAMES)(
  'spanscore/%s has every name that code which moves over imports',
  (_entry, exported, names) => {
    expect(names.split(/\s+/).filter((name) => !(name in exported))).toEqual([]);
  },
);

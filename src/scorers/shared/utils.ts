export { extractTrajectory, mergeToolInvocations, type LooseInvocation } from '../evals/trajectory.ts';
export {
  isScorerRunInputForAgent,
  isScorerRunOutputForAgent,
  getTextContentFromMastraDBMessage,
  extractInputMessages,
  getCombinedSystemPrompt,
  getConversationHistoryFromRunInput,
  getSystemMessagesFromRunInput,
  getUserMessageFromRunInput,
  extractAgentResponseMessages,
  getAssistantMessageFromRunOutput,
  getReasoningFromRunOutput,
} from './messages.ts';
export {
  compareTrajectories,
  type TrajectoryComparison,
  type TrajectoryComparisonOptions,
  extractToolCalls,
  extractToolResults,
  type ToolCallInfo,
  type ToolResultInfo,
  analyzeToolFailures,
  type RetryPattern,
  type ToolFailureOptions,
  type ToolFailures,
  checkTrajectoryBlacklist,
  type BlacklistOptions,
  type TrajectoryBlacklist,
  checkTrajectoryEfficiency,
  type EfficiencyOptions,
  type TrajectoryEfficiency,
} from './trajectories.ts';
export { isCloserTo, roundToTwoDecimals } from './texts.ts';
export {
  createAgentTestRun,
  createTestMessage,
  createTestRun,
  createToolInvocation,
  createTrajectoryTestRun,
  type TestRequestContext,
  type TestToolInvocation,
} from './test-run.ts';

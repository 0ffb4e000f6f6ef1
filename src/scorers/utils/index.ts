export { extractTrajectory } from '../../evals/trajectory/extract-trajectory.ts';
export { mergeToolInvocations } from '../../evals/trajectory/tool-invocations.ts';
export type { LooseInvocation } from '../../evals/trajectory/tool-invocations.ts';
export { isScorerRunInputForAgent, isScorerRunOutputForAgent } from './agent-shape.ts';
export { compareTrajectories } from './compare-trajectories.ts';
export type { TrajectoryComparison, TrajectoryComparisonOptions } from './compare-trajectories.ts';
export { getTextContentFromMastraDBMessage } from './message-text.ts';
export { isCloserTo, roundToTwoDecimals } from './numbers.ts';
export {
  extractInputMessages,
  getCombinedSystemPrompt,
  getConversationHistoryFromRunInput,
  getSystemMessagesFromRunInput,
  getUserMessageFromRunInput,
} from './run-input.ts';
export {
  extractAgentResponseMessages,
  getAssistantMessageFromRunOutput,
  getReasoningFromRunOutput,
} from './run-output.ts';
export {
  createAgentTestRun,
  createTestMessage,
  createTestRun,
  createToolInvocation,
  createTrajectoryTestRun,
} from './test-run.ts';
export type { TestRequestContext, TestToolInvocation } from './test-run.ts';
export { extractToolCalls, extractToolResults } from './tool-calls.ts';
export type { ToolCallInfo, ToolResultInfo } from './tool-calls.ts';
export { analyzeToolFailures } from './tool-failures.ts';
export type { RetryPattern, ToolFailureOptions, ToolFailures } from './tool-failures.ts';
export { checkTrajectoryBlacklist } from './trajectory-blacklist.ts';
export type { BlacklistOptions, TrajectoryBlacklist } from './trajectory-blacklist.ts';
export { checkTrajectoryEfficiency } from './trajectory-efficiency.ts';
export type { EfficiencyOptions, TrajectoryEfficiency } from './trajectory-efficiency.ts';

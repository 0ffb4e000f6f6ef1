export { isScorerRunInputForAgent, isScorerRunOutputForAgent } from './agent-shape.ts';
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

import type {
  AgentInput,
  AgentMessage,
  AgentOutput,
  MessagePart,
  SystemMessage,
  ToolInvocation,
  ToolState,
} from '../../domain/trace/messages.ts';

/** Values that a caller passes with a run. */
export type TestRequestContext = Map<string, unknown>;

export interface TestToolInvocation {
  toolCallId: string;
  toolName: string;
  args: unknown;
  result?: unknown;
  state?: ToolState;
  errorText?: string;
  isError?: boolean;
}

/** Creates a stored message with one text part, or with the given parts. */
export function createTestMessage(options: {
  content: string;
  role: AgentMessage['role'];
  id?: string;
  toolInvocations?: readonly TestToolInvocation[];
  parts?: MessagePart[];
}): AgentMessage {
  const { content, role, id = 'test-message', toolInvocations = [], parts } = options;
  return {
    id,
    role,
    content: {
      format: 2,
      parts: parts ?? [{ type: 'text', text: content }],
      content,
      ...(toolInvocations.length === 0
        ? {}
        : {
            toolInvocations: toolInvocations.map(
              ({ toolCallId, toolName, args, result, state = 'result' }) => ({
                toolCallId,
                toolName,
                args,
                result,
                state,
              }),
            ),
          }),
    },
    createdAt: new Date(),
  };
}

/** Creates one tool invocation; it has an answer unless another state is given. */
export function createToolInvocation(options: TestToolInvocation): ToolInvocation {
  const { toolCallId, toolName, args, result, state = 'result', errorText, isError } = options;
  return {
    toolCallId,
    toolName,
    args,
    state,
    ...(result === undefined ? {} : { result }),
    ...(errorText === undefined ? {} : { errorText }),
    ...(isError === undefined ? {} : { isError }),
  };
}

/** Builds the input of an agent scorer's `run`. */
export function createAgentTestRun(options: {
  inputMessages?: AgentMessage[];
  output: AgentOutput;
  rememberedMessages?: AgentMessage[];
  systemMessages?: SystemMessage[];
  taggedSystemMessages?: Record<string, SystemMessage[]>;
  requestContext?: TestRequestContext;
  runId?: string;
}): { input: AgentInput; output: AgentOutput; requestContext: TestRequestContext; runId: string } {
  const { inputMessages = [], rememberedMessages = [], systemMessages = [] } = options;
  return {
    input: {
      inputMessages,
      rememberedMessages,
      systemMessages,
      taggedSystemMessages: options.taggedSystemMessages ?? {},
    },
    output: options.output,
    requestContext: options.requestContext ?? new Map<string, unknown>(),
    runId: options.runId ?? crypto.randomUUID(),
  };
}

/** Builds the input of a trajectory scorer's `run`. */
export function createTrajectoryTestRun<TTrajectory>(options: {
  trajectory: TTrajectory;
  expectedTrajectory?: unknown;
  input?: AgentInput;
  requestContext?: TestRequestContext;
  runId?: string;
}): {
  input: AgentInput | undefined;
  output: TTrajectory;
  expectedTrajectory: unknown;
  requestContext: TestRequestContext;
  runId: string;
} {
  return {
    input: options.input,
    output: options.trajectory,
    expectedTrajectory: options.expectedTrajectory,
    requestContext: options.requestContext ?? new Map<string, unknown>(),
    runId: options.runId ?? crypto.randomUUID(),
  };
}

/** Creates a run of plain texts: one user message and one answer. */
export function createTestRun(
  input: string,
  output: string,
  additionalContext: Record<string, unknown> = {},
  requestContext: Record<string, unknown> = {},
): {
  input: { role: 'user'; content: string }[];
  output: { role: 'assistant'; text: string };
  additionalContext: Record<string, unknown>;
  requestContext: TestRequestContext;
} {
  return {
    input: [{ role: 'user', content: input }],
    output: { role: 'assistant', text: output },
    additionalContext,
    requestContext: new Map(Object.entries(requestContext)),
  };
}

/**
 * The agent message format that scorers take (format 2 of Mastra's message store): what `type: 'agent'` scorers get as
 * `run.input` and `run.output`.
 */

export type ToolState =
  | 'partial-call'
  | 'call'
  | 'result'
  | 'output-error'
  | 'output-denied'
  | 'approval-requested'
  | 'approval-responded';

export interface ToolInvocation {
  toolCallId: string;
  toolName: string;
  args: unknown;
  state: ToolState;
  step?: number;
  /** Present in state `result` only. */
  result?: unknown;
  /** Present in state `output-error`. */
  errorText?: string;
  isError?: boolean;
  rawInput?: unknown;
  approval?: unknown;
}

export interface TextPart {
  type: 'text';
  text: string;
}
export interface ReasoningPart {
  type: 'reasoning';
  reasoning: string;
  details: ({ type: 'text'; text: string; signature?: string } | { type: 'redacted'; data: string })[];
}
export interface ToolInvocationPart {
  type: 'tool-invocation';
  toolInvocation: ToolInvocation;
  providerExecuted?: boolean;
  /** Only in spanscore: marks a transfer between agents, which is no evidence. */
  handoff?: boolean;
  /** Only in spanscore: type of the error that the span of the tool names. */
  errorType?: string;
}
export interface FilePart {
  type: 'file';
  mimeType: string;
  /** A URL, a data URL or base64. */
  data: string;
}
export interface OtherPart {
  type: 'step-start' | 'error' | 'source' | 'source-document' | `data-${string}`;
  [key: string]: unknown;
}
export type MessagePart = TextPart | ReasoningPart | ToolInvocationPart | FilePart | OtherPart;

export interface MessageContent {
  format: 2;
  parts: MessagePart[];
  /** The final text of the message. */
  content?: string;
  /** Calls and results; a failed call is in `parts` only. */
  toolInvocations?: ToolInvocation[];
  reasoning?: string;
  metadata?: Record<string, unknown>;
  [key: string]: unknown;
}

export interface AgentMessage {
  id: string;
  role: 'user' | 'assistant' | 'system' | 'signal';
  createdAt: Date;
  threadId?: string;
  resourceId?: string;
  type?: string;
  content: MessageContent;
}

export interface SystemMessage {
  role: 'system';
  content: string | { type: 'text'; text: string }[];
}

/** `run.input` of scorers of `type: 'agent'`. */
export interface AgentInput {
  inputMessages: AgentMessage[];
  rememberedMessages: AgentMessage[];
  systemMessages: SystemMessage[];
  taggedSystemMessages: Record<string, SystemMessage[]>;
}

/** `run.output` of scorers of `type: 'agent'`. */
export type AgentOutput = AgentMessage[];

/** Tools by which a framework makes the model return its answer: their arguments are output, not evidence. */
export const ANSWER_TOOLS: ReadonlySet<string> = new Set(['final_result', 'final_answer', 'finish']);

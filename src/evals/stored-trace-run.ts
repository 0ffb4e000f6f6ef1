import { InvalidInputError } from '../domain/errors.ts';
import type {
  AgentInput,
  AgentMessage,
  AgentOutput,
  MessagePart,
  ToolInvocation,
} from '../domain/trace/messages.ts';
import type { TraceSpan } from './trajectory/extract-trajectory-from-trace.ts';
import { isObject } from '../domain/unknown-values.ts';

/** The run of an agent in the form that scorers of type `agent` read. */
export interface StoredTraceRun {
  readonly input: AgentInput;
  readonly output: AgentOutput;
}

type Fields = Readonly<Record<string, unknown>>;
type Item = Fields & { readonly role: AgentMessage['role'] };

/**
 * Reads the agent run from a trace in the form of observability stores, by their own rules. The root must be an agent run with
 * an output and with a model generation directly below it. Question and answer are those of the root, the history is the input
 * of that first generation, the tools are those directly below the root. (Traces that spanscore receives are read by their
 * conventions instead, which find tools at any depth.) Throws `InvalidInputError` for any other trace.
 */
export function storedTraceRun(spans: readonly TraceSpan[]): StoredTraceRun {
  const root = findRoot(spans);
  const below = spans.filter(({ parentSpanId }) => parentSpanId === root.spanId);
  const generation = sortSpans(below).find(({ spanType }) => spanType === 'model_generation');
  if (generation === undefined) {
    throw new InvalidInputError(`Span "${root.spanId}" has no model generation right below it`);
  }
  const inputMessages = listMessages(root.input, toDate(root.startedAt));
  const [first] = inputMessages;
  const sent = listMessages(generation.input, toDate(generation.startedAt));
  return {
    input: {
      inputMessages,
      rememberedMessages: sent.filter(
        ({ role, content }) => role !== 'system' && content.content !== first?.content.content,
      ),
      systemMessages: sent
        .filter(({ role }) => role === 'system')
        .map(({ content }) => ({ role: 'system', content: content.content ?? '' })),
      taggedSystemMessages: {},
    },
    output: [
      buildAnswer(
        root,
        sortSpans(below)
          .filter(({ spanType }) => spanType === 'tool_call')
          .map(buildTool),
      ),
    ],
  };
}

function findRoot(spans: readonly TraceSpan[]): TraceSpan {
  const known = new Set<unknown>([null, ...spans.map(({ spanId }) => spanId)]);
  const orphan = spans.find(({ parentSpanId }) => !known.has(parentSpanId));
  if (orphan !== undefined) {
    throw new InvalidInputError(`The parent of span "${orphan.spanId}" is not in the trace`);
  }
  const root = spans.find(({ parentSpanId, spanType }) => parentSpanId === null && spanType === 'agent_run');
  if (root === undefined) {
    throw new InvalidInputError('The root of the trace is not the run of an agent');
  }
  if (!root.output) {
    throw new InvalidInputError(`Span "${root.spanId}" has no output`);
  }
  return root;
}

function sortSpans(spans: readonly TraceSpan[]): TraceSpan[] {
  return [...spans].sort((a, b) => toDate(a.startedAt).getTime() - toDate(b.startedAt).getTime());
}

/**
 * Lists messages. A text is one message of the user; in a list or in `{ messages }`, every entry with role and content is a
 * message.
 */
function listMessages(input: unknown, createdAt: Date): AgentMessage[] {
  if (typeof input === 'string') {
    return [buildMessage('user', input, createdAt)];
  }
  const list = Array.isArray(input) ? input : isObject(input) ? input['messages'] : undefined;
  return (Array.isArray(list) ? list : [])
    .filter((item): item is Item => isObject(item) && Boolean(item['role']) && Boolean(item['content']))
    .map(({ role, content }) => buildMessage(role, lastText(content), createdAt));
}

function buildMessage(role: AgentMessage['role'], text: string, createdAt: Date): AgentMessage {
  return { id: '', role, content: { format: 2, parts: [{ type: 'text', text }], content: text }, createdAt };
}

function lastText(content: unknown): string {
  if (!Array.isArray(content)) {
    return typeof content === 'string' ? content : '';
  }
  const text: unknown = content.filter(isObject).findLast(({ type }) => type === 'text')?.['text'];
  return typeof text === 'string' ? text : '';
}

function buildTool({ spanId, entityId, entityName, input, output }: TraceSpan): ToolInvocation {
  return {
    toolCallId: spanId,
    toolName: entityName ?? entityId ?? 'unknown',
    ...(entityId === undefined || entityId === null ? {} : { toolId: entityId }),
    args: input || {},
    result: output || {},
    state: 'result',
  };
}

function buildAnswer({ output, endedAt }: TraceSpan, toolInvocations: ToolInvocation[]): AgentMessage {
  const said = isObject(output) ? output['text'] : undefined;
  const text = typeof said === 'string' ? said : '';
  const calls: MessagePart[] = toolInvocations.map((toolInvocation) => ({
    type: 'tool-invocation',
    toolInvocation,
  }));
  const parts: MessagePart[] = text === '' ? calls : [...calls, { type: 'text', text }];
  return {
    id: '',
    role: 'assistant',
    content: { format: 2, parts, content: text, toolInvocations },
    createdAt: toDate(endedAt),
  };
}

/** Converts a time to a date; 1970 when the time is unknown. */
function toDate(time: TraceSpan['startedAt']): Date {
  const date = new Date(time ?? 0);
  return Number.isNaN(date.getTime()) ? new Date(0) : date;
}

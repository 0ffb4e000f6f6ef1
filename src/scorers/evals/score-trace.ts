import { InvalidInputError } from '../../domain/errors.ts';
import type { TraceSpan } from './trajectory.ts';
import type { Scorer } from './scorer.ts';
import type {
  AgentInput,
  AgentMessage,
  AgentOutput,
  MessagePart,
  ToolInvocation,
} from '../../domain/trace/messages.ts';
import { isObject } from '../../domain/unknown-values.ts';

/** A trace in the form in which observability stores keep it. */
export interface StoredTrace {
  readonly traceId: string;
  readonly spans: readonly TraceSpan[];
}

/** Span to score; default: the root of the trace. */
export interface TraceTarget {
  readonly trace: StoredTrace;
  readonly spanId?: string | undefined;
}

/** Score of a span in the form of a row of a score store. */
export interface TraceScoreRow {
  readonly runId: string;
  readonly scorerId: string;
  readonly traceId: string;
  readonly spanId: string;
  /** `TEST`: the score does not come from live traffic. */
  readonly source: 'TEST';
  readonly entityType: string;
  readonly entityId: string;
  readonly score: number;
  readonly reason?: unknown;
}

/** Result of a target. */
export type TraceOutcome = { readonly index: number; readonly traceId: string } & (
  | { readonly ok: true; readonly row: TraceScoreRow | null }
  | { readonly ok: false; readonly error: unknown }
);

export interface ScoreTracesResult {
  readonly scoredCount: number;
  readonly notScorableCount: number;
  readonly failedCount: number;
  /** Results in the order of the targets. */
  readonly results: readonly TraceOutcome[];
}

/** Default number of traces that are scored at a time. */
const CONCURRENCY = 3;

/**
 * Scores a trace from an observability store. A scorer of type `agent` gets the agent run of the trace, any other scorer the
 * input and output of the span. Returns null for a run that cannot be scored. Rejects when the span does not exist, when the
 * trace contains no agent run (`InvalidInputError`), and when the scorer fails.
 */
export async function scoreTrace({
  scorer,
  target,
}: {
  readonly scorer: Scorer;
  readonly target: TraceTarget;
}): Promise<TraceScoreRow | null> {
  const { trace } = target;
  const span = trace.spans.find(({ spanId, parentSpanId }) =>
    target.spanId === undefined ? parentSpanId === null : spanId === target.spanId,
  );
  if (span === undefined) {
    const wanted = target.spanId === undefined ? 'root span' : `span "${target.spanId}"`;
    throw new InvalidInputError(`Trace "${trace.traceId}" has no ${wanted}`);
  }
  const isOfAgents = (scorer as { type?: unknown }).type === 'agent';
  const { score, reason, runId } = await scorer.run({
    ...(isOfAgents ? storedTraceRun(trace.spans) : { input: span.input, output: span.output }),
    scoreSource: 'trace',
    targetScope: 'span',
    targetTraceId: trace.traceId,
    targetSpanId: span.spanId,
  });
  if (score === undefined) {
    return null;
  }
  return {
    runId: runId ?? '',
    scorerId: scorer.id,
    traceId: trace.traceId,
    spanId: span.spanId,
    source: 'TEST',
    entityType: span.spanType,
    entityId: span.entityId || span.entityName || 'unknown',
    score,
    ...(reason === undefined ? {} : { reason }),
  };
}

/**
 * Scores several traces, some of them at a time, and returns one outcome for each. A failure is an outcome, never a rejection.
 */
export async function scoreTraces({
  scorer,
  targets,
  concurrency = CONCURRENCY,
}: {
  readonly scorer: Scorer;
  readonly targets: readonly TraceTarget[];
  /** Targets at a time. Default 3. */
  readonly concurrency?: number;
}): Promise<ScoreTracesResult> {
  const results: TraceOutcome[] = [];
  const waiting = targets.entries();
  const work = async (): Promise<void> => {
    for (const [index, target] of waiting) {
      results[index] = await scoreOne(scorer, target, index);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(concurrency, targets.length)) }, work));
  const count = (is: (outcome: TraceOutcome) => boolean): number => results.filter(is).length;
  return {
    scoredCount: count((outcome) => outcome.ok && outcome.row !== null),
    notScorableCount: count((outcome) => outcome.ok && outcome.row === null),
    failedCount: count(({ ok }) => !ok),
    results,
  };
}

async function scoreOne(scorer: Scorer, target: TraceTarget, index: number): Promise<TraceOutcome> {
  const { traceId } = target.trace;
  try {
    return { index, traceId, ok: true, row: await scoreTrace({ scorer, target }) };
  } catch (error) {
    return { index, traceId, ok: false, error };
  }
}

/** The run of an agent in the form that scorers of type `agent` read. */
interface StoredTraceRun {
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
function storedTraceRun(spans: readonly TraceSpan[]): StoredTraceRun {
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

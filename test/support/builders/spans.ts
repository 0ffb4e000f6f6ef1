import { createHash } from 'node:crypto';
import type { LogRecord, Span, SpanEvent, TraceData } from '../../../src/domain/trace/span.ts';

/** 2026-11-21T07:05:18Z. */
const BASE = 1_795_244_718_000_000_000n;

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

/** Returns a 16-digit span id for a name, so that tests can use names. */
export function computeSpanId(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 16);
}

export interface SpanOptions {
  parent?: string;
  name?: string;
  scope?: string;
  /** Start in milliseconds after the trace's start. */
  at?: number;
  lasts?: number;
  error?: string;
  events?: SpanEvent[];
  traceId?: string;
  dropped?: number;
  resource?: Record<string, string>;
}

/** Builds a span with attributes as the store has them: objects and lists are JSON text. */
export function buildSpan(id: string, attributes: Record<string, unknown>, options: SpanOptions = {}): Span {
  const { parent, at = 0, lasts = 10, error } = options;
  const exception: SpanEvent[] =
    error === undefined
      ? []
      : [
          {
            timeUnixNano: BASE,
            name: 'exception',
            attributes: new Map([
              ['exception.type', 'Error'],
              ['exception.message', error],
            ]),
          },
        ];
  return {
    traceId: options.traceId ?? TRACE_ID,
    spanId: computeSpanId(id),
    parentSpanId: parent === undefined ? '' : computeSpanId(parent),
    traceState: '',
    name: options.name ?? id,
    kind: 'Internal',
    serviceName: 'shop',
    resourceAttributes: new Map(Object.entries({ 'service.name': 'shop', ...options.resource })),
    scopeName: options.scope ?? 'test',
    scopeVersion: '',
    attributes: lowered(attributes),
    startUnixNano: BASE + BigInt(at) * 1_000_000n,
    durationNano: BigInt(lasts) * 1_000_000n,
    statusCode: error === undefined ? 'Unset' : 'Error',
    statusMessage: error ?? '',
    events: [...(options.events ?? []), ...exception],
    links: [],
    droppedAttributesCount: options.dropped ?? 0,
  };
}

export function buildLog(
  span: string,
  eventName: string,
  attributes: Record<string, unknown>,
  at = 0,
): LogRecord {
  return {
    timeUnixNano: BASE + BigInt(at) * 1_000_000n,
    traceId: TRACE_ID,
    spanId: computeSpanId(span),
    severityText: '',
    severityNumber: 0,
    serviceName: 'shop',
    body: '',
    resourceAttributes: new Map(),
    scopeName: 'test',
    scopeVersion: '',
    attributes: lowered(attributes),
    eventName,
  };
}

function lowered(attributes: Record<string, unknown>): Map<string, string> {
  return new Map(
    Object.entries(attributes).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}

export function buildTrace(spans: readonly Span[], logs: readonly LogRecord[] = []): TraceData {
  return { traceId: TRACE_ID, spans, logs };
}

/** Builds a message of OpenTelemetry's GenAI conventions. */
export function chatMessage(role: string, ...parts: unknown[]): unknown {
  return {
    role,
    parts: parts.map((part) => (typeof part === 'string' ? { type: 'text', content: part } : part)),
  };
}

export function toolCall(id: string | null, name: string, args: unknown): unknown {
  return { type: 'tool_call', id, name, arguments: args };
}

export function toolResponse(id: string | null, response: unknown): unknown {
  return { type: 'tool_call_response', id, response };
}

/** Role of the message that consists of a part of this type. */
const ROLES: Readonly<Record<string, string>> = { tool_call: 'assistant', tool_call_response: 'tool' };

/** Lists messages. A text stands for a message of this role, and a part for a message of the role that sends it. */
function listMessages(said: unknown, role: string): unknown[] {
  return [said].flat().map((one: unknown) => {
    const sender = typeof one === 'string' ? role : ROLES[(one as { type?: string } | null)?.type ?? ''];
    return sender === undefined ? one : chatMessage(sender, one);
  });
}

/** Builds a model call of OpenTelemetry's GenAI conventions. Input and output are one message or several. */
export function chatSpan(
  id: string,
  content: { input?: unknown; output?: unknown; attributes?: Record<string, unknown> },
  options: SpanOptions = {},
): Span {
  const { input, output, attributes } = content;
  return buildSpan(
    id,
    {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      ...(input === undefined ? {} : { 'gen_ai.input.messages': listMessages(input, 'user') }),
      ...(output === undefined ? {} : { 'gen_ai.output.messages': listMessages(output, 'assistant') }),
      ...attributes,
    },
    options,
  );
}

export function agentSpan(
  id: string,
  attributes: Record<string, unknown> = {},
  options: SpanOptions = {},
): Span {
  return buildSpan(
    id,
    { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': id, ...attributes },
    options,
  );
}

export function toolSpan(
  id: string,
  call: { id?: string; name: string; args?: unknown; result?: unknown },
  options: SpanOptions = {},
): Span {
  return buildSpan(
    id,
    {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': call.name,
      ...(call.id === undefined ? {} : { 'gen_ai.tool.call.id': call.id }),
      ...(call.args === undefined ? {} : { 'gen_ai.tool.call.arguments': call.args }),
      ...(call.result === undefined ? {} : { 'gen_ai.tool.call.result': call.result }),
    },
    options,
  );
}

import { readTraces } from '../../../../src/conventions/index.ts';
import { readMessages } from '../../../../src/conventions/messages/read-messages.ts';
import { normaliseSpan } from '../../../../src/conventions/normalise-span.ts';
import type { SpanFacts } from '../../../../src/conventions/normalised-span.ts';
import type { LogRecord } from '../../../../src/domain/trace/span.ts';
import { type SpanOptions, buildSpan } from '../../builders/spans.ts';

/** Quirk: its number, a function that reads the value, and the expected value. */
export type Quirk = [quirk: string, actual: () => unknown, expected: unknown];

/** Reads the facts of one span. */
export function facts(
  attributes: Record<string, unknown>,
  options: SpanOptions = {},
  logs: LogRecord[] = [],
): SpanFacts {
  return normaliseSpan(buildSpan('s', attributes, options), logs).facts;
}

export function parts(value: unknown): unknown[] {
  return readMessages(value, 'user').flatMap((message) => message.parts);
}

export const RAIN = [{ type: 'text', text: 'Rain.' }];
export const CHAT = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' };

export function response(key: string): unknown {
  return { role: 'tool', parts: [{ type: 'tool_call_response', id: '1', [key]: { ok: true } }] };
}

export function json(
  key: string,
  value: unknown,
  ids = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) },
): unknown {
  const attributes = [
    { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
    { key: 'gen_ai.request.model', value: { stringValue: 'm' } },
    { key, value },
  ];
  const span = { ...ids, name: 'chat', startTimeUnixNano: '1', endTimeUnixNano: '2', attributes };
  return { resourceSpans: [{ scopeSpans: [{ scope: { name: 's' }, spans: [span] }] }] };
}

export function answersIn(request: unknown): string[] {
  return readTraces(request).flatMap(({ runs }) => runs.map((run) => run.output[0]?.content.content ?? ''));
}

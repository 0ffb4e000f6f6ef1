import type { LogRecord } from '../../domain/span.ts';
import { field, type Fields, firstField, isFields, parseStructure } from '../json.ts';

/** Scopes of the instrumentations whose events AWS's distribution of OpenTelemetry takes off the spans. */
export const SPLIT_SCOPES = [
  'strands.telemetry.tracer',
  'opentelemetry.instrumentation.langchain',
  'openinference.instrumentation.langchain',
] as const;

/** A message event by its name; its body, or the attributes that stand for it. */
export interface MessageEvent {
  name: string;
  body: Fields;
}

/**
 * The message events that AWS's distribution of OpenTelemetry (Bedrock AgentCore) took off a span and sent as one log record
 * named after the span's scope. Of several output messages the first is the model's; the others repeat results of tools.
 */
export function splitEvents({ body, eventName }: Pick<LogRecord, 'body' | 'eventName'>): MessageEvent[] {
  const parsed = isSplitScope(eventName) ? parseStructure(body)?.value : undefined;
  if (!isFields(parsed)) {
    return [];
  }
  const given = messagesIn(field(parsed, 'input')).map(({ role, content }) => ({
    name: `gen_ai.${role}.message`,
    body: readBody(content, 'content'),
  }));
  const answered = messagesIn(field(parsed, 'output')).slice(0, 1);
  return [
    ...given,
    ...answered.map(({ content }) => ({ name: 'gen_ai.choice', body: readBody(content, 'message') })),
  ];
}

export function isSplitScope(name: string): boolean {
  return SPLIT_SCOPES.some((scope) => scope === name);
}

function messagesIn(side: unknown): { role: string; content: unknown }[] {
  const list = isFields(side) ? field(side, 'messages') : undefined;
  return (Array.isArray(list) ? list.filter(isFields) : []).map((message) => ({
    role: String(field(message, 'role')),
    content: field(message, 'content'),
  }));
}

/** The event's attributes stand as the message's content, or the content itself does. */
function readBody(content: unknown, key: 'content' | 'message'): Fields {
  return isFields(content)
    ? { ...content, [key]: firstField(content, 'content', 'message') }
    : { [key]: content };
}

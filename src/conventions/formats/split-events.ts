import type { LogRecord } from '../../domain/span.ts';
import { field, type Fields, firstField, parseStructure } from '../json.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Scopes of the instrumentations whose events AWS's distribution of OpenTelemetry removes from the spans. */
export const SPLIT_SCOPES = [
  'strands.telemetry.tracer',
  'opentelemetry.instrumentation.langchain',
  'openinference.instrumentation.langchain',
] as const;

/** A message event by its name, with its body or the attributes that replace it. */
export interface MessageEvent {
  name: string;
  body: Fields;
}

/**
 * Reads the message events that AWS's distribution of OpenTelemetry (Bedrock AgentCore) removed from a span and sent as one log
 * record with the name of the span's scope. Of several output messages, the first is the model's; the others repeat results of
 * tools.
 */
export function splitEvents({ body, eventName }: Pick<LogRecord, 'body' | 'eventName'>): MessageEvent[] {
  const parsed = isSplitScope(eventName) ? parseStructure(body)?.value : undefined;
  if (!isRecord(parsed)) {
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
  const list = isRecord(side) ? field(side, 'messages') : undefined;
  return (Array.isArray(list) ? list.filter(isRecord) : []).map((message) => ({
    role: String(field(message, 'role')),
    content: field(message, 'content'),
  }));
}

/** Reads the body: the message's content is the attributes of the event, or the content itself. */
function readBody(content: unknown, key: 'content' | 'message'): Fields {
  return isRecord(content)
    ? { ...content, [key]: firstField(content, 'content', 'message') }
    : { [key]: content };
}

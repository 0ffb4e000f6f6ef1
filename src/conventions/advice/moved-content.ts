import type { Attributes, LogRecord, Span } from '../../domain/trace/span.ts';
import { isRecord } from '../../domain/unknown-values.ts';
import { hasKey } from '../attributes.ts';
import { field, recordsIn, structureIn } from '../json.ts';

/** True for a log record with content that AWS's distribution moved from a span: its event has the name of the span's scope. */
export function isMovedContent(log: Pick<LogRecord, 'eventName' | 'scopeName'>): boolean {
  return log.eventName !== '' && log.eventName === log.scopeName;
}

/** A value that was moved: what an attribute had, or all attributes of an event. */
export interface MovedValue {
  role: string;
  content: unknown;
}

type MovedSide = 'input' | 'output';

export function listMoved(body: unknown, side: MovedSide): MovedValue[] {
  const held = field(body, side);
  const list = field(held, 'messages');
  return recordsIn(list).map((message) => ({
    role: String(field(message, 'role')),
    content: field(message, 'content'),
  }));
}

/** Puts moved values, which have no names, back under the keys that they or the span show. What cannot be put back stays in the record. */
export function restoreContent(
  span: Span,
  logs: readonly LogRecord[],
): { span: Span; logs: readonly LogRecord[] } {
  const moved = logs.find(isMovedContent);
  const body = moved === undefined ? undefined : structureIn(moved.body);
  if (moved === undefined || !isRecord(body)) {
    return { span, logs };
  }
  const restored = new Map<string, string>();
  const rest: Partial<Record<MovedSide, { messages: MovedValue[] }>> = {};
  for (const side of ['input', 'output'] as const) {
    rest[side] = { messages: restoreSide(span.attributes, listMoved(body, side), side, restored) };
  }
  return {
    span: { ...span, attributes: new Map([...restored, ...span.attributes]) },
    logs: logs.map((log) => (log === moved ? { ...log, body: JSON.stringify(rest) } : log)),
  };
}

/** Keys that are left of OpenInference's content; its kind alone may stand on any span. */
const OPENINFERENCE = /^(llm\.(input|output)_messages\.|(input|output)\.mime_type$)/;

/** Adds the attributes of one side to `restored`, and returns the values that are none. */
function restoreSide(
  attributes: Attributes,
  values: readonly MovedValue[],
  side: MovedSide,
  restored: Map<string, string>,
): MovedValue[] {
  if (attributes.has('openinference.span.kind') && hasKey(attributes, OPENINFERENCE)) {
    return restoreOpenInference(attributes, values, side, restored);
  }
  return values.filter(({ role, content }) => {
    const key = typeof content === 'string' ? findKey(attributes, role, content, side) : undefined;
    if (key === undefined || typeof content !== 'string' || restored.has(key)) {
      return true;
    }
    restored.set(key, content);
    return false;
  });
}

function findKey(attributes: Attributes, role: string, content: string, side: MovedSide): string | undefined {
  const value = structureIn(content);
  if (Array.isArray(value)) {
    const isMessages = value.every((item) => isRecord(item) && Object.hasOwn(item, 'parts'));
    const isInstructions = role === 'system' && value.every((item) => isRecord(item));
    return isMessages ? `gen_ai.${side}.messages` : isInstructions ? 'gen_ai.system_instructions' : undefined;
  }
  return isRecord(value) && attributes.has('traceloop.entity.name') ? `traceloop.entity.${side}` : undefined;
}

/** Restores the value of the span, then the texts of the messages whose roles stayed on it. A message that asks for tools has no text. */
function restoreOpenInference(
  attributes: Attributes,
  values: readonly MovedValue[],
  side: MovedSide,
  restored: Map<string, string>,
): MovedValue[] {
  const texts = values.flatMap(({ content }) => (typeof content === 'string' ? [content] : []));
  const [value, ...messages] =
    attributes.has(`${side}.mime_type`) || texts.length === 1 ? texts : ['', ...texts];
  if (value !== undefined && value !== '') {
    restored.set(`${side}.value`, value);
  }
  const spoken = listSpoken(attributes, `llm.${side}_messages`);
  if (spoken.length === messages.length) {
    spoken.forEach((prefix, index) => restored.set(`${prefix}.content`, messages[index] ?? ''));
  }
  return [];
}

/** Lists the prefixes of the flattened messages without tool calls, in order. */
function listSpoken(attributes: Attributes, start: string): string[] {
  const keys = [...attributes.keys()].filter((key) => key.startsWith(`${start}.`));
  const indexes = keys.flatMap(
    (key) => /^\.(\d{1,6})\.message\.role$/.exec(key.slice(start.length))?.[1] ?? [],
  );
  return indexes
    .toSorted((a, b) => Number(a) - Number(b))
    .map((index) => `${start}.${index}.message`)
    .filter((prefix) => !keys.some((key) => key.startsWith(`${prefix}.tool_calls.`)));
}

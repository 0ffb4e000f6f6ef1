import type { AgentMessage, ToolInvocation } from '../../domain/trace/messages.ts';
import { isObject } from '../../domain/unknown-values.ts';

/** A tool invocation from unchecked data. */
export type LooseInvocation = Partial<ToolInvocation> & Record<string, unknown>;

/**
 * Lists the tool invocations of a message in order, from its parts and from `content.toolInvocations`. An invocation in both is
 * read from the parts, which mark failures. An invocation in the list only is put before the next one that is in both.
 */
export function mergeToolInvocations(message: unknown): LooseInvocation[] {
  const content = isObject(message) ? message['content'] : undefined;
  if (!isObject(content)) {
    return [];
  }
  const fromParts = asRecords(content['parts'])
    .filter((part) => part['type'] === 'tool-invocation')
    .map((part) => part['toolInvocation'])
    .filter(isObject);
  const known = new Set(fromParts.map((invocation) => invocation['toolCallId']));
  const before = new Map<unknown, LooseInvocation[]>();
  let waiting: LooseInvocation[] = [];
  for (const invocation of asRecords(content['toolInvocations'])) {
    const id = invocation['toolCallId'];
    if (id === undefined || !known.has(id)) {
      waiting.push(invocation);
    } else if (waiting.length > 0) {
      before.set(id, [...(before.get(id) ?? []), ...waiting]);
      waiting = [];
    }
  }
  const merged: LooseInvocation[] = [];
  for (const invocation of fromParts) {
    merged.push(...(before.get(invocation['toolCallId']) ?? []), invocation);
    before.delete(invocation['toolCallId']);
  }
  return [...merged, ...waiting];
}

/** Lists the tool invocations of all messages, in order. */
export function listToolInvocations(
  messages: readonly AgentMessage[] | readonly unknown[],
): LooseInvocation[] {
  return messages.flatMap((message) => mergeToolInvocations(message));
}

function asRecords(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

import type { Attributes } from '../../domain/trace/span.ts';
import { readText } from '../attributes.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { NormalMessage } from '../normalised-span.ts';

interface Block {
  type: string;
  text: string | undefined;
  url: string | undefined;
}

interface Call {
  id: string | undefined;
  name: string | undefined;
  arguments: string | undefined;
}

interface Flat {
  fields: Map<string, string>;
  blocks: Map<number, Block>;
  calls: Map<number, Call>;
}

/**
 * Rebuilds messages that were flattened into one attribute per field (`llm.input_messages.3.message.role`). Indexes may have
 * gaps and come in any order; an attribute without a value is ignored. LangChain's instrumentation flattens a message of
 * content blocks to its role alone: such a message is taken from `whole`, the same messages in another form.
 */
export function flattenedMessages(
  attributes: Attributes,
  prefix: 'llm.input_messages' | 'llm.output_messages',
  whole: readonly NormalMessage[] = [],
): NormalMessage[] {
  const flat = new Map<number, Flat>();
  for (const key of attributes.keys()) {
    const match = key.startsWith(prefix)
      ? /^\.(\d{1,6})\.message\.(.+)$/.exec(key.slice(prefix.length))
      : null;
    const value = match === null ? undefined : readText(attributes, key);
    if (match !== null && value !== undefined) {
      const index = Number(match[1]);
      const message = flat.get(index) ?? { fields: new Map(), blocks: new Map(), calls: new Map() };
      flat.set(index, message);
      setField(message, match[2] ?? '', value);
    }
  }
  const defaultRole = prefix === 'llm.output_messages' ? 'assistant' : 'user';
  const messages = sortByIndex(flat);
  const filled = fillHollow(messages, whole);
  return messages.flatMap((message) => filled.get(message) ?? toMessages(message, defaultRole));
}

/** Replaces every message that has a role and nothing else, when both forms have the same number of messages of that role. */
function fillHollow(messages: readonly Flat[], whole: readonly NormalMessage[]): Map<Flat, NormalMessage> {
  const filled = new Map<Flat, NormalMessage>();
  if (!messages.some(isHollow)) {
    return filled;
  }
  const wholeByRole = Map.groupBy(whole, ({ role }): string => role);
  for (const [role, group] of Map.groupBy(messages, ({ fields }) => fields.get('role') ?? '')) {
    const found = wholeByRole.get(role) ?? [];
    group.forEach((message, index) => {
      const same = found.length === group.length && isHollow(message) ? found[index] : undefined;
      if (same !== undefined) {
        filled.set(message, same);
      }
    });
  }
  return filled;
}

function isHollow({ fields, blocks, calls }: Flat): boolean {
  return blocks.size === 0 && calls.size === 0 && fields.size === 1 && fields.has('role');
}

function sortByIndex<T>(items: ReadonlyMap<number, T>): T[] {
  return [...items].sort(([a], [b]) => a - b).map(([, item]) => item);
}

function setField(message: Flat, path: string, value: string): void {
  const text = /^content\.(\d{1,6})$/.exec(path);
  const block = /^contents\.(\d{1,6})\.message_content\.(.+)$/.exec(path);
  const call = /^tool_calls\.(\d{1,6})\.tool_call\.(.+)$/.exec(path);
  if (text !== null) {
    message.blocks.set(Number(text[1]), { type: 'text', text: value, url: undefined });
  } else if (block !== null) {
    const index = Number(block[1]);
    const known = message.blocks.get(index) ?? { type: 'text', text: undefined, url: undefined };
    message.blocks.set(index, withBlockField(known, block[2] ?? '', value));
  } else if (call !== null) {
    const index = Number(call[1]);
    const known = message.calls.get(index) ?? { id: undefined, name: undefined, arguments: undefined };
    message.calls.set(index, withCallField(known, call[2] ?? '', value));
  } else {
    message.fields.set(path, value);
  }
}

function withBlockField(block: Block, name: string, value: string): Block {
  if (name === 'type' || name === 'text') {
    return { ...block, [name]: value };
  }
  return name.endsWith('.url') ? { ...block, url: value } : block;
}

function withCallField(call: Call, name: string, value: string): Call {
  switch (name) {
    case 'id':
      return { ...call, id: value };
    case 'function.name':
      return { ...call, name: value };
    case 'function.arguments':
      return { ...call, arguments: value };
    default:
      return call;
  }
}

function toMessages({ fields, blocks, calls }: Flat, defaultRole: 'assistant' | 'user'): NormalMessage[] {
  const content = fields.get('content');
  const parts = sortByIndex(blocks).map(toPart);
  const isRepeated = parts.some((part) => part['text'] === content);
  const all = content === undefined || isRepeated ? parts : [{ type: 'text', text: content }, ...parts];
  const onlyReasoning = parts.length > 0 && parts.every((part) => part['type'] === 'reasoning');
  const role = fields.get('role') ?? (onlyReasoning || calls.size > 0 ? 'assistant' : defaultRole);
  const asked = [...sortByIndex(calls), legacyCall(fields)].filter((call) => call.name !== undefined);
  const toolContent = content ?? fields.get('function.0');
  return readMessages(
    [
      {
        role,
        content: role === 'tool' || role === 'function' ? toolContent : all,
        tool_calls: asked.map(({ id, ...called }) => ({ id, function: called })),
        tool_call_id: fields.get('tool_call_id'),
        name: role === 'tool' || role === 'function' ? fields.get('name') : undefined,
      },
    ],
    defaultRole,
  );
}

function legacyCall(fields: ReadonlyMap<string, string>): Call {
  return {
    id: undefined,
    name: fields.get('function_call_name'),
    arguments: fields.get('function_call_arguments_json'),
  };
}

function toPart({ type, text, url }: Block): Record<string, string | undefined> {
  if (url !== undefined) {
    return { type: 'uri', modality: type, uri: url };
  }
  return { type: type === 'reasoning' || type === 'summary_text' ? 'reasoning' : 'text', text };
}

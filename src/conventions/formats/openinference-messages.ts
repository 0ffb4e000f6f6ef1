import type { Attributes } from '../../domain/trace/span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';
import { field, type Fields, listIn, readFields, recordsIn } from '../json.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { NormalMessage } from '../normalised-span.ts';
import { gatherList } from '../shape/carriers.ts';

/**
 * Rebuilds messages that were flattened into one attribute per field (`llm.input_messages.3.message.role`). LangChain's
 * instrumentation flattens a message of content blocks to its role alone: such a message is taken from `whole`, the same
 * messages in another form.
 */
export function flattenedMessages(
  attributes: Attributes,
  prefix: 'llm.input_messages' | 'llm.output_messages',
  whole: readonly NormalMessage[] = [],
): NormalMessage[] {
  const messages = gatherList(attributes, prefix, 'message.').map((item) =>
    readFields(field(item, 'message')),
  );
  const filled = fillHollow(messages, whole);
  const defaultRole = prefix === 'llm.output_messages' ? 'assistant' : 'user';
  return messages.flatMap((message) => filled.get(message) ?? toMessages(message, defaultRole));
}

/** Replaces every message that has a role and nothing else, when both forms have the same number of messages of that role. */
function fillHollow(
  messages: readonly Fields[],
  whole: readonly NormalMessage[],
): Map<Fields, NormalMessage> {
  const filled = new Map<Fields, NormalMessage>();
  if (!messages.some(isHollow)) {
    return filled;
  }
  const wholeByRole = Map.groupBy(whole, ({ role }): string => role);
  for (const [role, group] of Map.groupBy(messages, (message) => textOrUndefined(field(message, 'role')))) {
    const found = wholeByRole.get(role ?? '') ?? [];
    group.forEach((message, index) => {
      const same = found.length === group.length && isHollow(message) ? found[index] : undefined;
      if (same !== undefined) {
        filled.set(message, same);
      }
    });
  }
  return filled;
}

function isHollow(message: Fields): boolean {
  return Object.keys(message).join() === 'role';
}

function toMessages(message: Fields, defaultRole: 'assistant' | 'user'): NormalMessage[] {
  const content = textOrUndefined(field(message, 'content'));
  const parts = [
    ...listIn(field(message, 'content')).map((text) => ({ type: 'text', text })),
    ...recordsIn(field(message, 'contents')).map((block) =>
      toPart(readFields(field(block, 'message_content'))),
    ),
  ];
  const isRepeated = parts.some((part) => field(part, 'text') === content);
  const onlyReasoning = parts.length > 0 && parts.every((part) => part.type === 'reasoning');
  const calls = recordsIn(field(message, 'tool_calls')).map((item) => field(item, 'tool_call'));
  const named = textOrUndefined(field(message, 'role'));
  const role = named ?? (onlyReasoning || calls.length > 0 ? 'assistant' : defaultRole);
  const isTool = role === 'tool' || role === 'function';
  const legacy = {
    name: field(message, 'function_call_name'),
    arguments: field(message, 'function_call_arguments_json'),
  };
  const all = content === undefined || isRepeated ? parts : [{ type: 'text', text: content }, ...parts];
  const asked = calls.map((call) => ({ id: field(call, 'id'), function: field(call, 'function') }));
  return readMessages(
    [
      {
        role,
        content: isTool ? (content ?? listIn(field(message, 'function'))[0]) : all,
        tool_calls: [...asked, { function: legacy }].filter(
          (call) => field(call.function, 'name') !== undefined,
        ),
        tool_call_id: field(message, 'tool_call_id'),
        name: isTool ? field(message, 'name') : undefined,
      },
    ],
    defaultRole,
  );
}

function toPart(block: Fields): { type: string; [name: string]: unknown } {
  const type = textOrUndefined(field(block, 'type')) ?? 'text';
  const uri = urlIn(block);
  return uri === undefined
    ? {
        type: type === 'reasoning' || type === 'summary_text' ? 'reasoning' : 'text',
        text: field(block, 'text'),
      }
    : { type: 'uri', modality: type, uri };
}

/** Finds the address of an image or a sound, which is inside of objects with its kind. */
function urlIn(block: Fields): unknown {
  const inner = Object.values(block).filter(isRecord);
  return inner.map((one) => field(one, 'url') ?? urlIn(one)).find((url) => url !== undefined);
}

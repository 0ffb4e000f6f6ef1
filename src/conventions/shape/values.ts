import { field, type Fields, firstField, listIn, parseIfText } from '../json.ts';
import { fromLangChain } from '../messages/common-messages.ts';
import { answerIn, argumentsIn, questionIn, requestIn, responseIn } from '../messages/payloads.ts';
import { openPrintedArguments, readPrintedObject } from '../messages/printed-items.ts';
import { answerParts, readMessages } from '../messages/read-messages.ts';
import type { NormalMessage, NormalPart } from '../normalised-span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

const ROLE_KEYS = ['role', 'author', 'speaker', 'sender', 'from', 'type'];
const CONTENT_KEYS = 'content parts blocks text message body value utterance payload'.split(' ');
const CALLS_KEYS = ['tool_calls', 'toolCalls', 'function_calls', 'functionCalls', 'calls'];

/** Returns true for the text of a value that is missing. */
export function isEmptyText(text: string | undefined): boolean {
  return text !== undefined && /^(null|\[\]|\["(null)?"\])?$/.test(text);
}

/** Roles by the names that programs give them; readers of messages know the others. */
const ROLES = new Map([
  ['customer', 'user'],
  ['caller', 'user'],
  ['client', 'user'],
  ['bot', 'assistant'],
  ['agent', 'assistant'],
  ['llm', 'assistant'],
  ['observation', 'tool'],
  ['tool_result', 'tool'],
]);
const KNOWN_ROLES = new Set([
  ...ROLES.keys(),
  ...'system developer user human assistant ai model tool function'.split(' '),
]);

/** Returns the role that an item names; undefined for any other value. */
export function roleOf(item: Fields): string | undefined {
  for (const key of ROLE_KEYS) {
    const named = textOrUndefined(field(item, key))?.toLowerCase();
    if (named !== undefined && KNOWN_ROLES.has(named)) {
      return ROLES.get(named) ?? named;
    }
  }
  return undefined;
}

/** Converts an item with a role to the common shape; undefined for any other value. */
function toMessage(item: unknown): Fields | undefined {
  if (Array.isArray(item)) {
    const [role, content, ...more] = item as unknown[];
    return more.length === 0 && typeof role === 'string' ? toMessage({ role, content }) : undefined;
  }
  const printed = typeof item === 'string' ? readPrintedObject(item) : undefined;
  const fields = printed ?? item;
  return isRecord(fields) ? (fromLangChain(fields) ?? fromItem(fields)) : undefined;
}

function fromItem(item: Fields): Fields | undefined {
  const inner = field(item, 'message');
  const holder = isRecord(inner) ? { ...item, ...inner } : item;
  const role = roleOf(holder);
  const found = firstField(holder, ...CALLS_KEYS);
  const calls = Array.isArray(found) ? found.map(toCall) : undefined;
  const held = firstField(holder, ...CONTENT_KEYS);
  const content = isRecord(held) && held === inner ? undefined : held;
  return role === undefined || (held === undefined && calls === undefined)
    ? undefined
    : {
        ...holder,
        role,
        type: undefined,
        parts: undefined,
        text: undefined,
        content: Array.isArray(content)
          ? content.map(toPart)
          : role === 'tool'
            ? openPrintedArguments(content)
            : content,
        tool_calls: calls,
        tool_call_id: firstField(holder, ...CALL_IDS.slice(2)),
        name: firstField(holder, ...CALL_NAMES.slice(0, 3)),
      };
}

const CALL_IDS = ['id', 'ref', 'call_id', 'callId', 'toolCallId', 'tool_call_id'];
const CALL_NAMES = ['name', 'toolName', 'tool_name', 'tool', 'function', 'fn'];
const CALL_ARGUMENTS = ['arguments', 'args', 'input', 'parameters', 'params'];
const CALL_RESULTS = ['output', 'result', 'response', 'content'];

const CALL_PART = /^(tool|function)[-_]?(request|call|use)$/i;
const RESULT_PART = /^(tool|function)[-_]?(response|(call[-_]?)?result)$/i;

/** Converts a part whose kind is under another name than `type`, or that is one object under the name of a call or a result. */
function toPart(part: unknown): unknown {
  if (!isRecord(part) || typeof field(part, 'type') === 'string') {
    return part;
  }
  const [only = '', ...more] = Object.keys(part);
  const named = textOrUndefined(field(part, 'kind')) ?? textOrUndefined(field(part, 'part_kind'));
  const kind = named ?? (more.length === 0 ? only : '');
  const inner = named === undefined ? field(part, kind) : part;
  const isCall = CALL_PART.test(kind);
  if (!isRecord(inner) || !(isCall || RESULT_PART.test(kind))) {
    return named === undefined ? part : { ...part, type: named };
  }
  const origin = field(inner, 'origin');
  const id = firstField(isRecord(origin) ? origin : inner, ...CALL_IDS);
  const name = firstField(inner, ...CALL_NAMES);
  return isCall
    ? { type: 'tool_call', id, name, arguments: firstField(inner, ...CALL_ARGUMENTS) }
    : {
        type: 'tool_call_response',
        id,
        name,
        response: openPrintedArguments(firstField(inner, ...CALL_RESULTS)),
      };
}

function readPartList(value: unknown, role: 'user' | 'assistant'): NormalMessage[] | undefined {
  const items = Array.isArray(value) ? value.map(toPart) : [];
  const isList = items.every(
    (item) =>
      isRecord(item) &&
      (Object.hasOwn(item, 'type') ||
        (Object.keys(item).length === 1 && typeof field(item, 'text') === 'string')),
  );
  const messages = isList && items.length > 0 ? readMessages([{ role, content: items }], role) : [];
  return messages.length > 0 && messages.every(({ parts }) => parts.every(({ type }) => type !== 'data'))
    ? messages
    : undefined;
}

export function readCallList(value: unknown): NormalPart[] {
  const list = isRecord(value) ? [value] : listIn(value);
  return readMessages([{ role: 'assistant', tool_calls: list.map(toCall) }], 'assistant').flatMap(
    ({ parts }) => parts.filter((part) => part.type === 'tool-call' && part.name !== ''),
  );
}

/** Opens arguments that stand beside the name of their tool, or alone under `arguments`. */
export function openArguments(value: unknown, tool: string | undefined): unknown {
  const { arguments: alone, ...more } = isRecord(value) ? value : {};
  const isNamed = isRecord(value) && tool !== undefined && firstField(value, ...CALL_NAMES) === tool;
  const held = isNamed
    ? firstField(value, ...CALL_ARGUMENTS)
    : Object.keys(more).length === 0
      ? alone
      : undefined;
  const inner = parseIfText(held);
  return isRecord(inner) ? inner : argumentsIn(value);
}

export function openResult(value: unknown): unknown {
  const [key = '', ...more] = isRecord(value) ? Object.keys(value) : [];
  return isRecord(value) && more.length === 0 && key === 'output'
    ? value[key]
    : isRecord(value) && field(value, 'tool_call_id') !== undefined
      ? parseIfText(field(value, 'content') ?? value)
      : value;
}

function toCall(item: unknown): unknown {
  const held = firstField(item, 'tool_call', 'toolCall');
  const call = isRecord(held) ? held : item;
  if (!isRecord(call) || isRecord(field(call, 'function'))) {
    return call;
  }
  return {
    id: firstField(call, ...CALL_IDS),
    name: firstField(call, ...CALL_NAMES),
    arguments: firstField(call, ...CALL_ARGUMENTS),
  };
}

/** Most levels of objects that are opened to find a message. */
const MAX_OPENED = 3;

/** Finds the only message, or the only list of messages, that an object holds under any name. */
function heldIn(value: Fields, level = 1): unknown {
  const found = Object.values(value).flatMap((one): unknown[] => {
    const items = Array.isArray(one) ? (one as unknown[]) : [one];
    return items.length > 0 && items.every((item) => toMessage(item) !== undefined)
      ? [items]
      : isRecord(one) && level < MAX_OPENED
        ? [heldIn(one, level + 1) ?? []].filter((held) => !Array.isArray(held) || held.length > 0)
        : [];
  });
  return found.length === 1 ? found[0] : undefined;
}

/** Lists the messages of a value: a list, one message, or an object that has such a list; undefined for any other value. */
export function listMessages(value: unknown): Fields[] | undefined {
  const named = isRecord(value)
    ? firstField(value, 'messages', 'turns', 'history', 'conversation', 'items')
    : value;
  const inner = named ?? (isRecord(value) && roleOf(value) === undefined ? heldIn(value) : undefined);
  const items = Array.isArray(inner) ? (inner as unknown[]) : [value];
  const [first] = items;
  const list =
    items.length === 1 && Array.isArray(first) && typeof first[0] === 'object' ? (first as unknown[]) : items;
  const messages = list.map(toMessage);
  return list.length > 0 && messages.every((message) => message !== undefined) ? messages : undefined;
}

/** Reads what was asked. Text that cannot be read as messages stays as it was sent. */
export function readAsked(value: unknown, text: string | undefined): Asked {
  const messages = listMessages(value);
  if (messages !== undefined) {
    return { input: readMessages(messages, 'user') };
  }
  const given = isRecord(value) ? argumentsIn(value) : value;
  const texts = Array.isArray(given) ? (given as unknown[]) : [];
  const turns = listTurns(given);
  if (turns !== undefined) {
    return { input: readMessages(turns, 'user') };
  }
  const parts = readPartList(given, 'user');
  if (parts !== undefined) {
    return { input: parts };
  }
  const [only] = texts.length === 1 ? texts : [];
  const inner = listMessages(given);
  if (inner !== undefined) {
    return { input: readMessages(inner, 'user') };
  }
  const request = isRecord(given) ? requestIn(given) : { input: questionIn(textOrUndefined(only) ?? given) };
  return (request.input?.length ?? 0) === 0 && typeof value === 'string'
    ? { ...request, input: text === undefined ? undefined : readMessages(text, 'user') }
    : request;
}

/** Reads texts without roles as turns: the last is the user's, an even number begins with a system text. Undefined for any other value. */
export function listTurns(value: unknown): Fields[] | undefined {
  const texts = Array.isArray(value) ? (value as unknown[]) : [];
  return texts.length < 2 || !texts.every((one) => typeof one === 'string')
    ? undefined
    : texts.map((content, at) => {
        const isSystem = at === 0 && texts.length % 2 === 0;
        return { role: isSystem ? 'system' : (texts.length - at) % 2 === 1 ? 'user' : 'assistant', content };
      });
}

interface Asked {
  system?: string[];
  input?: NormalMessage[] | undefined;
}

/** Reads what was answered: the assistant's last messages, a response of a provider, or text. */
export function readAnswered(value: unknown, text: string | undefined): NormalPart[] | undefined {
  const messages = listMessages(value);
  if (messages !== undefined) {
    return splitTurn(readMessages(messages, 'assistant')).output;
  }
  const bare = readPartList(value, 'assistant');
  if (bare !== undefined) {
    return bare.flatMap(({ parts }) => parts);
  }
  const wrapped = firstField(value, 'outputs', 'output');
  const inner = isRecord(wrapped) || Array.isArray(wrapped) ? listMessages(wrapped) : undefined;
  if (inner !== undefined) {
    return splitTurn(readMessages(inner, 'assistant')).output;
  }
  const parts = isRecord(value) || Array.isArray(value) ? responseIn(value) : answerIn(value);
  return parts === undefined || parts.length === 0
    ? text === undefined
      ? undefined
      : answerParts(text)
    : parts;
}

/** Splits a conversation behind the last message of the user; all of it is output without one. */
export function splitTurn(messages: readonly NormalMessage[]): Conversation {
  return splitAfter(messages, ({ role }) => role === 'user' || role === 'system');
}

/** Splits the conversation of one model call before the assistant's last messages. */
export function splitCall(messages: readonly NormalMessage[]): Conversation {
  return splitAfter(messages, ({ role }) => role !== 'assistant');
}

interface Conversation {
  input: NormalMessage[];
  output: NormalPart[];
}

function splitAfter(
  messages: readonly NormalMessage[],
  isAsked: (message: NormalMessage) => boolean,
): Conversation {
  const asked = messages.findLastIndex(isAsked) + 1;
  return { input: messages.slice(0, asked), output: messages.slice(asked).flatMap(({ parts }) => parts) };
}

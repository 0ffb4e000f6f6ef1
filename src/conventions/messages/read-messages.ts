import { rolesOf } from '../attributes.ts';
import { field, type Fields, firstField } from '../json.ts';
import { fromLangChain, fromResponseItem, isDefinition, joinCalls } from './common-messages.ts';
import { BLOCK_KEYS, hasFailed, isTextOnly, PARTS, plainText, resultPart, textPart } from './part-reader.ts';
import { readPrintedItem } from './printed-items.ts';
import type { NormalMessage, NormalPart } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

const ROLES = rolesOf<NormalMessage['role']>({
  system: 'system developer',
  user: 'user human',
  assistant: 'assistant ai model',
  tool: 'tool function tool-response',
});

/** Reads any shape: a list of messages, an object with one (`messages`), one message, bare parts, or text (`defaultRole`); none without content. */
export function readMessages(value: unknown, defaultRole: NormalMessage['role']): NormalMessage[] {
  if (isRecord(value)) {
    const inner = firstField(value, 'messages');
    return Array.isArray(inner) ? readMessages(inner, defaultRole) : readMessage(value, defaultRole);
  }
  if (!Array.isArray(value)) {
    const parts = textPart(value);
    return parts.length === 0 ? [] : [{ role: defaultRole, parts }];
  }
  const loose: NormalPart[] = [];
  const messages: NormalMessage[] = [];
  const called = new Set<string>();
  for (const item of value) {
    if (isDefinition(item)) {
      continue;
    }
    const isMessage = typeof field(item, 'role') === 'string';
    const message = isMessage
      ? item
      : isRecord(item)
        ? (fromLangChain(item) ?? fromResponseItem(item))
        : undefined;
    if (message !== undefined) {
      const read = readMessage(message, defaultRole, called);
      messages.push(...read);
      const calls = read.flatMap(({ parts }) => parts).filter((part) => part.type === 'tool-call');
      calls.forEach(({ name }) => called.add(name));
    } else {
      loose.push(...readParts([item]));
    }
  }
  return loose.length === 0 ? messages : [...messages, { role: defaultRole, parts: loose }];
}

export function answerParts(value: unknown): NormalPart[] {
  return readMessages(value, 'assistant').flatMap(({ parts }) => parts);
}

function readMessage(
  message: Fields,
  defaultRole: NormalMessage['role'],
  called: ReadonlySet<string> = new Set(),
): NormalMessage[] {
  const role = findRole(message, called) ?? defaultRole;
  // OpenAI writes the words of a spoken answer beside a content that is null.
  const spoken = field(field(message, 'audio'), 'transcript');
  const held = firstField(message, 'parts', 'content', 'text') ?? spoken;
  const content = isRecord(held) && Array.isArray(field(held, 'parts')) ? field(held, 'parts') : held;
  if (isDefinition(content)) {
    return [];
  }
  if (role === 'tool' && (!hasBlocks(content) || isTextOnly(content))) {
    return readToolMessage(message, content, toolAsRole(message, called));
  }
  const parts = joinCalls(message, readParts(content));
  if (parts.length === 0) {
    return [];
  }
  const onlyResults = parts.every((part) => part.type === 'tool-result');
  return [{ role: onlyResults && role !== 'assistant' ? 'tool' : role, parts }];
}

/** Reads the message of a tool whose whole content is the result. */
function readToolMessage(message: Fields, content: unknown, tool: string | undefined): NormalMessage[] {
  const id = firstField(message, 'tool_call_id', 'toolCallId', 'id');
  const isEmpty = content === undefined || (Array.isArray(content) && !content.some(hasContent));
  if (isEmpty) {
    return [];
  }
  const result = isTextOnly(content) ? plainText(content) : content;
  const name = field(message, 'name') ?? tool;
  const failed = hasFailed(message) || field(message, 'status') === 'error';
  return [{ role: 'tool', parts: [resultPart({ id, name, result, failed })] }];
}

/** Finds the role. An unknown one is a tool's with the id of a call, or when it is the name of a tool that was called before. */
function findRole(message: Fields, called: ReadonlySet<string>): NormalMessage['role'] | undefined {
  const named = field(message, 'role');
  const known = typeof named === 'string' ? ROLES.get(named.toLowerCase()) : undefined;
  const isTool = known === undefined && typeof named === 'string';
  const id = isTool ? field(message, 'tool_call_id') : undefined;
  return isTool && (typeof id === 'string' || toolAsRole(message, called) !== undefined) ? 'tool' : known;
}

/** Returns the role when it is the name of a tool that an earlier message called. */
function toolAsRole(message: Fields, called: ReadonlySet<string>): string | undefined {
  const role = field(message, 'role');
  return typeof role === 'string' && called.has(role) ? role : undefined;
}

function readParts(content: unknown): NormalPart[] {
  if (Array.isArray(content)) {
    return content.flatMap((item: unknown) => (isRecord(item) ? readPart(item) : textPart(item)));
  }
  return isRecord(content) ? readPart(content) : textPart(content);
}

function readPart(part: Fields): NormalPart[] {
  const type = field(part, 'type');
  const reader = typeof type === 'string' ? PARTS.get(type) : undefined;
  if (reader !== undefined) {
    return reader(part).flatMap(openPrinted);
  }
  if (typeof type === 'string') {
    return [{ type: 'data', name: type, data: part }];
  }
  // Some emitters write every field of a block, the absent ones as null.
  const key = Object.keys(part).find((name) => BLOCK_KEYS.has(name) && (field(part, name) ?? null) !== null);
  const keyed = key === undefined ? undefined : PARTS.get(key);
  return keyed === undefined ? textPart(firstField(part, 'text', 'content') ?? part) : keyed(part);
}

/** Opens an item of a model's output that an emitter printed instead of converting it. */
function openPrinted(part: NormalPart): NormalPart[] {
  const item = part.type === 'text' ? readPrintedItem(part.text) : undefined;
  return item === undefined ? [part] : readMessages([item], 'assistant').flatMap(({ parts }) => parts);
}

const RESULT_KEYS = ['toolResult', 'functionResponse', 'function_response'];

function hasBlocks(content: unknown): boolean {
  return (
    Array.isArray(content) &&
    content.some(
      (item) =>
        isRecord(item) &&
        (PARTS.has(String(field(item, 'type'))) || RESULT_KEYS.some((key) => Object.hasOwn(item, key))),
    )
  );
}

/** True when a block has content; a text block without text is the rest of a hidden one. */
function hasContent(block: unknown): boolean {
  return (
    !isRecord(block) || field(block, 'type') !== 'text' || firstField(block, 'text', 'content') !== undefined
  );
}

/** Reads the texts of system instructions: bare text, parts or messages. */
export function readSystem(value: unknown): string[] {
  const messages = readMessages(value, 'system');
  return messages.map((message) => textIn(message.parts)).filter((text) => text !== '');
}

/** Joins all text of these parts without a separator, as the emitter had split it. */
export function textIn(parts: readonly NormalPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

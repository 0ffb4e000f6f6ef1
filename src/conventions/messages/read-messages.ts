import { rolesOf, readText } from '../attributes.ts';
import { field, type Fields, firstField, parseIfText, parseStructure } from '../json.ts';
import { fromLangChain, fromResponseItem, isDefinition, joinCalls } from './common-messages.ts';
import { BLOCK_KEYS, hasFailed, isTextOnly, PARTS, plainText, resultPart, textPart } from './part-reader.ts';
import { readPrintedItem } from './printed-items.ts';
import type { NormalMessage, NormalPart, CallPart, ResultPart, SpanView } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';
import type { OfferedTool } from '../../domain/trace/agent-run.ts';

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

/** Calls of one block of assistant messages, and the results after it. */
interface Block {
  calls: CallPart[];
  results: ResultPart[];
}

/**
 * Gives the calls and the results of a list of messages common ids. A result without an id belongs to the open calls of the
 * block of assistant messages before it, in order. A call whose id differs from its result's id takes that of the result: the
 * i-th call of a block goes with the i-th result after it, when nothing else in the list has their ids. Messages without such
 * parts stay as they are.
 */
export function bindResults(messages: NormalMessage[]): NormalMessage[] {
  const changes = new Map<NormalPart, NormalPart>();
  for (const block of listBlocks(messages)) {
    bindBlock(block, changes);
  }
  return changes.size === 0
    ? messages
    : messages.map((message) =>
        message.parts.some((part) => changes.has(part))
          ? { ...message, parts: message.parts.map((part) => changes.get(part) ?? part) }
          : message,
      );
}

function listBlocks(messages: readonly NormalMessage[]): Block[] {
  const blocks: Block[] = [];
  let block: Block = { calls: [], results: [] };
  for (const { role, parts } of messages) {
    if (role === 'assistant' && block.results.length > 0) {
      block = { calls: [], results: [] };
    }
    for (const part of parts) {
      if (part.type === 'tool-call') {
        block.calls.push(part);
      } else if (part.type === 'tool-result') {
        block.results.push(part);
      }
    }
    if (block.results.length > 0 && blocks.at(-1) !== block) {
      blocks.push(block);
    }
  }
  return blocks;
}

function bindBlock({ calls, results }: Block, changes: Map<NormalPart, NormalPart>): void {
  const answered = new Set(results.map(({ id }) => id));
  const asked = new Set(calls.map(({ id }) => id));
  const open = new Set(calls.filter(({ id }) => id === null || !answered.has(id)));
  for (const [index, result] of results.entries()) {
    const call =
      result.id === null
        ? [...open].find((one) => isNamed(one, result))
        : asked.has(result.id)
          ? undefined
          : calls[index];
    if (call === undefined || !open.has(call) || !isNamed(call, result)) {
      continue;
    }
    open.delete(call);
    if (result.id === null) {
      changes.set(result, { ...result, id: call.id, name: result.name ?? call.name });
    } else {
      changes.set(call, { ...call, id: result.id });
    }
  }
}

function isNamed(call: CallPart, { name }: ResultPart): boolean {
  return name === null || name === call.name;
}

/** Most tools of one run. */
const MAX_TOOLS = 256;
/** Deepest nesting of lists and wrappers around a definition. */
const MAX_WRAPPERS = 8;

/** Keys with the tools that a model was offered, alone or among the other parts of the request. */
const KEYS = [
  'gen_ai.tool.definitions',
  'gen_ai.request.available_tools',
  'ai.prompt.tools',
  'model_request_parameters',
  'llm.invocation_parameters',
  'gcp.vertex.agent.llm_request',
];

/** Names of the lists of tools inside a request, and of the wrappers around one definition. */
const LISTS = ['tools', 'function_tools', 'functions', 'functionDeclarations', 'function_declarations'];
const WRAPPERS = ['function', 'toolSpec', 'json_schema'];
const PARAMETERS = ['parameters', 'inputSchema', 'input_schema', 'parameters_json_schema', 'arguments'];

/** Lists the texts of a span that hold definitions of tools. They are parsed once a run, because each call repeats them. */
export function listToolTexts({ span, logs }: SpanView): string[] | undefined {
  const sources = [span, ...span.events, ...logs].map(({ attributes }) => attributes);
  const texts = sources.flatMap((source) => KEYS.flatMap((key) => readText(source, key) ?? []));
  const { attributes } = span;
  for (let at = 0; at < MAX_TOOLS; at++) {
    const schema = attributes.get(`llm.tools.${at}.tool.json_schema`);
    const name = attributes.get(`llm.request.functions.${at}.name`);
    if (schema !== undefined) {
      texts.push(schema);
    } else if (name !== undefined) {
      const [description, parameters, args] = ['description', 'parameters', 'arguments'].map((part) =>
        attributes.get(`llm.request.functions.${at}.${part}`),
      );
      texts.push(JSON.stringify({ name, description, parameters: parameters ?? args }));
    } else {
      break;
    }
  }
  return texts.length === 0 ? undefined : texts;
}

/** Reads the tools of texts, each name once: the first definition with parameters counts, else the first. */
export function readTools(texts: Iterable<string>): OfferedTool[] {
  const tools = new Map<string, OfferedTool>();
  for (const text of new Set(texts)) {
    for (const tool of listTools(parseStructure(text)?.value)) {
      const known = tools.get(tool.name);
      if (known === undefined || (known.parameters === undefined && tool.parameters !== undefined)) {
        tools.set(tool.name, { ...known, ...tool });
      }
    }
  }
  return [...tools.values()].slice(0, MAX_TOOLS);
}

function listTools(value: unknown, depth = 0): OfferedTool[] {
  if (depth > MAX_WRAPPERS) {
    return [];
  }
  if (Array.isArray(value)) {
    return (value as unknown[]).flatMap((item) => {
      const opened = parseIfText(item);
      return typeof opened === 'string' ? [{ name: opened }] : listTools(opened, depth + 1);
    });
  }
  if (!isRecord(value)) {
    return [];
  }
  const wrapped = WRAPPERS.map((name) => field(value, name)).find(isRecord);
  if (wrapped !== undefined) {
    return listTools(wrapped, depth + 1);
  }
  const lists = LISTS.map((name) => field(value, name)).filter(Array.isArray);
  if (lists.length > 0) {
    return lists.flatMap((list) => listTools(list, depth + 1));
  }
  const config = field(value, 'config');
  return isRecord(config) ? listTools(config, depth + 1) : readTool(value);
}

function readTool(value: Fields): OfferedTool[] {
  const name = field(value, 'name');
  if (typeof name !== 'string' || name === '') {
    return [];
  }
  const description = field(value, 'description');
  const given = parseIfText(firstField(value, ...PARAMETERS));
  const parameters = isRecord(given) ? (field(given, 'json') ?? field(given, 'jsonSchema') ?? given) : given;
  return [
    {
      name,
      ...(typeof description === 'string' && description !== '' ? { description } : {}),
      ...(parameters === undefined ? {} : { parameters }),
    },
  ];
}

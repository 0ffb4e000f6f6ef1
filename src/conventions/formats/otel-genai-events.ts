import { isMovedContent, listMoved, type MovedValue } from '../advice/moved-content.ts';
import { readStructure, readText } from '../attributes.ts';
import { field, type Fields, firstField, parseIfText, recordsIn, structureIn } from '../json.ts';
import { unwrapBlock } from '../messages/part-reader.ts';
import { argumentsIn, requestIn, responseIn } from '../messages/payloads.ts';
import { answerParts, readMessages, textIn } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, NormalPart, SpanFacts, SpanView } from '../normalised-span.ts';
import { splitCall } from '../shape/values.ts';
import type { LogRecord } from '../../domain/trace/span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/**
 * OpenTelemetry GenAI semantic conventions 1.28 to 1.36: one event per message, as log records or span events. In Pydantic AI 1
 * the events are a list in an attribute; on AWS all events of a span are in one log record. The role of the span comes from
 * `otel-genai`.
 */
export const otelGenaiEvents: Convention = {
  name: 'otel-genai-events',
  detect: ({ span, logs }) =>
    span.events.some((event) => isMessageEvent(event.name)) ||
    logs.some((log) => isMessageEvent(log.eventName) || isMovedContent(log)) ||
    LISTS.some((key) => span.attributes.get(key)?.includes('gen_ai.') === true) ||
    isNamelessList(span),
  read,
};

const ROLES = new Map<string, NormalMessage['role']>([
  ['gen_ai.system.message', 'system'],
  ['gen_ai.user.message', 'user'],
  ['gen_ai.assistant.message', 'assistant'],
  ['gen_ai.tool.message', 'tool'],
]);
const CHOICE = 'gen_ai.choice';
/** Event of Logfire with an item of the Responses API that is no message. */
const ITEM = 'gen_ai.unknown';

/** Attributes with all events as one JSON list. */
const LISTS = ['events', 'all_messages_events'] as const;

function isMessageEvent(name: string): boolean {
  return name === CHOICE || ROLES.has(name);
}

/** True for a list of events without names, which older Logfire makes of the records of a model call. */
function isNamelessList({ attributes }: SpanView['span']): boolean {
  return attributes.has('gen_ai.operation.name') && attributes.get('events')?.startsWith('[{') === true;
}

function read(view: SpanView): SpanFacts {
  const events = listEvents(view);
  if (view.span.attributes.get('gen_ai.operation.name') === 'execute_tool') {
    return toolFacts(events);
  }
  const facts = messageFacts(events);
  const isOneList = LISTS.some((key) => view.span.attributes.has(key)) && facts.output === undefined;
  // One list has the answer behind the question: it follows the last message of the user or of a tool.
  const { input, output } = splitCall(facts.input ?? []);
  return isOneList && view.span.statusCode !== 'Error' && output.length > 0
    ? { ...facts, input, output }
    : facts;
}

function listEvents(view: SpanView): MessageEvent[] {
  const { span, logs } = view;
  const onSpan = span.events.map((event) => ({
    name: event.name,
    body: readBody(event.attributes, undefined),
  }));
  const onLogs = logs.map((log) => ({ name: log.eventName, body: readBody(log.attributes, log.body) }));
  const listed = LISTS.flatMap((key) => {
    const list = readStructure(view, key);
    return recordsIn(list).map((body) => ({
      name: textOrUndefined(field(body, 'event.name')) ?? nameByContent(body),
      body,
    }));
  });
  const split = logs.flatMap(splitEvents);
  const sources = [onSpan, onLogs, listed, split].map((source) =>
    source.filter((event) => isMessageEvent(event.name) || event.name === ITEM),
  );
  return sources.find((source) => source.length > 0) ?? [];
}

/** Names an event without a name: one with a message is the choice, the role names any other. */
function nameByContent(body: Fields): string {
  return isRecord(field(body, 'message')) ? CHOICE : `gen_ai.${String(field(body, 'role'))}.message`;
}

/** Reads the body of a record, the JSON text that replaces it on a span event, or the attributes of the event. */
function readBody(attributes: SpanView['span']['attributes'], body: string | undefined): Fields {
  const text = body || readText(attributes, 'gen_ai.event.content');
  const parsed = structureIn(text);
  return isRecord(parsed) ? parsed : Object.fromEntries(attributes);
}

function messageFacts(events: readonly MessageEvent[]): SpanFacts {
  const input = events.flatMap(({ name, body, messages }) => {
    const role = ROLES.get(name);
    if (role !== undefined && messages !== undefined) {
      return messages;
    }
    if (name === ITEM) {
      return readMessages([field(body, 'data')], 'assistant');
    }
    return role === undefined ? [] : readEventMessages(body, role);
  });
  const choices = events.filter(
    ({ name, body }) => name === CHOICE && Number(field(body, 'index') ?? 0) === 0,
  );
  const output = choices.flatMap(
    ({ body, messages }) => messages?.flatMap(({ parts }) => parts) ?? choiceParts(body),
  );
  const finish = choices
    .map(({ body }) => field(body, 'finish_reason'))
    .find((reason) => typeof reason === 'string');
  const spoken = input.filter((message) => message.role !== 'system');
  const system = input.filter((message) => message.role === 'system').map((message) => textIn(message.parts));
  return {
    system: system.length === 0 ? undefined : system,
    input: spoken.length === 0 ? undefined : spoken,
    output: output.length === 0 ? undefined : output,
    finishReason: typeof finish === 'string' ? finish : undefined,
  };
}

function readEventMessages(body: Fields, role: NormalMessage['role']): NormalMessage[] {
  const content = field(body, 'content');
  const said = field(body, 'role') ?? field(content, 'role');
  return readMessages(
    [
      {
        role: typeof said === 'string' && said !== '' ? said : role,
        content: openContent(content),
        tool_calls: openContent(field(body, 'tool_calls')),
        tool_call_id: field(body, 'id'),
        name: field(body, 'name'),
        isError: firstField(body, 'isError', 'is_error'),
        status: field(body, 'status'),
      },
    ],
    role,
  ).filter((message) =>
    message.parts.some(
      (part) => part.type !== 'tool-result' || part.result !== undefined || part.errorText !== undefined,
    ),
  );
}

/** Reads the parts of a choice; calls are beside the message or inside it. */
function choiceParts(body: Fields): NormalPart[] {
  const message = openContent(firstField(body, 'message', 'content'));
  const inner: Fields = isRecord(message) ? message : { content: message };
  const calls = openContent(firstField(inner, 'tool_calls') ?? field(body, 'tool_calls'));
  const content = openContent(
    firstField(inner, 'content', 'parts') ?? (isRecord(message) ? blockIn(message) : undefined),
  );
  return answerParts([{ role: 'assistant', content, tool_calls: calls }]);
}

/** Returns a message that is itself one content block. */
function blockIn(message: Fields): unknown {
  const isMessage = field(message, 'role') !== undefined || field(message, 'tool_calls') !== undefined;
  return isBlock(message) && !isMessage ? message : undefined;
}

/** Parses blocks that came as JSON text; a text that only looks like JSON stays a text. */
function openContent(value: unknown): unknown {
  if (typeof value !== 'string') {
    return value;
  }
  const parsed = structureIn(value);
  const blocks = Array.isArray(parsed) ? parsed : [parsed];
  const isContent = blocks.every((block) => isRecord(block) && isBlock(block));
  return parsed !== undefined && isContent ? parsed : value;
}

const BLOCK_KEYS = 'type text role tool_calls toolUse toolResult function content reasoningContent'.split(
  ' ',
);

function isBlock(value: Fields): boolean {
  return BLOCK_KEYS.some((key) => Object.hasOwn(value, key));
}

/** Reads a tool's span: the tool message has the arguments, the choice has the result. */
function toolFacts(events: readonly MessageEvent[]): SpanFacts {
  const asked = events.find((event) => event.name === 'gen_ai.tool.message');
  const answered = events.find((event) => event.name === CHOICE);
  const id = [asked, answered]
    .map((event) => (event === undefined ? undefined : field(event.body, 'id')))
    .find(Boolean);
  const args = asked === undefined ? undefined : field(asked.body, 'content');
  const result = answered === undefined ? undefined : field(answered.body, 'message');
  return {
    toolCallId: typeof id === 'string' ? id : undefined,
    ...(args === undefined ? {} : { toolArgs: parseIfText(args) }),
    ...(result === undefined ? {} : { toolResult: unwrapBlock(parseIfText(result)) }),
  };
}

/** A message event by its name, with its body or the attributes that replace it. */
interface MessageEvent {
  name: string;
  body: Fields;
  /** The messages of the event, when its content was not a body but a moved attribute. */
  messages?: NormalMessage[];
}

/**
 * Reads the message events that AWS's distribution of OpenTelemetry (Bedrock AgentCore) removed from a span and sent as one log
 * record with the name of the span's scope. Inputs and outputs are two lists, in which each kind of event stands alone: the
 * order of the conversation is restored here.
 */
function splitEvents(log: LogRecord): MessageEvent[] {
  const parsed = isMovedContent(log) ? structureIn(log.body) : undefined;
  if (!isRecord(parsed)) {
    return [];
  }
  const given = listMoved(parsed, 'input').map(readGiven);
  const output = listMoved(parsed, 'output');
  const past = output.filter(isPast).map(({ content }) => ({
    name: 'gen_ai.assistant.message',
    body: readMovedBody(content, 'content'),
  }));
  const answers = output.filter(isAnswer);
  const answered = answers.length > 0 ? answers : output.filter(({ content }) => typeof content === 'string');
  return [...insertPast(given, past), ...answered.slice(0, 1).map(readAnswer)];
}

/** True for a message of the history, which stands among the outputs under the key of an input. */
function isPast({ content }: MovedValue): boolean {
  return isRecord(content) && !Object.hasOwn(content, 'message') && Object.hasOwn(content, 'content');
}

function isAnswer({ content }: MovedValue): boolean {
  return isRecord(content) && Object.hasOwn(content, 'message');
}

/** Roles of inputs; an input with another role is the user's. */
const GIVEN_ROLES = new Set(['system', 'user', 'assistant', 'tool']);

function readGiven({ role, content }: MovedValue): MessageEvent {
  const name = `gen_ai.${GIVEN_ROLES.has(role) ? role : 'user'}.message`;
  const value = openAttribute(content);
  return value === undefined
    ? { name, body: readMovedBody(content, 'content') }
    : { name, body: {}, messages: requestIn(isRecord(value) ? argumentsIn(value) : value).input ?? [] };
}

function readAnswer({ content }: MovedValue): MessageEvent {
  const name = 'gen_ai.choice';
  const value = openAttribute(content);
  if (value === undefined) {
    return { name, body: readMovedBody(content, 'message') };
  }
  const outputs = field(value, 'outputs');
  return { name, body: {}, messages: [{ role: 'assistant', parts: responseIn(outputs ?? value) ?? [] }] };
}

/** Parses the text of a moved attribute: messages, a request or response, or what a function got or returned; no words. */
function openAttribute(content: unknown): unknown {
  const value = typeof content === 'string' ? structureIn(content) : undefined;
  const isList = Array.isArray(value) && value.every((item) => isRecord(item) && Object.hasOwn(item, 'role'));
  const isWrapper = isRecord(value) && WRAPPERS.some((key) => Object.hasOwn(value, key));
  return isList || isWrapper ? value : undefined;
}

const WRAPPERS = ['inputs', 'outputs', 'messages', 'choices', 'generations', 'kwargs', 'args'];

/** Reads the body: the message's content is the attributes of the event, or the content itself. */
function readMovedBody(content: unknown, key: 'content' | 'message'): Fields {
  return isRecord(content)
    ? { ...content, [key]: firstField(content, 'content', 'message') }
    : { [key]: content };
}

/** Puts the assistant's messages into the inputs: before the result of its call, else before the question. */
function insertPast(given: readonly MessageEvent[], past: readonly MessageEvent[]): MessageEvent[] {
  const events = [...given];
  for (const event of past) {
    const ids = listCallIds(event.body);
    const result = events.findIndex(
      ({ name, body }) => name === 'gen_ai.tool.message' && hasResult(body, ids),
    );
    const question = events.findIndex(({ name }) => name === 'gen_ai.user.message');
    const place = result >= 0 ? result : question >= 0 ? question : events.length;
    events.splice(place, 0, event);
  }
  return events;
}

function listCallIds(body: Fields): string[] {
  return readContent(body).flatMap((part) =>
    part.type === 'tool-call' && part.id !== null ? [part.id] : [],
  );
}

function hasResult(body: Fields, ids: readonly string[]): boolean {
  return readContent(body).some((part) => part.type === 'tool-result' && ids.includes(part.id ?? ''));
}

function readContent(body: Fields): NormalMessage['parts'] {
  const content = field(body, 'content');
  const blocks = typeof content === 'string' ? structureIn(content) : content;
  return Array.isArray(blocks) ? answerParts(blocks) : [];
}

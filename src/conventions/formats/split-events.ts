import type { LogRecord } from '../../domain/trace/span.ts';
import { field, type Fields, firstField, structureIn } from '../json.ts';
import { argumentsIn } from '../messages/free-values.ts';
import { requestIn, responseIn } from '../messages/payloads.ts';
import { answerParts } from '../messages/read-messages.ts';
import { isMovedContent, listMoved, type MovedValue } from '../advice/moved-content.ts';
import type { NormalMessage } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** A message event by its name, with its body or the attributes that replace it. */
export interface MessageEvent {
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
export function splitEvents(log: LogRecord): MessageEvent[] {
  const parsed = isMovedContent(log) ? structureIn(log.body) : undefined;
  if (!isRecord(parsed)) {
    return [];
  }
  const given = listMoved(parsed, 'input').map(readGiven);
  const output = listMoved(parsed, 'output');
  const past = output.filter(isPast).map(({ content }) => ({
    name: 'gen_ai.assistant.message',
    body: readBody(content, 'content'),
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
    ? { name, body: readBody(content, 'content') }
    : { name, body: {}, messages: requestIn(isRecord(value) ? argumentsIn(value) : value).input ?? [] };
}

function readAnswer({ content }: MovedValue): MessageEvent {
  const name = 'gen_ai.choice';
  const value = openAttribute(content);
  if (value === undefined) {
    return { name, body: readBody(content, 'message') };
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
function readBody(content: unknown, key: 'content' | 'message'): Fields {
  return isRecord(content)
    ? { ...content, [key]: firstField(content, 'content', 'message') }
    : { [key]: content };
}

/**
 * Puts messages of the assistant into the inputs: one whose call has its result there stands before the result, any other before
 * the question.
 */
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

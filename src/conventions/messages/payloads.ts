import { field, type Fields, firstField, parseIfText, listIn } from '../json.ts';
import type { NormalMessage, NormalPart } from '../normalised-span.ts';
import { answerIn, questionIn } from './free-values.ts';
import { readMessages, readSystem } from './read-messages.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/**
 * Reads the question from a request in the form of a provider or framework: OpenAI's two APIs, Anthropic's, Gemini's,
 * LangChain's.
 */
export function requestIn(value: unknown): { system?: string[]; input?: NormalMessage[] | undefined } {
  const keyed = fromRoleKeys(value);
  if (keyed !== undefined) {
    return { input: readMessages(keyed, 'user') };
  }
  if (!isRecord(value)) {
    return { input: questionIn(value) };
  }
  const config = firstField(value, 'config', 'generationConfig');
  const instructions =
    firstField(value, 'instructions', 'system', 'systemInstruction', 'system_instruction') ??
    firstField(config, 'system_instruction', 'systemInstruction');
  const conversation = conversationIn(value);
  return {
    ...(instructions === undefined ? {} : { system: readSystem(instructions) }),
    input: conversation === undefined ? questionIn(value) : readMessages(conversation, 'user'),
  };
}

const ROLE_KEYS = new Set(['system', 'user', 'human', 'assistant', 'ai']);

/** Converts messages that have their role as their only key, as objects or JSON texts; undefined for any other value. */
export function fromRoleKeys(value: unknown): Fields[] | undefined {
  const items = (Array.isArray(value) ? (value as unknown[]) : [value]).map(parseIfText);
  const messages = items.flatMap((item) => {
    const [[role, content] = ['', undefined], ...more] = isRecord(item) ? Object.entries(item) : [];
    return ROLE_KEYS.has(role) && more.length === 0 ? [{ role, content }] : [];
  });
  return messages.length === items.length && messages.length > 0 ? messages : undefined;
}

/** Reads the conversation of LangChain, which sends a list with one conversation. */
function conversationIn(request: Fields): unknown[] | undefined {
  const list = firstField(request, 'messages', 'contents', 'input');
  if (!Array.isArray(list)) {
    return undefined;
  }
  const [first] = list as unknown[];
  return list.length === 1 && Array.isArray(first) ? first : list;
}

/** Reads the answer from a response in the form of a provider or framework; the first of several choices. */
export function responseIn(value: unknown): NormalPart[] | undefined {
  const keyed = fromRoleKeys(value);
  if (keyed !== undefined) {
    return readMessages(keyed, 'assistant').flatMap(({ role, parts }) => (role === 'assistant' ? parts : []));
  }
  if (!isRecord(value)) {
    return answerIn(value);
  }
  const choice = readFirst(field(value, 'choices')) ?? readFirst(readFirst(field(value, 'generations')));
  const held = isRecord(choice) ? (firstField(choice, 'message', 'text') ?? choice) : undefined;
  const items = field(value, 'output');
  const message = held ?? (Array.isArray(items) ? items : messageIn(value));
  if (message === undefined) {
    return answerIn(firstField(value, 'outputs') ?? value);
  }
  const list: unknown = isRecord(message) ? [message] : message;
  return readMessages(list, 'assistant').flatMap(({ role, parts }) => (role === 'assistant' ? parts : []));
}

function messageIn(value: Fields): unknown {
  const { content } = value;
  return isRecord(content) || (Array.isArray(content) && field(value, 'role') !== undefined)
    ? readContent(value)
    : undefined;
}

/** Reads the message: Gemini's response has it under `content`, Anthropic's response is the message. */
function readContent(value: Fields): unknown {
  const content = field(value, 'content');
  return isRecord(content) ? content : value;
}

function readFirst(list: unknown): unknown {
  return listIn(list)[0];
}

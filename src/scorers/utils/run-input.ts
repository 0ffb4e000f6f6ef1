import { isScorerRunInputForAgent } from './agent-shape.ts';
import { getTextContentFromMastraDBMessage, looseText, textParts } from './message-text.ts';
import { isObject } from '../../domain/unknown-values.ts';

/** Default number of remembered messages in the history. */
const DEFAULT_HISTORY_MESSAGES = 10;

/** Deepest nesting of input inside input that is read. */
const MAX_DEPTH = 16;

/** Returns the text of the first user message, or of any other value with a text. */
export function getUserMessageFromRunInput(input: unknown): string | undefined {
  return userText(input, 0);
}

function userText(input: unknown, depth: number): string | undefined {
  if (typeof input === 'string') {
    return input;
  }
  if (!isObject(input) || depth > MAX_DEPTH) {
    return undefined;
  }
  const lists = Array.isArray(input) ? [input] : [input['inputMessages'], input['messages']];
  const message = lists.flatMap(toList).find((candidate) => effectiveRole(candidate) === 'user');
  if (message !== undefined) {
    return looseText(message);
  }
  for (const field of ['prompt', 'text'] as const) {
    if (typeof input[field] === 'string') {
      return input[field];
    }
  }
  return looseText(input['content']) ?? userText(input['input'], depth + 1) ?? looseText(input['user']);
}

/** Lists the texts of all system messages: plain ones, those in the input, then tagged ones. */
export function getSystemMessagesFromRunInput(input: unknown): string[] {
  if (!isObject(input)) {
    return [];
  }
  const plain = toList(input['systemMessages']).map(systemText);
  const among = [...toList(input['inputMessages']), ...toList(input['messages'])]
    .filter((message) => isObject(message) && message['role'] === 'system')
    .map((message) => looseText(message));
  const groups = isObject(input['taggedSystemMessages']) ? Object.values(input['taggedSystemMessages']) : [];
  const tagged = groups.flatMap(toList).map((message) => looseText(message));
  return [...plain, ...among, ...tagged].filter((text) => text !== undefined && text !== '') as string[];
}

/** Joins all system messages, with a blank line between two. */
export function getCombinedSystemPrompt(input: unknown): string {
  return getSystemMessagesFromRunInput(input).join('\n\n');
}

/** Writes the last remembered messages, one `role: text` line each; undefined without any. */
export function getConversationHistoryFromRunInput(
  input: unknown,
  options: { readonly maxMessages?: number | undefined } = {},
): string | undefined {
  const maxMessages = options.maxMessages ?? DEFAULT_HISTORY_MESSAGES;
  if (!isScorerRunInputForAgent(input) || maxMessages <= 0) {
    return undefined;
  }
  const lines = input.rememberedMessages
    .slice(-maxMessages)
    .map((message) => ({ role: message.role, text: getTextContentFromMastraDBMessage(message).trim() }))
    .filter(({ text }) => text !== '')
    .map(({ role, text }) => `${role}: ${text}`);
  return lines.length === 0 ? undefined : lines.join('\n');
}

/** Lists the text of every input message. */
export function extractInputMessages(input: unknown): string[] {
  const messages = isObject(input) ? toList(input['inputMessages']) : [];
  return messages.map(getTextContentFromMastraDBMessage);
}

function systemText(message: unknown): string | undefined {
  const content = isObject(message) ? message['content'] : undefined;
  if (Array.isArray(content)) {
    return textParts(content).join(' ');
  }
  return typeof content === 'string' ? content : undefined;
}

/** Returns the role of a message; a signal message has the role in its metadata. */
function effectiveRole(message: unknown): unknown {
  if (!isObject(message) || message['role'] !== 'signal') {
    return isObject(message) ? message['role'] : undefined;
  }
  const content = isObject(message['content']) ? message['content'] : {};
  const metadata = isObject(content['metadata']) ? content['metadata'] : {};
  const signal = isObject(metadata['signal']) ? metadata['signal'] : {};
  return signal['tagName'] ?? signal['type'] ?? message['type'];
}

function toList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

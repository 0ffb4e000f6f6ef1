import type { AgentInput, AgentOutput } from '../../domain/trace/messages.ts';
import type { ScorerRunInput } from '../evals/scorer.ts';
import { isObject, textOrUndefined } from '../../domain/unknown-values.ts';
import { InvalidInputError } from '../../domain/errors.ts';

export type AgentRunInput = ScorerRunInput<AgentInput, AgentOutput>;

/** Input of scorers that need only question and answer: messages, or the two texts. */
export type AnswerRunInput = ScorerRunInput<AgentInput | string, AgentOutput | string>;

/** True for the input of an agent run: three lists of messages and the tagged system messages. */
export function isScorerRunInputForAgent(input: unknown): input is AgentInput {
  return (
    isObject(input) &&
    Array.isArray(input['inputMessages']) &&
    Array.isArray(input['rememberedMessages']) &&
    Array.isArray(input['systemMessages']) &&
    isObject(input['taggedSystemMessages']) &&
    !Array.isArray(input['taggedSystemMessages'])
  );
}

/** True for the output of an agent run: a list, possibly empty, of stored messages. */
export function isScorerRunOutputForAgent(output: unknown): output is AgentOutput {
  return (
    Array.isArray(output) &&
    output.every(
      (item) =>
        isObject(item) &&
        typeof item['id'] === 'string' &&
        typeof item['role'] === 'string' &&
        'content' in item &&
        'createdAt' in item,
    )
  );
}

/**
 * Reads the text of one message: string content unchanged, the last text part of array content, else `content.content`,
 * `content.text` or the last text part. '' without a text.
 */
export function getTextContentFromMastraDBMessage(message: unknown): string {
  const content = isObject(message) ? message['content'] : undefined;
  if (typeof content === 'string') {
    return content;
  }
  if (Array.isArray(content)) {
    return lastTextPart(content) ?? '';
  }
  if (!isObject(content)) {
    return '';
  }
  return (
    textOrUndefined(content['content']) ??
    textOrUndefined(content['text']) ??
    lastTextPart(content['parts']) ??
    ''
  );
}

/** Deepest nesting of content inside content that is read. */
const MAX_DEPTH = 16;

/** Finds the text of any value, at any depth: `content`, `text`, `body`, then parts. An empty text is skipped. */
function looseText(
  value: unknown,
  fields: readonly ('text' | 'body')[] = ['text', 'body'],
  depth = 0,
): string | undefined {
  if (typeof value === 'string') {
    return textOrUndefined(value);
  }
  if (Array.isArray(value)) {
    return lastTextPart(value);
  }
  if (!isObject(value) || depth > MAX_DEPTH) {
    return undefined;
  }
  const inner = looseText(value['content'], fields, depth + 1);
  const direct = fields.map((field) => textOrUndefined(value[field])).find((text) => text !== undefined);
  return inner ?? direct ?? lastTextPart(value['parts']);
}

/** Returns the text of the last text part; undefined without one. */
function lastTextPart(parts: unknown): string | undefined {
  return textParts(parts).at(-1);
}

/** Lists the texts of all text parts that are not empty. */
function textParts(parts: unknown): string[] {
  if (!Array.isArray(parts)) {
    return [];
  }
  return parts.flatMap((part) =>
    isObject(part) && part['type'] === 'text' ? (textOrUndefined(part['text']) ?? []) : [],
  );
}

/** Default number of remembered messages in the history. */
const DEFAULT_HISTORY_MESSAGES = 10;

/** Deepest nesting of input inside input that is read. */
const MAX_INPUT_DEPTH = 16;

/** Returns the text of the first user message, or of any other value with a text. */
export function getUserMessageFromRunInput(input: unknown): string | undefined {
  return userText(input, 0);
}

function userText(input: unknown, depth: number): string | undefined {
  if (typeof input === 'string') {
    return input;
  }
  if (!isObject(input) || depth > MAX_INPUT_DEPTH) {
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

/** Returns the answer: the text of the last assistant message that has text, or of a single message in any common shape. */
export function getAssistantMessageFromRunOutput(output: unknown): string | undefined {
  if (typeof output === 'string') {
    return output;
  }
  if (Array.isArray(output)) {
    return output
      .filter(isAssistant)
      .map((message) => looseText(message['content']) ?? looseText(message))
      .findLast((text) => text !== undefined);
  }
  if (!isObject(output) || (output['role'] !== undefined && output['role'] !== 'assistant')) {
    return undefined;
  }
  for (const field of ['text', 'content'] as const) {
    if (typeof output[field] === 'string') {
      return output[field];
    }
  }
  return looseText(output['content'], ['text']);
}

/** Returns the reasoning of the first assistant message; undefined without one. */
export function getReasoningFromRunOutput(output: unknown): string | undefined {
  const first = Array.isArray(output) ? output.find(isAssistant) : undefined;
  const content = first?.['content'];
  if (!isObject(content)) {
    return undefined;
  }
  if (typeof content['reasoning'] === 'string' && content['reasoning'] !== '') {
    return content['reasoning'];
  }
  const parts = Array.isArray(content['parts']) ? content['parts'] : [];
  const texts = parts.filter(isReasoning).map(reasoningText).filter(Boolean);
  return texts.length === 0 ? undefined : texts.join('\n');
}

/** Lists the text of every assistant message; '' for one without text. */
export function extractAgentResponseMessages(output: unknown): string[] {
  return Array.isArray(output) ? output.filter(isAssistant).map(getTextContentFromMastraDBMessage) : [];
}

function isAssistant(message: unknown): message is Record<string, unknown> {
  return isObject(message) && message['role'] === 'assistant';
}

function isReasoning(part: unknown): part is Record<string, unknown> {
  return isObject(part) && part['type'] === 'reasoning';
}

function reasoningText(part: Record<string, unknown>): string {
  const { details } = part;
  if (Array.isArray(details)) {
    return details
      .filter((detail) => isObject(detail) && detail['type'] === 'text')
      .map((detail) => ((detail as Record<string, unknown>)['text'] as string | undefined) ?? '')
      .join('');
  }
  return typeof part['reasoning'] === 'string' ? part['reasoning'] : '';
}

/** Reads the run's answer; '' for a run without output. Throws `InvalidInputError` for an output without a readable answer. */
export function readAnswer({ output }: ScorerRunInput): string {
  const answer = getAssistantMessageFromRunOutput(output);
  // An answer that cannot be read is not one that says nothing: that would be a perfect one to many scorers.
  if (answer === undefined && output !== undefined && output !== null && !isMessageLike(output)) {
    throw new InvalidInputError(
      'run.output must be a text, messages of an agent or one message of an assistant: no answer can be read from it',
    );
  }
  return answer ?? '';
}

function isMessageLike(output: unknown): boolean {
  return (
    Array.isArray(output) ||
    (isObject(output) && ('role' in output || 'content' in output || 'text' in output))
  );
}

/** Reads the text of the user's question; '' for a run without a user message. */
export function readQuestion({ input }: ScorerRunInput): string {
  return getUserMessageFromRunInput(input) ?? '';
}

/** Separator between the texts of two messages. */
const SEPARATOR = ', ';

/** Reads the text of all input messages; '' for a run without input. */
export function readInputText({ input }: ScorerRunInput): string {
  if (input === undefined || input === null) {
    return '';
  }
  if (!isObject(input) || !Array.isArray(input['inputMessages'])) {
    throw new InvalidInputError('run.input must be the input of an agent run: { inputMessages: […], … }');
  }
  return extractInputMessages(input).join(SEPARATOR);
}

/** Reads the text of all output messages; '' for a run without output. */
export function readOutputText({ output }: ScorerRunInput): string {
  if (output === undefined || output === null) {
    return '';
  }
  if (!Array.isArray(output)) {
    throw new InvalidInputError('run.output must be the output of an agent run: a list of messages');
  }
  return extractAgentResponseMessages(output).join(SEPARATOR);
}

import { field, type Fields, firstField, listIn, parseIfText, parseValue } from '../json.ts';
import { fromLangChain } from './common-messages.ts';
import { failureIn, hasFailed, plainText, unwrapBlock } from './part-reader.ts';
import { openPrintedArguments, readPrintedMessage } from './printed-items.ts';
import { readMessages, readSystem } from './read-messages.ts';
import type { NormalMessage, NormalPart, SpanFacts } from '../normalised-span.ts';
import type { RetrievedDocument } from '../../domain/trace/agent-run.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** Reads the question from a request of a provider or framework: OpenAI's two APIs, Anthropic's, Gemini's, LangChain's. */
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
  const choice = listIn(field(value, 'choices'))[0] ?? listIn(listIn(field(value, 'generations'))[0])[0];
  const held = isRecord(choice) ? (firstField(choice, 'message', 'text') ?? choice) : undefined;
  const items = field(value, 'output');
  const message = held ?? (Array.isArray(items) ? items : messageIn(value));
  if (message === undefined) {
    return answerIn(firstField(value, 'outputs') ?? value);
  }
  const list: unknown = isRecord(message) ? [message] : message;
  return readMessages(list, 'assistant').flatMap(({ role, parts }) => (role === 'assistant' ? parts : []));
}

/** Returns the message: Gemini's response has it under `content`, Anthropic's response is the message. */
function messageIn(value: Fields): unknown {
  const { content } = value;
  const isWhole = Array.isArray(content) && field(value, 'role') !== undefined;
  return isRecord(content) ? content : isWhole ? value : undefined;
}

/** Names under which a wrapper has the question or the answer. */
const QUESTION_KEYS =
  'question query str_or_query_bundle query_bundle query_str task input prompt user_input user_msg text'.split(
    ' ',
  );
const ANSWER_KEYS = ['answer', 'output', 'result', 'response', 'completion', 'raw', 'content', 'text'];

/** Finds the question in a free-form input; undefined when it cannot be found. */
export function questionIn(value: unknown): NormalMessage[] | undefined {
  return messagesIn(value, 'user', QUESTION_KEYS);
}

/** Finds the answer in a free-form output: the last text of the assistant. */
export function answerIn(value: unknown): NormalPart[] | undefined {
  const messages = messagesIn(value, 'assistant', ANSWER_KEYS);
  return messages?.findLast((message) => message.role === 'assistant')?.parts;
}

/** Finds the arguments of a decorated function or a callback: named ones, else the only positional one. */
export function argumentsIn(value: unknown): unknown {
  if (!isRecord(value)) {
    return openPrintedArguments(value);
  }
  const written = field(value, 'input_str');
  if (written !== undefined) {
    // LangChain's wrapper around a tool; `inputs` are its arguments also when they are empty.
    const { inputs } = value;
    return isRecord(inputs) ? inputs : openPrintedArguments(parseIfText(written));
  }
  const named = firstField(value, 'inputs', 'kwargs');
  if (isRecord(named) && Object.keys(named).length > 0) {
    return named;
  }
  const positional = field(value, 'args');
  const [first] = Array.isArray(positional) ? (positional as unknown[]) : [value];
  return openPrintedArguments(parseIfText(first));
}

/** Reads what a traced function was asked and what it answered. */
export function functionFacts(given: unknown, got: unknown): SpanFacts {
  return { input: questionIn(argumentsIn(given)), output: answerIn(got) };
}

/** Reads a request and a response; for another role than a model's, they are inside the arguments of a function. */
export function exchangeFacts(role: SpanFacts['role'], given: unknown, got: unknown): SpanFacts {
  return { ...requestIn(role === 'llm' ? given : argumentsIn(given)), output: responseIn(got) };
}

/** Finds messages in a value: a list of messages, an object with such a list, one named text, or plain text. */
function messagesIn(
  value: unknown,
  role: 'user' | 'assistant',
  textKeys: readonly string[],
): NormalMessage[] | undefined {
  if (typeof value === 'string') {
    const printed = readPrintedMessage(value);
    return readMessages(printed === undefined ? value : [printed], role);
  }
  const list = isRecord(value) ? field(value, 'messages') : value;
  if (Array.isArray(list)) {
    const messages = list.every(isMessage)
      ? list
      : Array.isArray(list[0]) && list[0].every(isMessage)
        ? list[0]
        : [];
    return messages.length === 0 ? undefined : readMessages(messages, role);
  }
  const named = firstField(value, ...textKeys);
  // LlamaIndex has the text of a query in an object.
  const text = textOrUndefined(isRecord(named) ? field(named, 'query_str') : named);
  return text === undefined ? undefined : readMessages(text, role);
}

function isMessage(item: unknown): boolean {
  return (
    isRecord(item) &&
    (Object.hasOwn(item, 'role') ||
      Object.hasOwn(item, 'data') ||
      Object.hasOwn(item, 'lc') ||
      Object.hasOwn(item, 'content'))
  );
}

const CONTENT_KEYS = 'content text page_content pageContent document body snippet chunk'.split(' ');
const ID_KEYS = ['id', '_id', 'doc_id', 'document_id', 'uri', 'url'];
const SCORE_KEYS = ['score', 'similarity', 'relevance_score'];

/** Reads retrieved documents under the field names that retrievers use; documents without content are left out. */
export function readDocuments(value: unknown): RetrievedDocument[] {
  const list = isRecord(value) ? firstField(value, 'documents', 'results', 'nodes') : value;
  return listIn(list).flatMap((item: unknown) => readDocument(item));
}

function readDocument(item: unknown): RetrievedDocument[] {
  if (typeof item === 'string') {
    return item === '' ? [] : [{ id: null, content: item, score: null }];
  }
  if (!isRecord(item)) {
    return [];
  }
  const inner = firstField(item, 'document', 'node');
  const holder: Fields = isRecord(inner) ? inner : item;
  const content = plainText(firstField(holder, ...CONTENT_KEYS));
  const id = firstField(holder, ...ID_KEYS) ?? firstField(item, ...ID_KEYS);
  const score = firstField(item, ...SCORE_KEYS) ?? firstField(holder, ...SCORE_KEYS);
  if (content === '') {
    return [];
  }
  return [
    {
      id: typeof id === 'string' || typeof id === 'number' ? String(id) : null,
      content,
      score: typeof score === 'number' ? score : null,
    },
  ];
}

/** Result or error of a tool call, with the call's id and name when they are known. */
interface ToolOutcome {
  value?: unknown;
  id?: string | undefined;
  name?: string | undefined;
  error?: string;
}

/** Reads the result from the wrappers that frameworks put around it. An absent output gives an empty outcome. */
export function readOutcome(output: unknown): ToolOutcome {
  if (!isRecord(output)) {
    return { value: unwrapBlock(output) };
  }
  const nested = field(output, 'output');
  const inner = isRecord(nested) ? nested : output;
  const message = fromLangChain(inner) ?? commandMessage(inner);
  if (message !== undefined) {
    const content = plainText(field(message, 'content'));
    const id = textOrUndefined(field(message, 'tool_call_id'));
    const name = textOrUndefined(field(message, 'name'));
    return field(message, 'status') === 'error'
      ? { id, name, error: content }
      : { id, name, value: parseValue(content) };
  }
  const content = field(output, 'content');
  if (Array.isArray(content) && (Object.hasOwn(output, 'agentId') || isContentOnly(output))) {
    const value = unwrapBlock(content);
    const error = failureIn(output);
    return error === undefined ? { value } : { error };
  }
  if (Object.hasOwn(output, 'raw_output')) {
    const raw = field(output, 'raw_output');
    return hasFailed(output) ? { error: plainText(firstField(output, 'content') ?? raw) } : { value: raw };
  }
  if (Object.hasOwn(output, 'response') && Object.hasOwn(output, 'name')) {
    return { value: field(output, 'response'), id: textOrUndefined(field(output, 'id')) };
  }
  return { value: output };
}

export function outcomeFacts({ value, id, error }: ToolOutcome): SpanFacts {
  return {
    toolCallId: id,
    toolResult: value,
    ...(error === undefined ? {} : { error: { type: null, message: error } }),
  };
}

/** Reads the call of a function: its arguments when they are an object, and its outcome. */
export function calledFacts(given: unknown, outcome: ToolOutcome): SpanFacts {
  const args = argumentsIn(given);
  return { toolArgs: isRecord(args) ? args : undefined, ...outcomeFacts(outcome) };
}

/** Reads a step whose output is one serialised tool message: it is the tool call. Undefined for others; a list is the output of a graph's node. */
export function toolStepFacts(input: unknown, output: unknown): SpanFacts | undefined {
  const message = isRecord(output) ? fromLangChain(output) : undefined;
  if (message === undefined || field(message, 'role') !== 'tool') {
    return undefined;
  }
  const outcome = readOutcome(output);
  return { ...calledFacts(input, outcome), role: 'tool', toolName: outcome.name };
}

/** Reads LangGraph's command: a tool that changes the graph's state returns a message in the update. */
function commandMessage(command: Fields): Fields | undefined {
  const update = field(command, 'update');
  const messages = isRecord(update) && Object.hasOwn(command, 'goto') ? field(update, 'messages') : undefined;
  const last = listIn(messages).at(-1);
  const message = isRecord(last) ? (fromLangChain(last) ?? last) : undefined;
  return message !== undefined && field(message, 'role') === 'tool' ? message : undefined;
}

const MCP_KEYS = new Set(['content', 'isError', 'structuredContent', '_meta']);

function isContentOnly(output: Fields): boolean {
  return Object.keys(output).every((key) => MCP_KEYS.has(key));
}

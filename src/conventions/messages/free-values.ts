import { field, firstField, parseIfText } from '../json.ts';
import type { NormalMessage, NormalPart } from '../normalised-span.ts';
import { openPrintedArguments, readPrintedMessage } from './printed-items.ts';
import { readMessages } from './read-messages.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

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

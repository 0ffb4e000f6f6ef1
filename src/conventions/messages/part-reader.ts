import { isId } from '../attributes.ts';
import { field, type Fields, firstField, listIn, parseIfText, parseValue } from '../json.ts';
import type { CallPart, NormalPart, ResultPart } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Reads one typed content block; returns zero or more parts. */
export type PartReader = (part: Fields) => NormalPart[];

/** Content blocks of one format by their `type`. */
export type PartTable = Readonly<Record<string, PartReader>>;

/** Reads a text block; an empty one gives no part, also when it is JSON. */
export function textPart(value: unknown): NormalPart[] {
  const text = plainText(value);
  return text === '' || text === '""' ? [] : [{ type: 'text', text }];
}

export function reasoningPart(value: unknown): NormalPart[] {
  const text = plainText(value);
  return text === '' ? [] : [{ type: 'reasoning', text }];
}

/** Reads the text of a value: strings as they are, lists of text blocks joined, other values as JSON. */
export function plainText(value: unknown): string {
  if (value === undefined || value === null) {
    return '';
  }
  if (typeof value === 'string') {
    return value;
  }
  if (Array.isArray(value)) {
    const texts = value.map((item) => (isRecord(item) ? firstField(item, 'text', 'content') : item));
    return texts.every((text) => typeof text === 'string') ? texts.join('') : JSON.stringify(value);
  }
  return JSON.stringify(value);
}

const FINAL_ANSWER = '\nFinal Answer:';

/** Splits the text of a ReAct agent, as CrewAI prompts for it: thoughts, then `Final Answer:` and the answer. */
export function openFinalAnswer(part: NormalPart): NormalPart[] {
  const text = part.type === 'text' ? part.text.trim() : '';
  const at = text.startsWith('Thought:') ? text.lastIndexOf(FINAL_ANSWER) : -1;
  const answer = at < 0 ? '' : text.slice(at + FINAL_ANSWER.length).trim();
  const thought = text.slice('Thought:'.length, at).trim();
  return answer === '' ? [part] : [...reasoningPart(thought), ...textPart(answer)];
}

export function callPart(fields: {
  id: unknown;
  name: unknown;
  args: unknown;
  provider?: boolean;
}): CallPart {
  const { id, name, args, provider } = fields;
  return {
    type: 'tool-call',
    id: callId(id),
    name: typeof name === 'string' ? name : '',
    args: parseIfText(args),
    ...(provider === true ? { providerExecuted: true } : {}),
  };
}

/** Creates a result; a failed one has the text of its `result` as error. */
export function resultPart(fields: {
  id: unknown;
  name?: unknown;
  result: unknown;
  failed?: boolean;
  denied?: boolean;
}): ResultPart {
  const { id, name, denied, failed } = fields;
  const result = failed === true ? undefined : parseIfText(fields.result);
  const errorText = failed === true ? plainText(fields.result) || 'failed' : failureIn(result);
  return {
    type: 'tool-result',
    id: callId(id),
    name: typeof name === 'string' && name !== '' ? name : null,
    result,
    ...(errorText === undefined ? {} : { errorText }),
    ...(denied === true ? { denied } : {}),
  };
}

/** True when a result, block or message has the mark of a failed call: `isError` of the Model Context Protocol and of most formats. */
export function hasFailed(holder: unknown): boolean {
  const mark = firstField(holder, 'isError', 'is_error');
  return mark === true || mark === 'true';
}

/** Returns the text of a failed call, when the result says that it is one. Undefined for any other result. */
export function failureIn(result: unknown): string | undefined {
  return isRecord(result) && hasFailed(result)
    ? plainText(firstField(result, 'content', 'error', 'message', 'structuredContent')) || 'failed'
    : undefined;
}

/** True for blocks of text only; in a tool's message they are the result. */
export function isTextOnly(content: unknown): boolean {
  const blocks = listIn(content);
  return blocks.length > 0 && blocks.every((item) => field(item, 'type') === 'text');
}

/** Unwraps a result that is one block of text or JSON. */
export function unwrapBlock(value: unknown): unknown {
  const [block] = Array.isArray(value) && value.length === 1 ? (value as unknown[]) : [];
  const keys = isRecord(block) ? Object.keys(block).filter((key) => key !== 'type') : [];
  if (!isRecord(block) || keys.length !== 1) {
    return value;
  }
  const inner = firstField(block, 'json', 'text');
  return typeof inner === 'string' ? parseValue(inner) : (inner ?? value);
}

/** Reads a file by its media type (or modality) and its data: a URL, a data URL or base64. */
export function filePart(mediaType: unknown, data: unknown): NormalPart[] {
  const content = readBase64(data);
  if (content === undefined) {
    return [];
  }
  return [
    {
      type: 'file',
      mimeType: typeof mediaType === 'string' ? mediaType : 'application/octet-stream',
      data: content,
    },
  ];
}

/** Returns text as it is, and bytes in one of their JSON forms as base64. */
function readBase64(data: unknown): string | undefined {
  if (typeof data === 'string') {
    return data === '' ? undefined : data;
  }
  const bytes = isRecord(data) ? (firstField(data, 'data') ?? Object.values(data)) : data;
  const isBytes = Array.isArray(bytes) && bytes.length > 0 && bytes.every((item) => typeof item === 'number');
  return isBytes ? Buffer.from(bytes).toString('base64') : undefined;
}

/** Reads an id without the blanks that some emitters add. */
function callId(value: unknown): string | null {
  const id = typeof value === 'string' ? value.trim() : '';
  return isId(id) ? id : null;
}

import { type Fields, firstField, parseValue, parseIfText } from '../json.ts';
import type { CallPart, NormalPart, ResultPart } from '../normalised-span.ts';
import { isId } from '../ids.ts';
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

export function resultPart(fields: {
  id: unknown;
  name?: unknown;
  result: unknown;
  errorText?: string | undefined;
  denied?: boolean;
}): ResultPart {
  const { id, name, denied } = fields;
  const result = parseIfText(fields.result);
  const errorText = fields.errorText ?? failureIn(result);
  return {
    type: 'tool-result',
    id: callId(id),
    name: typeof name === 'string' && name !== '' ? name : null,
    result,
    ...(errorText === undefined ? {} : { errorText }),
    ...(denied === true ? { denied } : {}),
  };
}

/**
 * Returns the text of a failed call, when the result says that it is one: the Model Context Protocol marks it with `isError`.
 * Undefined for any other result.
 */
export function failureIn(result: unknown): string | undefined {
  const mark = isRecord(result) ? firstField(result, 'isError', 'is_error') : undefined;
  if (!isRecord(result) || (mark !== true && mark !== 'true')) {
    return undefined;
  }
  return plainText(firstField(result, 'content', 'error', 'message', 'structuredContent')) || 'failed';
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

import { isObject, textOrUndefined } from '../../domain/unknown-values.ts';

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
export function looseText(
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
export function textParts(parts: unknown): string[] {
  if (!Array.isArray(parts)) {
    return [];
  }
  return parts.flatMap((part) =>
    isObject(part) && part['type'] === 'text' ? (textOrUndefined(part['text']) ?? []) : [],
  );
}

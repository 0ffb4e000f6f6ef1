import { isRecord } from './is-record.ts';

/**
 * The text of one message: string content as it is, the last text part of array content, else `content.content`,
 * `content.text` or the last text part. '' when there is none.
 */
export function getTextContentFromMastraDBMessage(message: unknown): string {
  const content = isRecord(message) ? message['content'] : undefined;
  if (typeof content === 'string') {
    return content;
  }
  if (Array.isArray(content)) {
    return lastTextPart(content) ?? '';
  }
  if (!isRecord(content)) {
    return '';
  }
  return nonEmpty(content['content']) ?? nonEmpty(content['text']) ?? lastTextPart(content['parts']) ?? '';
}

/** Deepest nesting of content in content that is read. */
const MAX_DEPTH = 16;

/** The text of any value that may hold one, at any depth: `content`, `text`, `body`, then parts. Empty text is no text. */
export function looseText(
  value: unknown,
  fields: readonly ('text' | 'body')[] = ['text', 'body'],
  depth = 0,
): string | undefined {
  if (typeof value === 'string') {
    return nonEmpty(value);
  }
  if (Array.isArray(value)) {
    return lastTextPart(value);
  }
  if (!isRecord(value) || depth > MAX_DEPTH) {
    return undefined;
  }
  const inner = looseText(value['content'], fields, depth + 1);
  const direct = fields.map((field) => nonEmpty(value[field])).find((text) => text !== undefined);
  return inner ?? direct ?? lastTextPart(value['parts']);
}

/** The text of the last text part; undefined when none holds any. */
function lastTextPart(parts: unknown): string | undefined {
  return textParts(parts).at(-1);
}

/** The texts of all text parts that are not empty. */
export function textParts(parts: unknown): string[] {
  if (!Array.isArray(parts)) {
    return [];
  }
  return parts.flatMap((part) =>
    isRecord(part) && part['type'] === 'text' ? (nonEmpty(part['text']) ?? []) : [],
  );
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

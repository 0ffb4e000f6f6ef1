import { parseLooseJson } from './loose-json.ts';
import type { SchemaVerdict } from './judge-schema.ts';
import { withoutThoughts } from './thoughts.ts';

/** Longest lead-in line before an answer, characters. */
const MAX_LEAD_IN_CHARS = 200;

/** Words of a line that announces no verdict of its own. The check against the material holds in every language. */
const NO_LEAD_IN = /\b(?:quot|draft|example|cannot\b|can't|unable|refus|tries\b|tried\b|attempt|inject)/i;

const FENCE = '```';

/**
 * Reads the answer from a reply: one JSON value that stands alone, apart from thoughts, a code fence and one lead-in line. JSON
 * inside other text is no answer, because it may be a quotation of the judged text.
 * @param material the question; JSON of it behind a lead-in line is a quotation
 */
export function readJsonReply<T>(
  reply: string,
  validate: (value: unknown) => SchemaVerdict<T>,
  material = '',
): SchemaVerdict<T> {
  const text = reply.trim();
  // Tried first: a verdict may quote marks of thoughts.
  const whole = parse(text);
  if (whole !== undefined) {
    return validate(whole.value);
  }
  const answer = withoutThoughts(text);
  if (answer === '') {
    return { ok: false, fault: text === '' ? 'it is empty' : 'it holds thoughts and no answer' };
  }
  const alone = parse(withoutFence(answer)) ?? parseAfterLeadIn(answer, material);
  return alone === undefined
    ? { ok: false, fault: 'it is not one complete JSON value that stands alone' }
    : validate(alone.value);
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return parseLooseJson(text);
  }
}

/** Removes a code fence around an answer; a server may have cut off one of its ends as a stop mark. */
function withoutFence(text: string): string {
  const opened = text.replace(/^```(?:[\w-]*\s|(?=[{[]))/, '');
  return opened.endsWith(FENCE) ? opened.slice(0, -FENCE.length) : opened;
}

function parseAfterLeadIn(answer: string, material: string): { readonly value: unknown } | undefined {
  const [line = ''] = answer.split('\n', 1);
  const rest = withoutFence(answer.slice(line.length).trim());
  const isLeadIn = line.length <= MAX_LEAD_IN_CHARS && !NO_LEAD_IN.test(line) && !/[{[]/.test(line);
  return isLeadIn && !simplify(material).includes(simplify(rest)) ? parse(rest) : undefined;
}

/** Drops white space, quotes and escapes, which differ between a text and its quotation. */
function simplify(text: string): string {
  return text.replaceAll(/\\+[nrt]|[\s\\"'`]/g, '');
}

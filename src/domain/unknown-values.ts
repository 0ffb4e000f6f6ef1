import { readErrorMessage } from './errors.ts';

/** True for an object or a list, whose members can be read by name. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** True for an object that is no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value);
}

/** A non-empty text as it is, undefined for any other value. */
export function textOrUndefined(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A text as it is, any other value as JSON. A value without JSON gives the empty text. */
export function textOrJson(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Parses JSON; undefined for any other text. */
export function parseJson(text: string): unknown {
  const parsed = tryParseJson(text);
  return parsed.ok ? parsed.value : undefined;
}

/** Parses JSON; gives the reason for any other text. */
export function tryParseJson(text: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    return { ok: false, reason: readErrorMessage(error) };
  }
}

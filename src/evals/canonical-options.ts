import { sha256Hex } from '../domain/identity.ts';

/** Deepest nesting of options that enters a fingerprint; deeper values all count as equal. */
const MAX_OPTION_DEPTH = 16;

/**
 * Writes options as plain JSON, so that equal configurations give equal text. Functions and regular expressions become their
 * source, class instances (a model object) their class name, sets and maps the list of their members. An object that contains
 * itself becomes '…'.
 */
export function canonicalOptions(value: unknown, ancestors: readonly object[] = []): unknown {
  if (typeof value === 'function') {
    return { function: Function.prototype.toString.call(value) };
  }
  if (typeof value === 'bigint' || typeof value === 'symbol') {
    return String(value);
  }
  return value === null || typeof value !== 'object' ? value : canonicalObject(value, ancestors);
}

function canonicalObject(value: object, ancestors: readonly object[]): unknown {
  if (ancestors.length >= MAX_OPTION_DEPTH || ancestors.includes(value)) {
    return '…';
  }
  const inside = [...ancestors, value];
  if (value instanceof RegExp || value instanceof Date) {
    return String(value);
  }
  if (Array.isArray(value) || value instanceof Set || value instanceof Map) {
    return [...value].map((item) => canonicalOptions(item, inside));
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    return { class: value.constructor.name };
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => [key, canonicalOptions(member, inside)]),
  );
}

/** Computes a short version for code or prompts without a version of their own: a hash of their source text. */
export function sourceVersion(parts: unknown): string {
  const text = JSON.stringify(canonicalOptions(parts));
  return `src-${sha256Hex(text).slice(0, 8)}`;
}

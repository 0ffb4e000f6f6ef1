import type { ConfigIssue } from './faults/config-issue.ts';
import type { KeyPath } from './key-path.ts';

/** Reads a variable; undefined when it is unset or empty. */
export type ReadVariable = (name: string) => string | undefined;

const REFERENCE = /\$\{env:([^}]*)\}/g;
const NAME_AND_DEFAULT = /^([A-Za-z_]\w*)(?::-([\s\S]*))?$/;

/** Offset into the private-use characters: a hidden character is its code plus this number. */
const HIDDEN = 0xe000;
const HIDDEN_REFERENCE = /\uE024\uE07B[^\uE07D]*\uE07D/g;

/**
 * Replaces the characters of each `${env:…}` in a YAML text by characters without a meaning in YAML. YAML does not allow
 * `{` in a plain scalar of a flow mapping, so `{ apiKey: ${env:KEY} }` could not be read. The length stays the same, so
 * that all positions stay the same. `showReferences` restores the characters in the parsed value.
 */
export function hideReferences(text: string): string {
  return text.replaceAll(REFERENCE, (reference) => shifted(reference, HIDDEN));
}

/** Restores the hidden references in a parsed value. */
export function showReferences(value: unknown): unknown {
  const inText = (text: string) =>
    text.replaceAll(HIDDEN_REFERENCE, (reference) => shifted(reference, -HIDDEN));
  return mapTexts(value, [], inText, inText);
}

/** Moves ASCII characters into the private-use range, or back. Keeps line ends, because they count the lines. */
function shifted(text: string, by: number): string {
  return text.replaceAll(/[^\n\r]/g, (character) => {
    const code = character.charCodeAt(0) + by;
    return (by > 0 && code < HIDDEN + 0x80) || (by < 0 && code >= 0 && code < 0x80)
      ? String.fromCharCode(code)
      : character;
  });
}

/**
 * Replaces each `${env:NAME}` and `${env:NAME:-default}` in a value. Returns the value, the references that could not be
 * replaced, and the paths that hold a reference.
 */
export function resolveReferences(
  value: unknown,
  read: ReadVariable,
): { value: unknown; issues: ConfigIssue[]; touched: Map<string, string> } {
  const issues: ConfigIssue[] = [];
  const touched = new Map<string, string>();
  const resolveText = (text: string, path: KeyPath) =>
    text.replaceAll(REFERENCE, (reference, body: string) => {
      const match = NAME_AND_DEFAULT.exec(body);
      const name = match?.[1];
      if (name === undefined) {
        issues.push({
          path,
          message: `${reference} names no variable: write \${env:NAME} or \${env:NAME:-default}`,
        });
        return '';
      }
      touched.set(JSON.stringify(path), name);
      const found = read(name) ?? match?.[2];
      if (found === undefined) {
        issues.push({
          path,
          message: `environment variable ${name} is not set: set it, or write \${env:${name}:-default}`,
        });
      }
      return found ?? '';
    });
  return { value: mapTexts(value, [], resolveText), issues, touched };
}

function mapTexts(
  value: unknown,
  path: KeyPath,
  onText: (text: string, path: KeyPath) => string,
  onKey: (key: string) => string = (key) => key,
): unknown {
  if (typeof value === 'string') {
    return onText(value, path);
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => mapTexts(item, [...path, index], onText, onKey));
  }
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      onKey(key),
      mapTexts(member, [...path, key], onText, onKey),
    ]),
  );
}

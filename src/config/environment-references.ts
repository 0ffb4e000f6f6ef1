import type { ConfigIssue } from './faults/config-issue.ts';
import type { KeyPath } from './key-path.ts';

/** Reads a variable; undefined when it is unset or empty. */
export type ReadVariable = (name: string) => string | undefined;

const REFERENCE = /\$\{env:([^}]*)\}/g;
const NAME_AND_DEFAULT = /^([A-Za-z_]\w*)(?::-([\s\S]*))?$/;

/** Private-use characters: a hidden character is its code, this much further on. */
const HIDDEN = 0xe000;
const HIDDEN_REFERENCE = /\uE024\uE07B[^\uE07D]*\uE07D/g;

/**
 * Swaps the characters of each `${env:…}` in a YAML text for others that mean nothing to YAML, because `{` may not stand in a plain
 * scalar of a flow mapping: `{ apiKey: ${env:KEY} }` could not be read otherwise. The length stays, so that every place in the text
 * stays too. `showReferences` swaps them back in the parsed value.
 */
export function hideReferences(text: string): string {
  return text.replaceAll(REFERENCE, (reference) => shifted(reference, HIDDEN));
}

/** Swaps the hidden references in a parsed value back. */
export function showReferences(value: unknown): unknown {
  const inText = (text: string) =>
    text.replaceAll(HIDDEN_REFERENCE, (reference) => shifted(reference, -HIDDEN));
  return mapTexts(value, [], inText, inText);
}

/** Moves ASCII characters into the private-use range, or back. Line ends stay: they count the lines. */
function shifted(text: string, by: number): string {
  return text.replaceAll(/[^\n\r]/g, (character) => {
    const code = character.charCodeAt(0) + by;
    return (by > 0 && code < HIDDEN + 0x80) || (by < 0 && code >= 0 && code < 0x80)
      ? String.fromCharCode(code)
      : character;
  });
}

/** A value with each `${env:NAME}` and `${env:NAME:-default}` replaced, what could not be, and which paths hold one. */
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

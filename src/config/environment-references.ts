import type { ConfigIssue } from './config-issue.ts';
import type { KeyPath } from './key-path.ts';

/** Reads a variable; undefined when it is unset or empty. */
export type ReadVariable = (name: string) => string | undefined;

const REFERENCE = /\$\{env:([^}]*)\}/g;
const NAME_AND_DEFAULT = /^([A-Za-z_]\w*)(?::-([\s\S]*))?$/;

/**
 * Swaps each `${env:…}` in a YAML text for a plain word, because `{` may not stand in a plain scalar of a flow mapping:
 * `{ apiKey: ${env:KEY} }` could not be read otherwise. `showReferences` swaps them back in the parsed value.
 */
export function hideReferences(text: string): { text: string; references: string[] } {
  const references: string[] = [];
  const hidden = text.replaceAll(
    REFERENCE,
    (reference) => `__spanscore_reference_${references.push(reference) - 1}__`,
  );
  return { text: hidden, references };
}

export function showReferences(value: unknown, references: readonly string[]): unknown {
  const inText = (text: string) =>
    text.replaceAll(
      /__spanscore_reference_(\d+)__/g,
      (word, index: string) => references[Number(index)] ?? word,
    );
  return mapTexts(value, [], inText, inText);
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

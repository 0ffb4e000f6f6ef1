import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { readErrorMessage } from '../domain/errors.ts';
import type { ConfigIssue } from './faults/config-issue.ts';
import type { KeyPath } from './key-path.ts';

/**
 * Reads an environment variable. Returns undefined when it is unset or empty: shells and container tools use an empty
 * variable for "not set". Nothing outside this folder reads `process.env`.
 */
export function readEnvironment(name: string): string | undefined {
  const value = process.env[name];
  return value === undefined || value === '' ? undefined : value;
}

/** Returns a copy of the whole environment, for child processes and for tests with their own environment. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return { ...process.env };
}

/** Reads a variable; undefined when it is unset or empty. */
export type ReadVariable = (name: string) => string | undefined;

const REFERENCE = /\$\{(env|file):([^}]*)\}/g;
const NAME_AND_DEFAULT = /^([A-Za-z_]\w*)(?::-([\s\S]*))?$/;

/** Most characters of a secret in a file. */
const MAX_SECRET_CHARS = 65_536;

/** Offset into the private-use characters: a hidden character is its code plus this number. */
const HIDDEN = 0xe000;
const HIDDEN_REFERENCE = /\uE024\uE07B[^\uE07D]*\uE07D/g;

/**
 * Replaces the characters of each reference in a YAML text by characters without a meaning in YAML. YAML does not allow
 * `{` in a plain scalar of a flow mapping, so `{ apiKey: ${env:KEY} }` could not be read. The length stays the same, so
 * that all positions stay the same. `showReferences` restores the characters in the parsed value.
 */
export function hideReferences(text: string): string {
  return text.replaceAll(REFERENCE, (reference) => shifted(reference, HIDDEN));
}

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
 * Replaces each `${env:NAME}`, `${env:NAME:-default}` and `${file:/path}` in a value. Returns the value, the references that could not
 * be replaced, and the paths that hold a reference.
 */
export function resolveReferences(
  value: unknown,
  read: ReadVariable,
): { value: unknown; issues: ConfigIssue[]; touched: Map<string, string> } {
  const issues: ConfigIssue[] = [];
  const touched = new Map<string, string>();
  const resolveText = (text: string, path: KeyPath) =>
    text.replaceAll(REFERENCE, (reference, kind: string, body: string) => {
      const { name, found, fault } = kind === 'file' ? readSecretFile(body) : readVariable(body, read);
      if (name !== undefined) {
        touched.set(JSON.stringify(path), name);
      }
      if (fault !== undefined) {
        issues.push({ path, message: name === undefined ? `${reference} ${fault}` : fault });
      }
      return found ?? '';
    });
  return { value: mapTexts(value, [], resolveText), issues, touched };
}

/** Value of a reference, or what is wrong with it. */
interface Referred {
  /** Name of the variable or of the file; undefined for a reference that names none. */
  readonly name?: string;
  readonly found?: string | undefined;
  readonly fault?: string | undefined;
}

function readVariable(body: string, read: ReadVariable): Referred {
  const [, name, ifAbsent] = NAME_AND_DEFAULT.exec(body) ?? [];
  if (name === undefined) {
    return { fault: 'names no variable: write ${env:NAME} or ${env:NAME:-default}' };
  }
  const found = read(name) ?? ifAbsent;
  const fault = `environment variable ${name} is not set: set it, or write \${env:${name}:-default}`;
  return { name, found, ...(found === undefined ? { fault } : {}) };
}

/** Reads a secret of Docker, Kubernetes or systemd: the text of the file without the line end that editors add. */
function readSecretFile(name: string): Referred {
  if (!isAbsolute(name)) {
    return { fault: 'names no file: write the whole path, as in ${file:/run/secrets/NAME}' };
  }
  try {
    const found = readFileSync(name, 'utf8').replace(/\r?\n$/, '');
    const isUsable = found !== '' && found.length <= MAX_SECRET_CHARS;
    const fault = `the file ${name} is ${found === '' ? 'empty' : `longer than ${MAX_SECRET_CHARS} characters`}: write the secret alone into it`;
    return { name, ...(isUsable ? { found } : { fault }) };
  } catch (cause) {
    return {
      name,
      fault: `the file ${name} cannot be read: ${readErrorMessage(cause)}; create it, or give this user the right to read it`,
    };
  }
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

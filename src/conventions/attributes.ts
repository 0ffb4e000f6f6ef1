import { parseStructure, parseValue, structureIn } from './json.ts';
import type { SpanRole, SpanView } from './normalised-span.ts';
import type { Attributes } from '../domain/trace/span.ts';

/** Returns the first of these keys' values that is a non-empty text. */
export function readText(attributes: Attributes, ...keys: string[]): string | undefined {
  for (const key of keys) {
    const value = attributes.get(key);
    if (value !== undefined && value !== '') {
      return value;
    }
  }
  return undefined;
}

/** Returns the first of these keys' values that is a count: a finite number that is not negative. */
export function readCount(attributes: Attributes, ...keys: string[]): number | undefined {
  for (const key of keys) {
    const value = attributes.get(key);
    const count = value === undefined || value === '' ? Number.NaN : Number(value);
    if (Number.isFinite(count) && count >= 0) {
      return count;
    }
  }
  return undefined;
}

/** Parses a structured value; a plain text stays a text, without JSON's quotes. Adds a warning when the value was cut off. */
export function readStructure(view: SpanView, key: string, attributes = view.span.attributes): unknown {
  const text = readText(attributes, key);
  if (text?.endsWith(']') === true && CUT_MARK.test(text)) {
    warnOfCut(view, `${key} was cut off by its emitter, which sends the first 10,000 characters of a value`);
    const shown = text.replace(CUT_MARK, '');
    return structureIn(shown) ?? shown;
  }
  const parsed = text === undefined ? undefined : parseStructure(text);
  if (parsed?.truncated === true) {
    warnOfCut(
      view,
      `${key} was cut off before its end; raise the attribute length limit of the emitter (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT)`,
    );
  }
  return parsed === undefined ? unquoted(text) : parsed.value;
}

/** Mark that Gemini CLI puts behind a value that it cut off. */
const CUT_MARK = /\.\.\.\[TRUNCATED: original length \d+\]$/;

/** Adds the warning once: several conventions may read one value. */
function warnOfCut(view: SpanView, detail: string): void {
  if (!view.warnings.some((warning) => warning.detail === detail)) {
    view.warnings.push({ code: 'truncated', spanId: view.span.spanId, detail });
  }
}

/** Reads a plain text that an emitter encoded as a JSON string. */
function unquoted(text: string | undefined): unknown {
  const isQuoted = text !== undefined && text.startsWith('"') && text.endsWith('"');
  return isQuoted ? parseValue(text) : text;
}

/** Reads a list of strings from a JSON list, a comma-joined string, or one string. */
export function readList(attributes: Attributes, key: string): string[] {
  const text = readText(attributes, key);
  const parsed = structureIn(text);
  return Array.isArray(parsed)
    ? parsed.filter((item): item is string => typeof item === 'string')
    : (text?.split(',').map((item) => item.trim()) ?? []);
}

const SESSION_NAMES = ['sessionid', 'conversationid', 'threadid', 'chatid'];
const USER_NAMES = ['userid', 'enduserid', 'user'];

/** Reads session and user from metadata with free names (`<prefix>sessionId`, `<prefix>user_id`, …). */
export function identityUnder(
  attributes: Attributes,
  prefixes: readonly string[],
): { session: string | undefined; user: string | undefined } {
  const found = new Map<string, string>();
  for (const key of attributes.keys()) {
    const prefix = prefixes.find((start) => key.startsWith(start));
    const value = prefix === undefined ? undefined : readText(attributes, key);
    if (prefix !== undefined && value !== undefined) {
      const name = key
        .slice(prefix.length)
        .toLowerCase()
        .replace(/[^a-z]/g, '');
      if (!found.has(name)) {
        found.set(name, value);
      }
    }
  }
  const pick = (names: readonly string[]) => findFirst(names, (name) => found.get(name));
  return { session: pick(SESSION_NAMES), user: pick(USER_NAMES) };
}

/** True when a key has this form. Copies nothing: conventions ask for each span. */
export function hasKey(attributes: Attributes, form: RegExp): boolean {
  for (const key of attributes.keys()) {
    if (form.test(key)) {
      return true;
    }
  }
  return false;
}

/** Maps names to roles; the names of a role have blanks between. */
export function rolesOf<Role extends string = SpanRole>(
  names: Readonly<Partial<Record<Role, string>>>,
): ReadonlyMap<string, Role> {
  const roles = Object.entries(names) as [Role, string][];
  return new Map(roles.flatMap(([role, list]) => list.split(' ').map((name) => [name, role] as const)));
}

const NO_IDS: ReadonlySet<string> = new Set(['', 'null', 'None', 'undefined']);

/** True for an id. Emitters write a missing id as the text of their language's empty value. */
export function isId(text: string): boolean {
  return !NO_IDS.has(text);
}

/** True for the name of a model; some wrappers call every model `unknown`. */
export function isModelName(text: string | undefined): text is string {
  return text !== undefined && isId(text) && text.toLowerCase() !== 'unknown';
}

/** Returns the first value that is found in these sources, in their order. */
export function findFirst<Source, Found>(
  sources: readonly Source[],
  find: (source: Source) => Found | undefined,
): Found | undefined {
  for (const source of sources) {
    const found = find(source);
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}

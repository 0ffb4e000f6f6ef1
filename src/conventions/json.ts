import { isRecord } from '../domain/unknown-values.ts';

/** Longest text that is parsed as JSON, in UTF-16 units; a longer one stays text. */
const MAX_JSON_CHARS = 64 * 1024 * 1024;
/** Deepest nesting that is parsed; later code may then walk values without a depth check of its own. */
export const MAX_JSON_DEPTH = 100;
/** Most levels of encoding that are opened: JSON inside a JSON string inside a JSON string. */
const MAX_ENCODINGS = 3;

export type Fields = Record<string, unknown>;

/** A parsed structure. `truncated`: the text was cut off, and its end was closed here. */
interface ParsedJson {
  value: unknown;
  truncated: boolean;
}

/** Returns an own property of an object, never one of the prototype; undefined for any other value. */
export function field(holder: unknown, name: string): unknown {
  return isRecord(holder) && Object.hasOwn(holder, name) ? holder[name] : undefined;
}

/** Returns an object as it is, no fields for any other value. */
export function readFields(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** Returns the items of a list, none for any other value. */
export function listIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the objects of a list, none for any other value. */
export function recordsIn(value: unknown): Fields[] {
  return listIn(value).filter(isRecord);
}

/** Returns the first of these own properties that is a number, when it is a count. */
export function countIn(holder: unknown, ...names: string[]): number | null {
  const count = names.map((name) => field(holder, name)).find((value) => typeof value === 'number');
  return typeof count === 'number' && count >= 0 ? count : null;
}

/** Returns the first of these own properties that is neither absent nor null. */
export function firstField(holder: unknown, ...names: string[]): unknown {
  for (const name of names) {
    const value = field(holder, name);
    if (value !== undefined && value !== null) {
      return value;
    }
  }
  return undefined;
}

/** Parses an object or a list, possibly encoded several times. Undefined for any other text (plain, too long, too deep). */
export function parseStructure(text: string): ParsedJson | undefined {
  let current = text;
  for (let i = 0; i < MAX_ENCODINGS; i++) {
    const parsed = parseOnce(current);
    if (parsed === undefined) {
      return undefined;
    }
    if (typeof parsed.value !== 'string') {
      return typeof parsed.value === 'object' && parsed.value !== null ? parsed : undefined;
    }
    current = parsed.value;
  }
  return undefined;
}

/** Parses a text with structured content; undefined for any other value. */
export function structureIn(text: unknown): unknown {
  return typeof text === 'string' ? parseStructure(text)?.value : undefined;
}

/** Reads JSON arguments or results: scalars, lists and objects are parsed, and a string that contains a structure again. Other text stays. */
export function parseValue(text: string): unknown {
  let current: string = text;
  for (let i = 0; i < MAX_ENCODINGS; i++) {
    const trimmed = current.trimStart();
    const opens = trimmed.startsWith('{') || trimmed.startsWith('[');
    const mayOpen = opens || (i === 0 && /^("|-?\d|true\b|false\b|null\b)/.test(trimmed));
    const parsed = mayOpen ? parseOnce(current) : undefined;
    if (parsed === undefined) {
      return current;
    }
    if (typeof parsed.value === 'number') {
      return String(parsed.value) === trimmed.trimEnd() ? parsed.value : current;
    }
    if (typeof parsed.value !== 'string') {
      return parsed.value;
    }
    current = parsed.value;
  }
  return current;
}

/** Reads a text with `parseValue`; any other value stays as it is. */
export function parseIfText(value: unknown): unknown {
  return typeof value === 'string' ? parseValue(value) : value;
}

function parseOnce(text: string): ParsedJson | undefined {
  if (text.length > MAX_JSON_CHARS || isTooDeep(text)) {
    return undefined;
  }
  try {
    return { value: JSON.parse(text) as unknown, truncated: false };
  } catch {
    return repair(text);
  }
}

/** True when brackets outside strings nest deeper than the limit. */
function isTooDeep(text: string): boolean {
  if (countUpTo(text, '{', MAX_JSON_DEPTH) + countUpTo(text, '[', MAX_JSON_DEPTH) <= MAX_JSON_DEPTH) {
    return false;
  }
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 92) {
        i++;
      } else if (code === 34) {
        inString = false;
      }
    } else if (code === 34) {
      inString = true;
    } else if (code === 123 || code === 91) {
      depth++;
      if (depth > MAX_JSON_DEPTH) {
        return true;
      }
    } else if (code === 125 || code === 93) {
      depth--;
    }
  }
  return false;
}

/** Counts a sign, up to one more than the limit. This is many times faster than a look at each sign. */
function countUpTo(text: string, sign: string, limit: number): number {
  let count = 0;
  for (let at = text.indexOf(sign); at >= 0 && count <= limit; at = text.indexOf(sign, at + 1)) {
    count += 1;
  }
  return count;
}

interface CutScan {
  /** Closing characters of the brackets still open at the end, outermost first. */
  closers: string;
  inString: boolean;
  /** End of the last complete member or element, with the brackets open there. */
  safeEnd: number;
  safeClosers: string;
}

/** Closes an object or list that an attribute length limit cut off: whole members stay, a cut string stays cut. */
function repair(text: string): ParsedJson | undefined {
  const start = text.trimStart();
  // A bracket before a single quote is Python, not JSON that was cut off.
  if (!/^[[{]/.test(start) || /^[\s[{]*'/.test(start)) {
    return undefined;
  }
  const scan = scanCut(start);
  const candidates = scan.inString
    ? [0, 1, 2, 3, 4, 5].map((drop) => `${start.slice(0, start.length - drop)}"${scan.closers}`)
    : [`${start}${scan.closers}`];
  for (const candidate of [...candidates, `${start.slice(0, scan.safeEnd)}${scan.safeClosers}`]) {
    try {
      return { value: JSON.parse(candidate) as unknown, truncated: true };
    } catch {
      continue;
    }
  }
  return undefined;
}

function scanCut(text: string): CutScan {
  const closers: string[] = [];
  const joined = (): string => closers.toReversed().join('');
  const scan: CutScan = { closers: '', inString: false, safeEnd: 0, safeClosers: '' };
  const markSafe = (end: number): void => {
    scan.safeEnd = end;
    scan.safeClosers = joined();
  };
  let skip = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    if (skip) {
      skip = false;
    } else if (scan.inString) {
      skip = char === '\\';
      scan.inString = char !== '"';
    } else if (char === '"') {
      scan.inString = true;
    } else if (char === '{' || char === '[') {
      closers.push(char === '{' ? '}' : ']');
      markSafe(i + 1);
    } else if (char === '}' || char === ']') {
      closers.pop();
      markSafe(i + 1);
    } else if (char === ',') {
      markSafe(i);
    }
  }
  scan.closers = joined();
  return scan;
}

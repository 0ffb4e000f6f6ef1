import { parseStructure, parseValue, structureIn, countIn } from './json.ts';
import type { SpanRole, SpanView } from './normalised-span.ts';
import { remembered } from './shape/words.ts';
import type { Attributes } from '../domain/trace/span.ts';
import type { TokenUsage } from '../domain/trace/agent-run.ts';
import { isRecord } from '../domain/unknown-values.ts';

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

/** Tokens that are a part of the input or of the output. Some emitters count them beside it, see `sumUsage`. */
export type TokenParts = Pick<TokenUsage, 'cachedInputTokens' | 'cacheWriteTokens' | 'reasoningTokens'>;

type Part = keyof TokenParts;

const USAGE_KEY = /^(?:gen_ai\.usage|ai\.usage|llm\.usage|llm\.token_count|usage)\.(.+)$/;

/** Words of names that count something else: money, media, misses, and the parts of a part. */
const OTHER = new Set(
  'cost price usd audio image video miss misses no ephemeral 5m 1h rate ratio percent percentage'.split(' '),
);
const WRITES = new Set(['write', 'writes', 'written', 'creation', 'create', 'created']);
const READS = new Set(['cached', 'read', 'reads', 'hit', 'hits']);
const REASONING = new Set(['reasoning', 'thought', 'thoughts', 'thinking']);

/** Deepest nesting of counts. */
const MAX_DEPTH = 3;

/** Reads the parts from attributes of usage. Every emitter has its own names, so their words count. */
export function partsAmong(attributes: Attributes): TokenParts {
  const counts: Record<string, unknown> = {};
  for (const key of attributes.keys()) {
    const count = nameCount(key);
    if (count !== undefined) {
      // Asked for by its key, so that it counts as an attribute that is read.
      const value = attributes.get(key) ?? '';
      counts[count.name] = count.isNested ? (structureIn(value) ?? value) : value;
    }
  }
  return partsIn(counts);
}

/** Names the count of a part that an attribute has; undefined for another attribute. */
const nameCount = remembered((key): { readonly name: string; readonly isNested: boolean } | undefined => {
  const name = USAGE_KEY.exec(key)?.[1];
  const isNested = name?.endsWith('details') === true;
  return name !== undefined && (isNested || findPart(name) !== undefined) ? { name, isNested } : undefined;
});

/** Reads the parts from an object of counts. The greatest count of a part wins: some emitters write 0 under a second name. */
export function partsIn(counts: unknown, depth = 1): TokenParts {
  const parts: TokenParts = { cachedInputTokens: null, cacheWriteTokens: null, reasoningTokens: null };
  for (const [name, value] of isRecord(counts) ? Object.entries(counts) : []) {
    const inner = isRecord(value) && depth < MAX_DEPTH ? partsIn(value, depth + 1) : countAs(name, value);
    for (const part of Object.keys(inner) as Part[]) {
      const count = inner[part] ?? null;
      parts[part] = count === null ? parts[part] : Math.max(parts[part] ?? 0, count);
    }
  }
  return parts;
}

/** Reads the counts of a call from an object, under the names that its emitter gives them. */
export function usageIn(
  counts: unknown,
  [input, output, total]: readonly [input: string[], output: string[], total: string[]],
): Partial<TokenUsage> {
  return {
    ...partsIn(counts),
    inputTokens: countIn(counts, ...input),
    outputTokens: countIn(counts, ...output),
    totalTokens: countIn(counts, ...total),
  };
}

function countAs(name: string, value: unknown): Partial<TokenParts> {
  const count =
    typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : NaN;
  const part = Number.isFinite(count) && count >= 0 ? findPart(name) : undefined;
  return part === undefined ? {} : { [part]: count };
}

function findPart(name: string): Part | undefined {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  const has = (set: ReadonlySet<string>): boolean => words.some((word) => set.has(word));
  if (has(OTHER)) {
    return undefined;
  }
  if (words.some((word) => word === 'cache' || word === 'cached')) {
    return has(WRITES) ? 'cacheWriteTokens' : has(READS) ? 'cachedInputTokens' : undefined;
  }
  return has(REASONING) ? 'reasoningTokens' : undefined;
}

/** Attributes with the output of a step or a model call as JSON. */
export const OUTPUT_KEYS = [
  'gen_ai.output.messages',
  'output.value',
  'traceloop.entity.output',
  'gen_ai.completion',
  'langfuse.observation.output',
  'mlflow.spanOutputs',
];

const isReasonKey = remembered((key) => /(^|[._])(finish|stop)_?reasons?$/i.test(key));

const REASON_IN_OUTPUT =
  /"(?:finish_reason|finishReason|stop_reason|stopReason|done_reason)"\s*:\s*"([^"\\]{1,40})"|"incomplete_details"\s*:\s*\{\s*"reason"\s*:\s*"([^"\\]{1,40})"/g;

export function findFinishReason({ span, logs }: SpanView): string | undefined {
  const sources = [span, ...span.events, ...logs].map(({ attributes }) => attributes);
  return findFirst(sources, reasonAmongKeys) ?? findFirst(sources, reasonInOutput);
}

function reasonAmongKeys(source: Attributes): string | undefined {
  const key = [...source.keys()].find(isReasonKey);
  return key === undefined ? undefined : readList(source, key).at(-1);
}

/** Finds the last reason in the output; a model that was cut says so last. */
function reasonInOutput(source: Attributes): string | undefined {
  for (const key of OUTPUT_KEYS) {
    const found = [...(readText(source, key)?.matchAll(REASON_IN_OUTPUT) ?? [])].map(
      ([, reason, incomplete]) => incomplete ?? reason,
    );
    if (found.length > 0) {
      return found.at(-1);
    }
  }
  return undefined;
}

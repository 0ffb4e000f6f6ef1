import type { TokenUsage } from '../domain/trace/agent-run.ts';
import type { Attributes } from '../domain/trace/span.ts';
import { isRecord } from '../domain/unknown-values.ts';
import { countIn, structureIn } from './json.ts';

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
    const name = USAGE_KEY.exec(key)?.[1];
    const isNested = name?.endsWith('details') === true;
    if (name !== undefined && (isNested || findPart(name) !== undefined)) {
      // Asked for by its key, so that it counts as an attribute that is read.
      const value = attributes.get(key) ?? '';
      counts[name] = isNested ? (structureIn(value) ?? value) : value;
    }
  }
  return partsIn(counts);
}

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

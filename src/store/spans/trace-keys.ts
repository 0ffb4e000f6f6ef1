import { TupleParam } from '@clickhouse/client';
import { InvalidInputError } from '../../domain/errors.ts';
import { type CoveredPair, MAX_KEYS, SHARDS, type TraceKey } from '../contracts/stores.ts';
import type { QueryParams } from '../values.ts';

/** The condition that takes `keyParams`. */
export const IN_KEYS = '(Tenant, TraceId) IN {keys:Array(Tuple(String, String))}';

/** Condition on the shards of traces, with the parameter `shards`: `computeShard`, the first four bytes of the key's SHA-256, greatest first. */
export const IN_SHARDS = `reinterpretAsUInt32(reverse(substring(SHA256(concat(Tenant, ' ', TraceId)), 1, 4))) % ${SHARDS}
  IN {shards:Array(UInt16)}`;

/**
 * Condition on the scores of sessions, for PREWHERE. A comparison with '' would become a function that no index serves.
 */
export const WITHOUT_TRACE = "TraceId IN ('') AND Target = 'session'";

/** The parameter for `IN_KEYS`. Throws an `InvalidInputError` for more than `MAX_KEYS` keys. */
export function keyParams(keys: readonly TraceKey[]): QueryParams {
  if (keys.length > MAX_KEYS) {
    throw new InvalidInputError(`${keys.length} traces asked for at once; ask for at most ${MAX_KEYS}`);
  }
  return { keys: keys.map((key) => new TupleParam([key.tenant, key.traceId])) };
}

/** The parameters `pairRules`, `pairScorers`, `pairsSince` and `pairsUntil` of a query on scorers of rules over time. */
export function pairParams(pairs: readonly CoveredPair[]): QueryParams {
  return {
    pairRules: pairs.map(({ rule }) => rule),
    pairScorers: pairs.map(({ scorer }) => scorer),
    pairsSince: pairs.map(({ fromMs }) => Math.trunc(fromMs)),
    pairsUntil: pairs.map(({ untilMs }) => Math.min(Math.trunc(untilMs), Number.MAX_SAFE_INTEGER)),
  };
}

/** Reads the rows of any number of keys: one statement after the other, each for as many as one takes. */
export async function readSlices<Key, Row>(
  keys: readonly Key[],
  read: (slice: readonly Key[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const found: (readonly Row[])[] = [];
  for (const slice of splitIntoSlices(keys)) {
    found.push(await read(slice));
  }
  return found.flat();
}

/** The keys in slices that one query takes. */
export function* splitIntoSlices<T>(items: readonly T[], size: number = MAX_KEYS): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) {
    yield items.slice(from, from + size);
  }
}

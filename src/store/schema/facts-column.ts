import { FACT_KEYS } from '../../conventions/fact-keys.ts';
import type { Database } from '../database.ts';

const quote = (keys: readonly string[]) => keys.map((key) => `'${key}'`).join(', ');

/** Type and value of the column `Facts` of `otel_traces`: the attributes of a span and its resource that facts are read from. */
export const FACTS_COLUMN = `Map(LowCardinality(String), String) MATERIALIZED mapConcat(
    mapFilter((key, value) -> key IN (${quote(FACT_KEYS.span)}) OR position(key, 'feedback') > 0, SpanAttributes),
    mapFilter((key, value) -> key IN (${quote(FACT_KEYS.resource)}), ResourceAttributes)) CODEC(ZSTD(1))`;

/**
 * Alters the column of a store that was made before a key was known. Only spans stored from now on have the key.
 * @param definitions CREATE statements of the tables, by name
 */
export async function applyFactKeys(
  database: Pick<Database, 'command'>,
  definitions: ReadonlyMap<string, string>,
): Promise<void> {
  const definition = definitions.get('otel_traces') ?? '';
  const isWhole = [FACT_KEYS.span, FACT_KEYS.resource].every((keys) => definition.includes(quote(keys)));
  if (!isWhole) {
    await database.command(`ALTER TABLE otel_traces MODIFY COLUMN \`Facts\` ${FACTS_COLUMN}`);
  }
}

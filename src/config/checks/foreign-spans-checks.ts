import type { ConfigIssue } from '../faults/config-issue.ts';
import { durationMs } from '../duration.ts';
import type { KeyPath } from '../key-path.ts';
import type { Config } from '../schema.ts';
import { listConfiguredOnly, type ReceiverSection } from '../schema/components.ts';
import { DAY_MS } from '../../domain/durations.ts';

/** Longest look-back. Arrivals are kept for three days, and a span must be known for its whole look-back. */
const LONGEST_LOOKBACK_MS = DAY_MS;

/** The tables of spanscore, which are read without `store.spans`. */
const OWN_TABLES = ['otel_traces', 'otel_logs'];

/** Reports keys that do not go together with foreign span tables. */
export function foreignSpansIssues(config: Config, receivers: readonly ReceiverSection[]): ConfigIssue[] {
  const { store } = config;
  const { spans } = store;
  if (spans === undefined) {
    return [];
  }
  const issues: ConfigIssue[] = [];
  const tables: [KeyPath, string | undefined][] = [
    [['store', 'spans', 'table'], spans.table],
    [['store', 'spans', 'logs'], spans.logs],
  ];
  for (const [path, table] of tables) {
    if (
      table !== undefined &&
      OWN_TABLES.map((own) => `${store.database}.${own}`).includes(qualifyTable(table, store.database))
    ) {
      issues.push({
        path,
        message: `${qualifyTable(table, store.database)} is a table of spanscore itself; name the database of the Collector's exporter, like otel.${table.split('.').at(-1)}, or remove store.spans`,
      });
    }
  }
  const lookbackMs = durationMs(spans.lookback);
  if (lookbackMs <= 0 || lookbackMs > LONGEST_LOOKBACK_MS) {
    issues.push({ path: ['store', 'spans', 'lookback'], message: 'must be more than 0s and at most 24h' });
  }
  for (const { path } of listConfiguredOnly(config, receivers)) {
    issues.push({
      path,
      message: 'receivers do not run when store.spans names a table to read; remove one of the two',
    });
  }
  return issues;
}

/** Returns `database.table`; a table without a database belongs to `store.database`. */
function qualifyTable(table: string, database: string): string {
  return table.includes('.') ? table : `${database}.${table}`;
}

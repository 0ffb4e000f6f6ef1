import { describe, expect, it } from 'vitest';
import {
  listPlaced,
  localTable,
  logicalTable,
  placementOf,
  SHARDING_KEY,
} from '../../../../src/store/cluster/placements.ts';
import { readSchema } from '../../../../src/store/schema/schema-file.ts';

const STATEMENTS = readSchema().statements;

/** The CREATE statement of each table. */
const TABLES = new Map(
  STATEMENTS.flatMap((statement) => {
    const name = /^CREATE TABLE IF NOT EXISTS (\w+)/u.exec(statement)?.[1];
    return name === undefined ? [] : [[name, statement] as const];
  }),
);

/** The columns by which a table replaces rows, or finds them. */
function readKey(table: string): string[] {
  const key = /\nORDER BY (?:\(([^)]*)\)|(\w+))/u.exec(TABLES.get(table) ?? '');
  return (key?.[1] ?? key?.[2] ?? '').split(',').map((column) => column.trim());
}

/**
 * Engine and key of each table whose rows are distributed. FINAL, a merge and a deduplication look at one shard only, so rows that replace
 * each other have to have the same trace. A key with `TraceId` makes this sure. A `ScoreId` does, too: it is a hash of the target, which names
 * the trace or is a session without one.
 */
const KEYS_ON_SHARDS: Readonly<Record<string, readonly [engine: string, key: string]>> = {
  otel_traces: ['MergeTree', 'Tenant, TraceId, SpanId'],
  otel_logs: ['MergeTree', 'Tenant, TraceId, SpanId'],
  trace_arrivals: ['MergeTree', 'ArrivedAt, Tenant, TraceId'],
  trace_activity: ['AggregatingMergeTree', 'Tenant, TraceId'],
  trace_starts: ['MergeTree', 'FirstStart, TraceId, Tenant'],
  decisions: ['ReplacingMergeTree', 'Tenant, TraceId, Target, TargetId, Rule, Scorer'],
  decision_arrivals: ['MergeTree', 'WrittenAt, TraceId'],
  scores: ['ReplacingMergeTree', 'Tenant, Scorer, Day, ScoreId'],
  score_arrivals: ['MergeTree', 'WrittenAt, ScoreId'],
  score_starts: ['ReplacingMergeTree', 'TraceTimestamp, ScoreId'],
  runs: ['ReplacingMergeTree', 'Tenant, TraceId, Target, TargetId'],
  run_starts: ['ReplacingMergeTree', 'StartedAt, TraceId, Tenant'],
  judge_calls: ['MergeTree', 'Tenant, TraceId, CalledAt'],
};

describe('places of tables in a cluster', () => {
  it('are chosen for every table of the schema, and for no other', () => {
    const placed = [...listPlaced('sharded'), ...listPlaced('state'), ...listPlaced('copied')];

    const ofMigrations = ['schema_migrations', 'cluster_shards'];
    expect(placed.toSorted()).toEqual([...TABLES.keys(), ...ofMigrations].toSorted());
  });

  it('keep the rows of a key on one shard', () => {
    expect(SHARDING_KEY).toBe('cityHash64(TraceId)');
    const found = listPlaced('sharded').map((table) => {
      const engine = /\nENGINE = (\w+)/u.exec(TABLES.get(table) ?? '')?.[1];
      return [table, [engine, readKey(table).join(', ')]];
    });

    expect(Object.fromEntries(found)).toEqual(KEYS_ON_SHARDS);
    for (const [engine, key] of Object.values(KEYS_ON_SHARDS)) {
      expect(engine === 'MergeTree' || /\b(?:TraceId|ScoreId)\b/u.test(key)).toBe(true);
    }
  });

  it('give each sharded table the column by which rows are distributed', () => {
    const without = listPlaced('sharded').filter(
      (table) => !/^\s*`TraceId` String/mu.test(TABLES.get(table) ?? ''),
    );

    expect(without).toEqual([]);
  });

  it('have each view write rows of its own shard: the target takes the trace of its source, or is on every server', () => {
    const views = STATEMENTS.flatMap((statement) => {
      const view = /^CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) TO (\w+) AS\s+SELECT/u.exec(statement);
      return view === null ? [] : [{ name: view[1] ?? '', target: view[2] ?? '' }];
    });
    expect(views).toHaveLength(9);
    const queries = views.flatMap(({ name, target }) => {
      const query = new RegExp(
        `^(?:CREATE MATERIALIZED VIEW IF NOT EXISTS|ALTER TABLE) ${name}\\s.*?SELECT\\s(.*)\\nFROM (\\w+)`,
        'su',
      );
      return STATEMENTS.flatMap((statement) => {
        const found = query.exec(statement);
        return found === null ? [] : [{ name, target, selected: found[1] ?? '', source: found[2] ?? '' }];
      });
    });
    const leaving = queries.filter(({ target, selected, source }) => {
      const keepsTrace = placementOf(target) === 'sharded' && /(?:^|[\s,])TraceId(?:,|\s*$)/u.test(selected);
      return placementOf(source) !== 'sharded' || !(keepsTrace || placementOf(target) === 'copied');
    });

    expect(queries).toHaveLength(views.length);
    expect(leaving).toEqual([]);
  });

  it('give a copied table no tokens: both shards write to it under the token of one insert', () => {
    for (const table of listPlaced('copied')) {
      expect(TABLES.get(table)).not.toContain('deduplication_window');
    }
  });

  it('have names for the rows of a server and for statements', () => {
    expect(localTable('scores')).toBe('scores_local');
    expect(localTable('jobs')).toBe('jobs');
    expect(logicalTable('scores_local')).toBe('scores');
    expect(logicalTable('users_local')).toBe('users_local');
    expect(placementOf('users')).toBeUndefined();
  });
});

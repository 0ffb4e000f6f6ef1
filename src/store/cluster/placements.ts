/**
 * Place of a table in a cluster.
 * - `sharded`: the rows of a trace are on the servers of one shard. The table is a `Distributed` one over local tables.
 * - `state`: every server has all rows. Writes need a majority of the servers, and reads see every earlier write.
 * - `copied`: every server has all rows, some later than others.
 */
export type Placement = 'sharded' | 'state' | 'copied';

/** Expression by which rows find their shard. All rows of a trace, of each table, are in one shard. Rows without a trace are, too. */
export const SHARDING_KEY = 'cityHash64(TraceId)';

const TABLES: Readonly<Record<Placement, readonly string[]>> = {
  // Rows about traces: they grow with the traffic.
  sharded: [
    'otel_traces',
    'otel_logs',
    'trace_arrivals',
    'trace_activity',
    'trace_starts',
    'decisions',
    'decision_arrivals',
    'scores',
    'score_arrivals',
    'score_starts',
    'runs',
    'run_starts',
    'judge_calls',
  ],
  // A materialized view of a sharded table fills it. Its inserts wait for no majority, and a read that insists on one would not see them.
  copied: ['deploy_markers'],
  state: [
    'agent_signals',
    'aggregate_progress',
    'aggregate_touches',
    'alert_acks',
    'alert_deliveries',
    'alert_events',
    'alert_mutes',
    'audit',
    'cluster_shards',
    'cookie_keys',
    'dead_letters',
    'decision_hours',
    'export_progress',
    'export_replays',
    'exports',
    'job_events',
    'jobs',
    'members',
    'monitor_buckets',
    'monitor_checkpoints',
    'monitor_progress',
    'monitor_status',
    'polled_tables',
    'purge_items',
    'rule_versions',
    'schema_migrations',
    'score_days',
    'score_hours',
    'spend',
    'tombstones',
    'version_samples',
    'write_probe',
  ],
};

const PLACEMENTS: ReadonlyMap<string, Placement> = new Map(
  (Object.keys(TABLES) as Placement[]).flatMap((placement) =>
    TABLES[placement].map((table) => [table, placement] as const),
  ),
);

/** Returns the place of a table; undefined for a table that is not of spanscore. */
export function placementOf(table: string): Placement | undefined {
  return PLACEMENTS.get(table);
}

/** Returns the tables with a place. */
export function listPlaced(placement: Placement): readonly string[] {
  return TABLES[placement];
}

const SUFFIX = '_local';

/** Returns the name of the table that has the rows on each server. */
export function localTable(table: string): string {
  return placementOf(table) === 'sharded' ? `${table}${SUFFIX}` : table;
}

/** Returns the name under which statements know a table that has rows. */
export function logicalTable(table: string): string {
  const name = table.endsWith(SUFFIX) ? table.slice(0, -SUFFIX.length) : table;
  return placementOf(name) === 'sharded' ? name : table;
}

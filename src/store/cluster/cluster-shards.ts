import { ConfigError } from '../../domain/errors.ts';
import type { Database } from '../database.ts';
import type { Cluster } from './cluster.ts';
import {
  readAnsweringServers,
  readDefinedServers,
  readFirstServers,
  type AnsweringServer,
} from './cluster-servers.ts';
import { localTable } from './placements.ts';

/** Shards among which the rows of traces were distributed when the tables were created. Statement of one server, as in a migration. */
export const SHARDS_TABLE = `CREATE TABLE IF NOT EXISTS cluster_shards
(
    \`Names\` Array(String),
    \`Weights\` Array(UInt32),
    \`RecordedAt\` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY RecordedAt`;

/** Shard of a cluster; its place in a list is its place in the definition. */
export interface Shard {
  /** Macro `shard` of its servers. */
  readonly name: string;
  readonly weight: number;
}

type Shards = readonly Shard[];

const DAMAGE =
  'Most stored traces would be looked up on the wrong shard, look new, and be judged and paid again.';

const WAY_OUT =
  'Give the cluster its former shards again, in their former order, and grow by more servers in a shard, or by larger ones. To have more shards, define another cluster beside it, and set store.cluster to its name and store.database to a new name (docs/operations.md, "A cluster")';

/** Reads the shards of the definition. Throws when no server of a shard answers. */
export async function readShards(database: Pick<Database, 'outside'>, cluster: Cluster): Promise<Shards> {
  const defined = (await readDefinedServers(database)).filter((each) => each.cluster === cluster.name);
  const weights = new Map(defined.map(({ shard, weight }) => [shard, weight]));
  const first = await readFirstServers(database, cluster);
  return first.map(({ shard, name }) => ({ name, weight: weights.get(shard) ?? 1 }));
}

/**
 * Compares the shards of the definition with those of the stored rows. Does nothing where none are recorded. Throws a `ConfigError` for
 * other shards: the rows of a trace are on the shard `cityHash64(TraceId)` modulo the weights of all, so they would be looked up on
 * the wrong one.
 */
export async function checkShards(database: Pick<Database, 'name' | 'cluster' | 'outside'>): Promise<void> {
  const { cluster } = database;
  if (cluster === undefined) {
    return;
  }
  const recorded = await readRecorded(database);
  const defined = recorded.length === 0 ? [] : await readShards(database, cluster);
  for (const stored of recorded) {
    refuse(findShardFault(cluster, stored, defined));
  }
}

function refuse(fault: string | undefined): void {
  if (fault !== undefined) {
    throw new ConfigError(fault);
  }
}

/** Finds a difference between the shards of the stored rows and those of the definition. */
export function findShardFault(
  { name, database }: Cluster,
  stored: Shards,
  defined: Shards,
): string | undefined {
  return describe(stored) === describe(defined)
    ? undefined
    : `store.cluster: cluster "${name}" has the shards ${describe(defined)}, but the rows of database "${database}" are distributed over ${describe(stored)}. ${DAMAGE} ${WAY_OUT}`;
}

function describe(shards: Shards): string {
  const names = shards.map(({ name, weight }) => (weight === 1 ? name : `${name} (weight ${weight})`));
  return `${names.join(', ')} (${shards.length})`;
}

/**
 * Records the shards once, when the tables are created. For tables of an earlier version, throws a `ConfigError` when a shard has none:
 * it was added later.
 * @param isNew true when no table has rows yet
 */
export async function recordShards(database: Database, cluster: Cluster, isNew: boolean): Promise<void> {
  if ((await readRecorded(database)).length === 0) {
    const shards = await readShards(database, cluster);
    if (!isNew) {
      refuse(findAddedShard(cluster, shards, await readAnsweringServers(database, cluster)));
    }
    await database.insertRows('cluster_shards', [
      { Names: shards.map(({ name }) => name), Weights: shards.map(({ weight }) => weight) },
    ]);
  }
  // Of two processes that saw different shards at the same time, at least one finds both records.
  await checkShards(database);
}

/** Finds a shard whose servers have no tables, while those of others have. */
export function findAddedShard(
  { name: cluster, database }: Cluster,
  shards: Shards,
  servers: readonly Pick<AnsweringServer, 'shard' | 'tables'>[],
): string | undefined {
  const table = localTable('otel_traces');
  const added = shards.find(
    ({ name }) => !servers.some(({ shard, tables }) => shard === name && tables.has(table)),
  );
  return added === undefined
    ? undefined
    : `store.cluster: no server of shard ${added.name} of cluster "${cluster}" has the table ${database}.${table}, so the shard seems to be added after the tables were created. ${DAMAGE} ${WAY_OUT}. If the servers of this shard lost their disks, create the table there by hand first, as SHOW CREATE TABLE prints it on another server`;
}

/** Reads the recorded shards: more than one record only if two processes created the tables with different ones. */
async function readRecorded({ name, outside }: Pick<Database, 'name' | 'outside'>): Promise<Shard[][]> {
  const tables = await outside.rows(
    "SELECT name FROM system.tables WHERE database = {name:String} AND name = 'cluster_shards'",
    { name },
  );
  if (tables.length === 0) {
    return [];
  }
  const rows = await outside.rows<{ names: string[]; weights: number[] }>(
    `SELECT DISTINCT Names AS names, Weights AS weights FROM \`${name}\`.cluster_shards ORDER BY names, weights`,
  );
  return rows.map(({ names, weights }) =>
    names.map((shard, index) => ({ name: shard, weight: weights[index] ?? 1 })),
  );
}

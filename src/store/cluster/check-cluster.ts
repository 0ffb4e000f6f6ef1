import { ConfigError } from '../../domain/errors.ts';
import type { ServerClock } from '../contracts/store.ts';
import type { Database } from '../database.ts';
import { ANSWERING, ofAllServers, SERVER_NAME } from './cluster.ts';
import {
  readAnsweringServers,
  readDefinedServers,
  type AnsweringServer,
  type DefinedServer,
} from './cluster-servers.ts';

/**
 * Checks that the servers know the cluster and are set up for replicated tables, as far as they answer. Throws a `ConfigError` that names
 * the fault.
 */
export async function checkCluster(database: Database): Promise<void> {
  const { cluster } = database;
  if (cluster === undefined) {
    return;
  }
  const defined = await readDefinedServers(database);
  const isKnown = defined.some((each) => each.cluster === cluster.name);
  const fault = findClusterFault(
    cluster.name,
    defined,
    isKnown ? await readAnsweringServers(database, cluster) : [],
  );
  if (fault !== undefined) {
    throw new ConfigError(`store.cluster: ${fault}`);
  }
}

/** Finds the first fault in the setup of a cluster; undefined for a good one. Servers that do not answer are no fault. */
export function findClusterFault(
  name: string,
  defined: readonly DefinedServer[],
  answering: readonly Pick<AnsweringServer, 'shard' | 'replica'>[],
): string | undefined {
  const own = defined.filter(({ cluster }) => cluster === name);
  if (own.length === 0) {
    const known = [...new Set(defined.map(({ cluster }) => cluster))].join(', ');
    return `the server knows no cluster "${name}"; it knows ${known === '' ? 'none' : known} (system.clusters)`;
  }
  if (own.some(({ internalReplication }) => internalReplication === 0)) {
    return `cluster "${name}" needs <internal_replication>true</internal_replication> in each shard: the tables replicate themselves`;
  }
  const away = countServers(own) - answering.length;
  const named = answering.filter(({ shard, replica }) => shard !== '' && replica !== '');
  const pairs = new Set(named.map(({ shard, replica }) => JSON.stringify([shard, replica])));
  if (pairs.size + away < own.length) {
    return `cluster "${name}" has ${own.length} servers${describeAway(away)}, but only ${pairs.size} different pairs of the macros shard and replica; give each server its own pair in <macros>`;
  }
  const shards = new Set(own.map(({ shard }) => shard)).size;
  const shardMacros = new Set(named.map(({ shard }) => shard)).size;
  return shards === shardMacros || (away > 0 && shardMacros < shards)
    ? undefined
    : `cluster "${name}" has ${shards} shards${describeAway(away)}, but ${shardMacros} different macros shard; servers of one shard need the same, and servers of two shards different ones`;
}

/** Counts the servers of a cluster. A faulty definition names one of them twice. */
export function countServers(defined: readonly DefinedServer[]): number {
  return new Set(defined.map(({ address }) => address)).size;
}

function describeAway(away: number): string {
  return away === 0 ? '' : ` (${away} of its servers did not answer)`;
}

/**
 * Checks that the tables of a database are those of the configured cluster, or of a single server. Throws a `ConfigError` with the
 * way out.
 */
export async function checkKind({ name, cluster, outside }: Database): Promise<void> {
  const [table] = await outside.rows<{ engine: string }>(
    "SELECT engine_full AS engine FROM system.tables WHERE database = {name:String} AND name = 'otel_traces'",
    { name },
  );
  const fault = table === undefined ? undefined : findKindFault(name, table.engine, cluster?.name);
  if (fault !== undefined) {
    throw new ConfigError(fault);
  }
}

/**
 * Finds a difference between the configured cluster and the tables.
 * @param engine engine of the table of spans, as the server prints it
 */
export function findKindFault(
  database: string,
  engine: string,
  cluster: string | undefined,
): string | undefined {
  const own = /^Distributed\('([^']*)'/u.exec(engine)?.[1];
  if (own === cluster) {
    return undefined;
  }
  if (own === undefined) {
    return `store.cluster: database "${database}" has tables of a single server; set store.database to a new name, or remove store.cluster`;
  }
  return cluster === undefined
    ? `store.cluster is missing: the tables of database "${database}" belong to cluster "${own}"; set store.cluster to ${own}`
    : `store.cluster: the tables of database "${database}" belong to cluster "${own}", not to "${cluster}"; set store.cluster to ${own}, or store.database to a new name`;
}

/** Reads the clocks of the servers that answer at about the same moment; nothing for a single server. */
export async function readServerClocks(database: Database): Promise<ServerClock[]> {
  if (database.cluster === undefined) {
    return [];
  }
  // Unlike now(), nowInBlock() is not computed once by the server that was asked.
  const rows = await database.rows<{ server: string; seconds: number }>(
    `SELECT ${SERVER_NAME} AS server, toUnixTimestamp(max(nowInBlock())) AS seconds
     FROM ${ofAllServers(database.cluster, 'system.one')} GROUP BY server ORDER BY server ${ANSWERING}`,
  );
  return rows.map(({ server, seconds }) => ({ server, atMs: seconds * 1_000 }));
}

import { ConfigError } from '../../domain/errors.ts';
import type { ServerClock } from '../contracts/store.ts';
import type { Database } from '../database.ts';
import { ofAllServers } from './cluster.ts';

/** Server of a cluster, as `system.clusters` describes it. */
export interface ClusterServer {
  readonly cluster: string;
  readonly shard: number;
  /** 0 when a Distributed table itself writes to each replica of a shard. */
  readonly internalReplication: number;
}

/** Macros of a server; '' for a missing one. */
export interface ServerMacros {
  readonly shard: string;
  readonly replica: string;
}

/** Checks that the servers know the cluster and are set up for replicated tables. Throws a `ConfigError` that names the fault. */
export async function checkCluster({ cluster, outside }: Database): Promise<void> {
  if (cluster === undefined) {
    return;
  }
  const servers = await outside.rows<ClusterServer>(
    `SELECT cluster, shard_num AS shard, internal_replication AS internalReplication FROM system.clusters
     ORDER BY cluster, shard, replica_num`,
  );
  const own = servers.filter((server) => server.cluster === cluster.name);
  const macros =
    own.length === 0
      ? []
      : await outside.rows<ServerMacros>(
          `SELECT anyIf(substitution, macro = 'shard') AS shard, anyIf(substitution, macro = 'replica') AS replica
           FROM ${ofAllServers(cluster, 'system.macros')} GROUP BY hostName(), tcpPort()`,
        );
  const fault = findClusterFault(cluster.name, servers, macros);
  if (fault !== undefined) {
    throw new ConfigError(`store.cluster: ${fault}`);
  }
}

/** Finds the first fault in the setup of a cluster; undefined for a good one. */
export function findClusterFault(
  name: string,
  servers: readonly ClusterServer[],
  macros: readonly ServerMacros[],
): string | undefined {
  const own = servers.filter(({ cluster }) => cluster === name);
  if (own.length === 0) {
    const known = [...new Set(servers.map(({ cluster }) => cluster))].join(', ');
    return `the server knows no cluster "${name}"; it knows ${known === '' ? 'none' : known} (system.clusters)`;
  }
  if (own.some(({ internalReplication }) => internalReplication === 0)) {
    return `cluster "${name}" needs <internal_replication>true</internal_replication> in each shard: the tables replicate themselves`;
  }
  const named = macros.filter(({ shard, replica }) => shard !== '' && replica !== '');
  const pairs = new Set(named.map(({ shard, replica }) => JSON.stringify([shard, replica])));
  if (pairs.size < own.length) {
    return `cluster "${name}" has ${own.length} servers, but only ${pairs.size} different pairs of the macros shard and replica; give each server its own pair in <macros>`;
  }
  const shards = new Set(own.map(({ shard }) => shard)).size;
  const shardMacros = new Set(named.map(({ shard }) => shard)).size;
  return shards === shardMacros
    ? undefined
    : `cluster "${name}" has ${shards} shards, but ${shardMacros} different macros shard; servers of one shard need the same, and servers of two shards different ones`;
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

/** Reads the clocks of all servers of a cluster at about the same moment; nothing for a single server. */
export async function readServerClocks(database: Database): Promise<ServerClock[]> {
  if (database.cluster === undefined) {
    return [];
  }
  // Unlike now(), nowInBlock() is not computed once by the server that was asked.
  const rows = await database.rows<{ server: string; seconds: number }>(
    `SELECT concat(hostName(), ':', toString(tcpPort())) AS server, toUnixTimestamp(max(nowInBlock())) AS seconds
     FROM ${ofAllServers(database.cluster, 'system.one')} GROUP BY server ORDER BY server`,
  );
  return rows.map(({ server, seconds }) => ({ server, atMs: seconds * 1_000 }));
}

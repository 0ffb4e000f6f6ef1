import { localTable, logicalTable, placementOf } from './placements.ts';
import { quoteName } from '../quote-name.ts';

/** Cluster of ClickHouse servers with one database of spanscore on each. */
export interface Cluster {
  /** Name in `system.clusters`. */
  readonly name: string;
  readonly database: string;
}

/** SQL for the host name and the port of the server that computes it. */
export const SERVER_NAME = "concat(hostName(), ':', toString(tcpPort()))";

/** SQL for the setting of a read of all servers that leaves out those that do not answer. */
export const ANSWERING = 'SETTINGS skip_unavailable_shards = 1';

/** Returns ` ON CLUSTER …`, or '' without a cluster. */
export function onCluster(cluster: Cluster | undefined): string {
  return cluster === undefined ? '' : ` ON CLUSTER ${quoteName(cluster.name)}`;
}

/**
 * Builds an ALTER statement of the rows of a table. Replicas pass a change on to each other, so a table that all servers have is
 * changed on one of them. Settings alone are not passed on: each server changes its own.
 */
export function alterTable(cluster: Cluster | undefined, table: string, change: string): string {
  const isOnEach = placementOf(table) === 'sharded' || /^MODIFY SETTING\s/u.test(change);
  return `ALTER TABLE ${rowsTable(cluster, table)}${isOnEach ? onCluster(cluster) : ''} ${change}`;
}

/** Returns the name of the table that has rows: the table itself without a cluster. */
export function rowsTable(cluster: Cluster | undefined, table: string): string {
  return cluster === undefined ? table : localTable(table);
}

/** Returns the name of a table with rows under which statements know it. */
export function statementTable(cluster: Cluster | undefined, table: string): string {
  return cluster === undefined ? table : logicalTable(table);
}

/** Returns SQL for a system table of every server. */
export function ofAllServers(cluster: Cluster | undefined, table: string): string {
  return cluster === undefined ? table : `clusterAllReplicas('${cluster.name}', ${table})`;
}

/** Returns SQL for a system table of one server of each shard. */
export function ofEachShard(cluster: Cluster | undefined, table: string): string {
  return cluster === undefined ? table : `cluster('${cluster.name}', ${table})`;
}

import type { Database } from '../database.ts';
import { ANSWERING, ofAllServers, SERVER_NAME, type Cluster } from './cluster.ts';

/** Server of a cluster, as `system.clusters` of the server that is asked describes it. */
export interface DefinedServer {
  readonly cluster: string;
  readonly shard: number;
  /** Share of the shard in the rows. */
  readonly weight: number;
  /** Host and port, as they are written in the definition. */
  readonly address: string;
  /** 0 when a Distributed table itself writes to each replica of a shard. */
  readonly internalReplication: number;
}

/** Server of a cluster that answers. */
export interface AnsweringServer {
  /** Host name and port, as the server says them. */
  readonly server: string;
  /** Macros; '' for a missing one. */
  readonly shard: string;
  readonly replica: string;
  /** Tables and views that it has in the database. */
  readonly tables: ReadonlySet<string>;
}

/** Server that is read and written first in its shard. */
export interface FirstServer {
  /** Place of the shard in the definition, from 1. */
  readonly shard: number;
  readonly server: string;
  /** Macro `shard`. */
  readonly name: string;
}

/** Reads the servers of all clusters that the server knows, in the order of their definition. */
export function readDefinedServers({ outside }: Pick<Database, 'outside'>): Promise<DefinedServer[]> {
  return outside.rows(
    `SELECT cluster, shard_num AS shard, shard_weight AS weight, concat(host_name, ':', toString(port)) AS address,
       internal_replication AS internalReplication
     FROM system.clusters ORDER BY cluster, shard, replica_num`,
  );
}

/** Reads the servers that answer, with the tables that each has. */
export async function readAnsweringServers(
  { name, outside }: Pick<Database, 'name' | 'outside'>,
  cluster: Cluster,
): Promise<AnsweringServer[]> {
  const ofEach = <Row>(selected: string, table: string, where = '1') =>
    outside.rows<Row & { server: string }>(
      `SELECT ${SERVER_NAME} AS server${selected} FROM ${ofAllServers(cluster, table)} WHERE ${where}
       GROUP BY server ORDER BY server ${ANSWERING}`,
      { name },
    );
  const servers = await ofEach('', 'system.one');
  const macros = await ofEach<{ shard: string; replica: string }>(
    ", anyIf(substitution, macro = 'shard') AS shard, anyIf(substitution, macro = 'replica') AS replica",
    'system.macros',
  );
  const tables = await ofEach<{ names: string[] }>(
    ', groupArray(name) AS names',
    'system.tables',
    'database = {name:String}',
  );
  return servers.map(({ server }) => {
    const own = macros.find((each) => each.server === server);
    return {
      server,
      shard: own?.shard ?? '',
      replica: own?.replica ?? '',
      tables: new Set(tables.find((each) => each.server === server)?.names),
    };
  });
}

/** Reads the first server of each shard that answers. Throws when no server of a shard does. */
export function readFirstServers(
  { outside }: Pick<Database, 'outside'>,
  cluster: Cluster,
): Promise<FirstServer[]> {
  return outside.rows(
    `SELECT shardNum() AS shard, ${SERVER_NAME} AS server, anyIf(substitution, macro = 'shard') AS name
     FROM cluster('${cluster.name}', system.macros) GROUP BY shard, server ORDER BY shard`,
  );
}

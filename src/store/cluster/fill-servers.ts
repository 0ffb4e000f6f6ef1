import { readErrorMessage, StoreRejectedError, StoreUnavailableError } from '../../domain/errors.ts';
import { formatCount } from '../../domain/plural.ts';
import type { ClusterStatus, TableGap } from '../contracts/cluster-status.ts';
import type { Database } from '../database.ts';
import { quoteName } from '../quote-name.ts';
import { countServers } from './check-cluster.ts';
import { DDL_WAIT } from './cluster-settings.ts';
import { ANSWERING, ofAllServers, onCluster, type Cluster } from './cluster.ts';
import {
  readAnsweringServers,
  readDefinedServers,
  readFirstServers,
  type AnsweringServer,
  type FirstServer,
} from './cluster-servers.ts';
import { listPlaced, localTable } from './placements.ts';
import { renderStatement } from './render-statement.ts';

/** Order in which tables are created: rows, what reads them on all shards, and views, which read and write rows. */
const KINDS = ['rows', 'distributed', 'view'] as const;

/** Table or view of the schema of a cluster. */
interface SchemaObject {
  readonly name: string;
  readonly kind: (typeof KINDS)[number];
}

/** Lists the tables and views that statements of migrations create on each server, in the order of their creation. */
export function listObjects(cluster: Cluster, statements: readonly string[]): SchemaObject[] {
  const objects = statements
    .flatMap((statement) => renderStatement(statement, cluster))
    .flatMap((statement): SchemaObject[] => {
      const [, type, name] = /^CREATE (TABLE|MATERIALIZED VIEW) IF NOT EXISTS (\w+)/u.exec(statement) ?? [];
      if (name === undefined) {
        return [];
      }
      const tableKind = statement.includes('\nENGINE = Distributed(') ? 'distributed' : 'rows';
      return [{ name, kind: type === 'TABLE' ? tableKind : 'view' }];
    });
  return KINDS.flatMap((kind) => objects.filter((object) => object.kind === kind));
}

/** Lists the servers that lack tables, with their names. */
export function findGaps(objects: readonly SchemaObject[], servers: readonly AnsweringServer[]): TableGap[] {
  return servers
    .map(({ server, tables }) => ({
      server,
      tables: objects.map(({ name }) => name).filter((name) => !tables.has(name)),
    }))
    .filter(({ tables }) => tables.length > 0);
}

/**
 * Finds a reason against the creation of missing tables. A server that comes first in its shard is read as soon as it has tables: before
 * it has fetched their rows, stored decisions would look absent.
 */
export function findFillFault(
  cluster: Cluster,
  servers: readonly AnsweringServer[],
  first: readonly FirstServer[],
): string | undefined {
  const lacksRows = ({ tables }: AnsweringServer, table: string) => !tables.has(localTable(table));
  for (const { server: name } of first) {
    const early = servers.find(({ server }) => server === name);
    const other = servers.find(
      (each) =>
        early !== undefined &&
        each.shard === early.shard &&
        listPlaced('sharded').some((table) => lacksRows(early, table) && !lacksRows(each, table)),
    );
    if (early !== undefined && other !== undefined) {
      return `server ${name} comes first in shard ${early.shard} of cluster "${cluster.name}", but lacks tables that ${other.server} has: it would be read before it has their rows. Write it after the other servers of its shard in remote_servers, run spanscore migrate, and write it first when system.replicas of the server shows no delay`;
    }
  }
  return undefined;
}

/** Builds the statement that creates a table where it is missing, from its definition as a server prints it. */
export function buildCopy(cluster: Cluster, name: string, definition: string): string {
  const head = /^CREATE (TABLE|MATERIALIZED VIEW) \S+(?= )/u;
  if (!head.test(definition)) {
    throw new StoreRejectedError(
      `the definition of table ${name} of database "${cluster.database}" cannot be read: ${definition.slice(0, 80)}`,
    );
  }
  return definition.replace(
    head,
    (_, type: string) =>
      `CREATE ${type} IF NOT EXISTS ${quoteName(cluster.database)}.${quoteName(name)}${onCluster(cluster)}`,
  );
}

/**
 * Compares the tables of all servers that answer. A server that joined the cluster later, or lost its disk, has none.
 * @param statements statements of the migrations whose tables exist
 */
export async function readClusterStatus(
  database: Database,
  cluster: Cluster,
  statements: readonly string[],
): Promise<ClusterStatus> {
  const defined = (await readDefinedServers(database)).filter((each) => each.cluster === cluster.name);
  const servers = await readAnsweringServers(database, cluster);
  const objects = listObjects(cluster, statements);
  const gaps = findGaps(objects, servers);
  const counts = {
    shards: new Set(defined.map(({ shard }) => shard)).size,
    servers: countServers(defined),
    answering: servers.length,
  };
  if (gaps.length === 0) {
    return { ...counts, gaps, repairs: [], fault: undefined };
  }
  const definitions = await readCopies(database, cluster);
  const missing = objects.filter(({ name }) => gaps.some(({ tables }) => tables.includes(name)));
  const lost = missing.filter(({ name }) => !definitions.has(name)).map(({ name }) => name);
  const fault =
    lost.length > 0
      ? `no server of cluster "${cluster.name}" has the tables ${lost.join(', ')}, which migrations created: restore database "${cluster.database}" from a backup`
      : findFillFault(cluster, servers, await readFirstServers(database, cluster));
  const repairs = missing.flatMap(({ name }) => {
    const definition = definitions.get(name);
    return definition === undefined ? [] : [buildCopy(cluster, name, definition)];
  });
  return { ...counts, gaps, repairs, fault };
}

/** Reads the definition of each table from a server that has it. Paths in Keeper keep the macros, which each server expands itself. */
async function readCopies({ name, outside }: Database, cluster: Cluster): Promise<Map<string, string>> {
  const rows = await outside.rows<{ table: string; definition: string }>(
    `SELECT name AS table, any(create_table_query) AS definition FROM ${ofAllServers(cluster, 'system.tables')}
     WHERE database = {name:String} GROUP BY table ${ANSWERING}`,
    { name },
  );
  return new Map(rows.map(({ table, definition }) => [table, definition]));
}

/** Text of the error about a replica that Keeper knows from a lost server. */
const REPLICA_EXISTS = 'REPLICA_ALREADY_EXISTS';

/**
 * Wait for each statement after one for which a server was waited in vain, seconds. Each server has its statements in a queue, and runs them in
 * their order, also later.
 */
const NEXT_WAIT_S = 1;

/**
 * Creates the missing tables on the servers that lack them. Replicas then fetch their rows from each other. A server that is away or slow
 * does not keep the others from their tables. Throws when the tables must not be created, cannot be, or are not there yet.
 * @param readGaps reads which servers that answer lack tables now
 */
export async function fillServers(
  database: Pick<Database, 'command'>,
  { repairs, fault }: Pick<ClusterStatus, 'repairs' | 'fault'>,
  readGaps: () => Promise<readonly TableGap[]>,
): Promise<void> {
  if (fault !== undefined) {
    throw new StoreRejectedError(fault);
  }
  let late: unknown;
  for (const statement of repairs) {
    try {
      await database.command(statement, late === undefined ? undefined : { [DDL_WAIT]: String(NEXT_WAIT_S) });
    } catch (error) {
      if (!readErrorMessage(error).includes(DDL_WAIT)) {
        throw explainReplica(error);
      }
      late ??= error;
    }
  }
  const gaps = late === undefined ? [] : await readGaps();
  if (gaps.length > 0) {
    const servers = gaps.map(({ server, tables }) => `${server} (${formatCount(tables.length, 'table')})`);
    throw new StoreUnavailableError(
      `tables are still missing on ${servers.join(', ')}: the servers go on in the background; run spanscore migrate again in a minute, and bring back servers that are away. ${readErrorMessage(late)}`,
      { cause: late },
    );
  }
}

function explainReplica(error: unknown): unknown {
  const message = readErrorMessage(error);
  return message.includes(REPLICA_EXISTS)
    ? new StoreRejectedError(
        `${message}. Keeper still knows the replica of a lost server with the same macros: give the new server a macro replica that was never used, and drop the lost replica (docs/operations.md, "Replace a server")`,
        {},
        error,
      )
    : error;
}

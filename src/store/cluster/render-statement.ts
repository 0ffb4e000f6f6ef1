import { AppError } from '../../domain/errors.ts';
import { alterTable, onCluster, type Cluster } from './cluster.ts';
import { localTable, placementOf, SHARDING_KEY } from './placements.ts';

/**
 * Time for which a cluster remembers the tokens of inserts, seconds. Tokens also keep two processes from making the same choice, so they are
 * kept as long as on one server: until `replicated_deduplication_window` newer ones came.
 */
const REMEMBERED_S = 10 * 365 * 86_400;

/**
 * Renders a statement of a migration for a cluster: Replicated engines, and a Distributed table under the old name for the rows
 * of traces. Each result can be repeated, as the statement can. Throws for a statement of an unknown kind.
 */
export function renderStatement(statement: string, cluster: Cluster): string[] {
  const table = /^CREATE TABLE IF NOT EXISTS (\w+)\s/u.exec(statement)?.[1];
  if (table !== undefined) {
    return renderTable(statement, table, cluster);
  }
  const view = /^CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) TO (\w+) AS\s+(SELECT\s.*)$/su.exec(statement);
  if (view !== null) {
    const [, name = '', target = '', query = ''] = view;
    return [
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${name}${onCluster(cluster)} TO ${localTable(target)} AS\n${renderQuery(query)}`,
    ];
  }
  const alter = /^ALTER TABLE (\w+)\s+(.*)$/su.exec(statement);
  if (alter !== null) {
    const [, name = '', change = ''] = alter;
    return renderAlter(name, change, cluster);
  }
  if (/^INSERT INTO \w+\s+SELECT\s/u.test(statement)) {
    return [statement];
  }
  throw unknownStatement(statement);
}

function unknownStatement(statement: string): AppError {
  return new AppError(
    `a migration has a statement that is not known for clusters: ${statement.slice(0, 80)}`,
    {
      code: 'bug',
      stage: 'store',
      retryable: false,
    },
  );
}

const ENGINE = /\nENGINE = (\w*MergeTree)(?:\(([^)\n]*)\))?(?=\n|$)/u;

function renderTable(statement: string, table: string, cluster: Cluster): string[] {
  if (!ENGINE.test(statement) || placementOf(table) === undefined) {
    throw unknownStatement(statement);
  }
  const created = renderDeduplication(statement)
    .replace(/^CREATE TABLE IF NOT EXISTS \w+/u, (head) =>
      head.replace(/\w+$/u, `${localTable(table)}${onCluster(cluster)}`),
    )
    .replace(ENGINE, (_, engine: string, options: string | undefined) => {
      const parts = [...keeperPath(table, cluster), ...(options === undefined ? [] : [options])];
      return `\nENGINE = Replicated${engine}(${parts.join(', ')})`;
    });
  return placementOf(table) === 'sharded'
    ? [created, `CREATE TABLE IF NOT EXISTS ${table}${describeDistributed(table, cluster)}`]
    : [created];
}

/** Path of a table in Keeper and the name of the replica. All servers are replicas of a table that is not sharded. */
function keeperPath(table: string, { name, database }: Cluster): [string, string] {
  const root = `/clickhouse/spanscore/${name}`;
  return placementOf(table) === 'sharded'
    ? [`'${root}/shards/{shard}/${database}/${table}'`, `'{replica}'`]
    : [`'${root}/all/${database}/${table}'`, `'{shard}-{replica}'`];
}

/** Replicated tables deduplicate by default, those of a single server only by a setting. */
function renderDeduplication(statement: string): string {
  const own = /non_replicated_deduplication_window = (\d+)/u;
  const window = Number(own.exec(statement)?.[1] ?? 0);
  const settings = [
    `replicated_deduplication_window = ${window}`,
    ...(window === 0 ? [] : [`replicated_deduplication_window_seconds = ${REMEMBERED_S}`]),
  ].join(', ');
  if (own.test(statement)) {
    return statement.replace(own, settings);
  }
  return /\nSETTINGS /u.test(statement) ? `${statement}, ${settings}` : `${statement}\nSETTINGS ${settings}`;
}

function describeDistributed(table: string, cluster: Cluster): string {
  const local = localTable(table);
  return `${onCluster(cluster)} AS ${local}\nENGINE = Distributed('${cluster.name}', '${cluster.database}', '${local}', ${SHARDING_KEY})`;
}

function renderAlter(name: string, change: string, cluster: Cluster): string[] {
  const query = /^MODIFY QUERY\s+(SELECT\s.*)$/su.exec(change)?.[1];
  if (query !== undefined) {
    return [`ALTER TABLE ${name}${onCluster(cluster)} MODIFY QUERY\n${renderQuery(query)}`];
  }
  const altered = alterTable(cluster, name, change);
  const changesColumns = /\b(?:ADD|MODIFY|DROP|RENAME) COLUMN\b/u.test(change);
  return placementOf(name) === 'sharded' && changesColumns
    ? [altered, `CREATE OR REPLACE TABLE ${name}${describeDistributed(name, cluster)}`]
    : [altered];
}

/** Renders the query of a view, which reads the rows that come to its server. */
function renderQuery(query: string): string {
  const sources = [...query.matchAll(/\bFROM (\w+)/gu)];
  const source = sources[0]?.[1];
  if (sources.length !== 1 || source === undefined) {
    throw unknownStatement(query);
  }
  const local = localTable(source);
  return local === source ? query : query.replace(/\bFROM \w+/u, `FROM ${local} AS ${source}`);
}

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type {
  ChdbModule,
  ChdbResult,
  ChdbSession,
} from '../../../../src/store/embedded/sessions/chdb-session.ts';
import { LACKING, ONE_AWAY, TWO_SHARDS } from './cluster-name.ts';
import { listPlaced, localTable, SHARDING_KEY } from '../../../../src/store/cluster/placements.ts';

// chdb as a cluster of two shards, for tests: the real planner and the real Distributed engine, over one process. Both shards have the same
// files, and each sees its own rows only. There is no Keeper and there are no other servers. So what needs them is rewritten: ON CLUSTER,
// replicated engines, the macros and the names of servers.

const chdb = createRequire(import.meta.url)('chdb') as ChdbModule;

const buildReplica = (address: string) => {
  const [host, port] = address.split(':');
  return `<replica><host>${host}</host><port>${port}</port></replica>`;
};

const buildCluster = (name: string, shards: readonly (readonly string[])[]) =>
  `<${name}>${shards
    .map(
      (servers) =>
        `<shard><internal_replication>true</internal_replication>${servers.map(buildReplica).join('')}</shard>`,
    )
    .join('')}</${name}>`;

// The shards have two names of one address: else the engine would take them for one server.
const CONFIG = `<tcp_port>9000</tcp_port><macros><replica>1</replica></macros><remote_servers>
  ${buildCluster(TWO_SHARDS, [['127.0.0.1:9000'], ['localhost:9000']])}
  ${buildCluster(ONE_AWAY, [['127.0.0.1:9000'], ['localhost:9000', '127.0.0.1:1']])}</remote_servers>`;

/** Rows of the shard that reads; all rows for a read that is no part of a distributed one. */
const OWN_ROWS = `shardNum() = 0 OR ${SHARDING_KEY} % 2 = shardNum() - 1`;

const LACKS_JOBS = String.raw`database != \'${LACKING}\' OR name != \'jobs\' OR shardNum() != 2`;

const FILTERS = [
  ...listPlaced('sharded').map((table) => `'${localTable(table)}': '${OWN_ROWS}'`),
  `'system.tables': '${LACKS_JOBS}'`,
];

/** Divides the parts of a local table, because an insert goes to both shards under the same token. */
function divideParts(sql: string): string {
  if (!/\bCREATE TABLE IF NOT EXISTS \w+_local\b/u.test(sql)) {
    return sql;
  }
  const shard = `${SHARDING_KEY} % 2`;
  return sql.includes('\nPARTITION BY ')
    ? sql.replace(/\nPARTITION BY (.*)\n/u, `\nPARTITION BY ($1, ${shard})\n`)
    : sql.replace('\nORDER BY ', `\nPARTITION BY ${shard}\nORDER BY `);
}

/** Makes a statement work without Keeper. */
function withoutKeeper(sql: string): string {
  return divideParts(sql)
    .replaceAll(/\bSYSTEM SYNC REPLICA ON CLUSTER `\w+` [\w.]+/gu, 'SELECT 1')
    .replaceAll(/ ON CLUSTER `\w+`/gu, '')
    .replaceAll(/\bReplicated(\w*MergeTree)\('[^']*', '[^']*'(?:, )?/gu, '$1(')
    .replaceAll(/, replicated_deduplication_window_seconds = \d+/gu, '')
    .replaceAll(/\breplicated_deduplication_window = /gu, 'non_replicated_deduplication_window = ')
    .replaceAll(/\bprefer_localhost_replica\s*=\s*'?0'?/gu, 'prefer_localhost_replica = 1')
    .replaceAll("concat(hostName(), ':', toString(tcpPort()))", "concat('server-', toString(shardNum()))")
    .replaceAll("anyIf(substitution, macro = 'shard')", 'toString(any(shardNum()))');
}

/** Adds the cluster to the configuration of the engine. */
function addCluster(argument: string): string {
  const file = /^--config-file=(.*)$/u.exec(argument)?.[1];
  if (file === undefined) {
    return argument;
  }
  const clustered = file.replace(/\.xml$/u, '-two-shards.xml');
  writeFileSync(clustered, readFileSync(file, 'utf8').replace('</clickhouse>', `${CONFIG}</clickhouse>`));
  return `--config-file=${clustered}`;
}

/** Session of chdb whose statements run on the two shards. */
export class Session implements ChdbSession {
  private readonly inner: ChdbSession;
  private readonly ready: Promise<unknown>;

  constructor(path: string, { connectionArgs }: { connectionArgs: readonly string[] }) {
    this.inner = new chdb.Session(path, { connectionArgs: connectionArgs.map(addCluster) });
    // The cache of conditions would take the rows of one shard for those of the other, because they have the same files.
    this.ready = this.inner.queryAsync(
      `SET additional_table_filters = {${FILTERS.join(', ')}}, use_query_condition_cache = 0`,
      { format: 'Null' },
    );
  }

  async queryAsync(sql: string, options: { format: string }): Promise<ChdbResult> {
    await this.ready;
    return this.inner.queryAsync(withoutKeeper(sql), options);
  }

  close(): void {
    this.inner.close();
  }
}

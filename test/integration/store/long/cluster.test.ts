import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TraceKey } from '../../../../src/store/contracts/stores.ts';
import { joinTraceKey } from '../../../../src/store/contracts/stores.ts';
import { checkStore } from '../../../../src/cli/checks/doctor-checks.ts';
import { parseConfig } from '../../../../src/app/config/index.ts';
import { onCluster } from '../../../../src/store/cluster/cluster.ts';
import { buildCopy, listObjects } from '../../../../src/store/cluster/fill-servers.ts';
import { renderStatement } from '../../../../src/store/cluster/render-statement.ts';
import { listPlaced, localTable, SHARDING_KEY } from '../../../../src/store/cluster/placements.ts';
import { listExpiries } from '../../../../src/store/schema/retention.ts';
import { readSchema, schemaFile, splitStatements } from '../../../../src/store/schema/schema-file.ts';
import { openStore, readStoreSchema } from '../../../../src/store/store.ts';
import { emptyFolder } from '../../../support/processes/cli.ts';
import { runCommand as runProgram } from '../../../support/processes/run-command.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { queryRows, runCommand } from '../../../support/store/clickhouse-query.ts';
import { LACKING, ONE_AWAY, TWO_SHARDS } from '../../../support/store/cluster/cluster-name.ts';
import { startTwoShards, testEngine, type TestEngine } from '../../../support/store/engine.ts';
import { buildRunRecord } from '../../../support/store/run-rows.ts';
import {
  buildDecision,
  buildLog,
  buildScore,
  buildSpan,
  logBlock,
  newTraceId,
  openTestStore,
  spanBlock,
  storeFlags,
  storeOptions,
  type TestStore,
} from '../../../support/store/store-rows.ts';

const TRACES: readonly TraceKey[] = Array.from({ length: 40 }, () => ({
  tenant: 'acme',
  traceId: newTraceId(),
}));

const CLUSTER = { name: 'main-1', database: 'quality' };

const STATEMENTS = readSchema().statements;

describe('the engine parses', () => {
  let engine: TestEngine;

  beforeAll(async () => {
    engine = await testEngine();
  });
  afterAll(() => engine.stop());

  /** Formats statements as a server does; null for one that it cannot parse. */
  const parse = (statements: readonly string[]) => {
    const list = statements.map((each) => `'${each.replaceAll(/[\\']/gu, String.raw`\$&`)}'`).join(',\n');
    return queryRows<{ statement: string; text: string | null }>(
      { ...engine, database: 'default' },
      `SELECT arrayJoin([${list}]) AS statement, formatQuerySingleLineOrNull(statement) AS text`,
    );
  };

  test('every statement of the schema as it is rendered for a cluster', async () => {
    const statements = STATEMENTS.flatMap((statement) => renderStatement(statement, CLUSTER));
    const rows = await parse(statements);
    expect(rows).toHaveLength(statements.length);
    expect(rows.filter(({ text }) => text === null)).toEqual([]);
    const created = rows.filter(({ text }) => text?.startsWith('CREATE TABLE'));
    expect(created.every(({ text }) => text?.includes('ON CLUSTER `main-1`'))).toBe(true);
  });

  test('every statement for people who operate a cluster, and that of a purge', async () => {
    const sync = `SYSTEM SYNC REPLICA${onCluster(CLUSTER)} quality.purge_items`;
    const rows = await parse([...readStatements(), sync]);
    expect(rows).toHaveLength(9);
    expect(rows.filter(({ text }) => text === null)).toEqual([]);
  });

  test('every statement that creates a table on a server that lacks it, with the macros of its path', async () => {
    const created = (
      await parse(STATEMENTS.flatMap((statement) => renderStatement(statement, CLUSTER)))
    ).filter(({ text }) => /^CREATE (?:TABLE|MATERIALIZED VIEW) IF NOT EXISTS/u.test(text ?? ''));
    const copies = created.map(({ text }) => {
      const [, type = '', name = '', rest = ''] =
        /^CREATE (.*) IF NOT EXISTS (\w+) ON CLUSTER `main-1` (.*)$/u.exec(text ?? '') ?? [];
      return buildCopy(CLUSTER, name, `CREATE ${type} quality.${name} ${rest}`);
    });
    expect(copies).toHaveLength(listObjects(CLUSTER, STATEMENTS).length);
    const rows = await parse(copies);
    expect(rows.filter(({ text }) => text === null)).toEqual([]);
    const replicated = rows.filter(({ text }) => text?.includes('ENGINE = Replicated'));
    expect(replicated.length).toBeGreaterThan(30);
    for (const { text } of replicated) {
      expect(text).toMatch(/\('\/clickhouse\/spanscore\/main-1\/.*', '(?:\{shard\}-)?\{replica\}'/u);
    }
  });
});

/** Statements of the section about clusters in the page about operations. */
function readStatements(): string[] {
  const page = readFileSync(join(schemaFile(), '../../../docs/operations.md'), 'utf8');
  const section = page.slice(page.indexOf('\n## A cluster\n'), page.indexOf('\n## Sizing\n'));
  const blocks = [...section.matchAll(/```sql\n(.*?)```/gsu)].map(([, block = '']) => block);
  return blocks.flatMap(splitStatements);
}

describe('a store on two shards', () => {
  let it: TestStore;

  beforeAll(async () => {
    const engine = await startTwoShards();
    it = await openTestStore(engine, { ...storeOptions(engine), cluster: TWO_SHARDS });
    const spans = TRACES.flatMap(({ traceId }) => [buildSpan({ traceId }), buildSpan({ traceId })]);
    const block = () => spanBlock(spans, 'acme');
    await it.store.sink.insert(block(), 'block-1');
    // A sender that got no answer repeats its request.
    await it.store.sink.insert(block(), 'block-1');
    await it.store.sink.insert(
      logBlock(
        TRACES.map(({ traceId }) => buildLog({ traceId })),
        'acme',
      ),
      'block-2',
    );
    for (const revision of [1, 2]) {
      const evidenceUntil = Date.now() + revision;
      await it.store.runs.write(
        TRACES.map((key) => buildRunRecord({ ...key, targetId: key.traceId, evidenceUntil })),
      );
      await it.store.scores.write(
        TRACES.map((key) => buildScore({ ...key, revision, evidenceUntil, serviceVersion: '1.2' })),
      );
      await it.store.decisions.write(
        TRACES.map((key) => buildDecision({ ...key, targetId: key.traceId, revision, evidenceUntil })),
      );
    }
  });
  afterAll(() => it.stop());

  const count = async (from: string) =>
    Number((await queryRows<{ n: string }>(it.options, `SELECT count() AS n FROM ${from}`))[0]?.n);

  test('has rows of each table of traces on both, and all of a trace on one', async () => {
    const onShards = await Promise.all(
      listPlaced('sharded')
        .filter((table) => table !== 'judge_calls')
        .map((table) =>
          queryRows<{ table: string; shards: string; traces: string }>(
            it.options,
            `SELECT '${table}' AS table, uniqExact(_shard_num) AS shards, uniqExact(TraceId, _shard_num) AS traces FROM ${table}`,
          ),
        ),
    );
    for (const [row] of onShards) {
      expect(row).toEqual({ table: row?.table, shards: '2', traces: String(TRACES.length) });
    }
  });

  test('stores a repeated request once, with what its views write', async () => {
    expect(await count('otel_traces')).toBe(2 * TRACES.length);
    expect(await count('trace_arrivals')).toBe(2 * TRACES.length);
  });

  test('has one current row of each key, with FINAL on the shard of the key', async () => {
    const keys = {
      decisions: 'Tenant, TraceId, Target, TargetId, Rule, Scorer',
      scores: 'Tenant, Scorer, Day, ScoreId',
      score_starts: 'TraceTimestamp, ScoreId',
      runs: 'Tenant, TraceId, Target, TargetId',
    };
    for (const [table, key] of Object.entries(keys)) {
      const onShards = `SELECT ${key} FROM ${localTable(table)} GROUP BY ${key} HAVING uniqExact(${SHARDING_KEY} % 2) > 1`;
      expect(await count(`(${onShards})`)).toBe(0);
    }
    expect(await count('decisions FINAL')).toBe(TRACES.length);
    expect(await count('runs FINAL')).toBe(TRACES.length);
    expect(await count('scores FINAL WHERE Revision = 2')).toBe(TRACES.length);
  });

  test('asks one shard for a trace that is named', async () => {
    const [one] = TRACES;
    const named = `decisions WHERE TraceId = '${one?.traceId}'`;
    const settings = 'SETTINGS optimize_skip_unused_shards = 1, force_optimize_skip_unused_shards = 2';
    expect(await count(`${named} ${settings}`)).toBe(2);
    await expect(count(`decisions WHERE Rule = 'default' ${settings}`)).rejects.toThrow(
      'UNABLE_TO_SKIP_UNUSED_SHARDS',
    );
  });

  test('gives traces, activity, runs, decisions and scores back as one server does', async () => {
    const traces = await it.store.spans.read(TRACES);
    const activity = await it.store.spans.activity(TRACES);
    for (const key of TRACES) {
      expect(traces.get(joinTraceKey(key))).toMatchObject({ spans: [{}, {}], logs: [{}] });
      expect(activity.get(joinTraceKey(key))).toMatchObject({ rootSeen: true, agentSeen: true });
    }
    // The two shards of the test have the same files, which count for both.
    expect(await it.store.size()).toMatchObject({ rows: { spans: 2 * 2 * TRACES.length } });
  });

  test('keeps state and what a view of scores writes on every server, not on a shard', async () => {
    const engines = await queryRows<{ name: string; engine: string }>(
      it.options,
      "SELECT name, engine FROM system.tables WHERE database = currentDatabase() AND name IN ('spend', 'jobs', 'deploy_markers', 'scores')",
    );
    expect(engines.filter(({ engine }) => engine === 'Distributed')).toEqual([
      { name: 'scores', engine: 'Distributed' },
    ]);
    expect(await count("deploy_markers WHERE ServiceVersion = '1.2'")).toBeGreaterThan(0);
  });

  test('expires the rows, and is created once', async () => {
    expect(await readStoreSchema(it.options)).toMatchObject({ pending: [] });
    const [expiry] = listExpiries({ spansDays: 7, scoresDays: 70 });
    const again = await openStore({ ...it.options, retention: { spansDays: 7, scoresDays: 70 } });
    await again.close();
    const [table] = await queryRows<{ definition: string }>(
      it.options,
      `SELECT create_table_query AS definition FROM system.tables
       WHERE database = currentDatabase() AND name = '${localTable(expiry?.table ?? '')}'`,
    );
    expect(table?.definition).toContain('toIntervalDay(7)');
  });

  test('shows the statements for the cluster before they run', async () => {
    const { pending } = await readStoreSchema({ ...it.options, database: 'another_one' });
    expect(pending.join('\n')).toContain(
      `CREATE TABLE IF NOT EXISTS otel_traces_local ON CLUSTER \`${TWO_SHARDS}\``,
    );
  });

  test('is refused as a store of one server, of another cluster, and of a cluster that nobody knows', async () => {
    const { cluster: _, ...single } = it.options;
    await expect(openStore(single)).rejects.toThrow(`set store.cluster to ${TWO_SHARDS}`);
    await expect(readStoreSchema({ ...it.options, cluster: 'other' })).rejects.toThrow(
      `belong to cluster "${TWO_SHARDS}", not to "other"`,
    );
    await expect(openStore({ ...it.options, database: 'new_one', cluster: 'other' })).rejects.toThrow(
      `knows no cluster "other"; it knows ${ONE_AWAY}, ${TWO_SHARDS}`,
    );
    await runCommand(it.options, 'CREATE DATABASE of_one_server');
    const lone = await openStore({ ...single, database: 'of_one_server' });
    await lone.close();
    await expect(openStore({ ...it.options, database: 'of_one_server' })).rejects.toThrow(
      'has tables of a single server; set store.database to a new name',
    );
  });

  test('is refused, also by doctor, when its rows are distributed over other shards', async () => {
    const stored = () => queryRows(it.options, 'SELECT Names, Weights FROM cluster_shards');
    expect(await stored()).toEqual([{ Names: ['1', '2'], Weights: [1, 1] }]);
    await runCommand(it.options, 'TRUNCATE TABLE cluster_shards');
    await runCommand(
      it.options,
      "INSERT INTO cluster_shards (Names, Weights) VALUES (['1', '2', '3'], [1, 1, 1])",
    );
    const refusal = `has the shards 1, 2 (2), but the rows of database "${it.options.database}" are distributed over 1, 2, 3 (3)`;
    await expect(openStore(it.options)).rejects.toThrow(refusal);
    await expect(openStore({ ...it.options, migrate: false })).rejects.toThrow(refusal);
    const { url, username, password, database } = it.options;
    const config = parseConfig({ store: { url, username, password, database, cluster: TWO_SHARDS } });
    expect(await checkStore(config, { log: silentLog, fetch })).toEqual([
      { check: 'store', status: 'failed', detail: expect.stringContaining(refusal), fix: 'read the message' },
    ]);
    // Tables of an earlier version have no record.
    await runCommand(it.options, 'TRUNCATE TABLE cluster_shards');
    const again = await openStore(it.options);
    await again.close();
    expect(await stored()).toEqual([{ Names: ['1', '2'], Weights: [1, 1] }]);
    const checks = await checkStore(config, { log: silentLog, fetch });
    expect(checks).toContainEqual({
      check: 'servers of the cluster',
      status: 'ok',
      detail: '2 servers in 2 shards, each has all tables',
    });
  });

  test('is created on a server without tables as it is on the others', async () => {
    const { database } = it.options;
    const read = (from: string) =>
      queryRows<{ name: string; definition: string }>(
        it.options,
        `SELECT name, replaceAll(create_table_query, '${from}', 'DATABASE') AS definition FROM system.tables
         WHERE database = '${from}' AND NOT startsWith(name, '.inner') ORDER BY name`,
      );
    const there = await read(database);
    // The database of the new server, on the engine of the other.
    await runCommand(it.options, 'CREATE DATABASE new_server');
    const cluster = { name: TWO_SHARDS, database: 'new_server' };
    for (const { name } of listObjects(cluster, STATEMENTS)) {
      const definition = there.find((each) => each.name === name)?.definition ?? '';
      const copy = buildCopy(cluster, name, definition.replaceAll('DATABASE', 'new_server'));
      await runCommand(it.options, copy);
      await runCommand(it.options, copy);
    }
    const ofSchema = ['schema_version', 'cluster_shards'];
    expect(await read('new_server')).toEqual(there.filter(({ name }) => !ofSchema.includes(name)));
  });

  test('opens while one server is away and another lacks a table, which it creates', async () => {
    const options = { ...it.options, database: LACKING, cluster: ONE_AWAY };
    const lines: { message: string; fields?: object | undefined }[] = [];
    const log = { ...silentLog, info: (message: string, fields?: object) => lines.push({ message, fields }) };
    for (const _ of ['first start', 'next start']) {
      lines.length = 0;
      const store = await openStore({ ...options, log });
      await store.scores.write(TRACES.map((key) => buildScore(key)));
      expect(await store.serverClocks()).toHaveLength(2);
      await store.close();
    }
    expect(lines).toEqual([
      {
        message: 'tables created on a server that lacked them',
        fields: { server: 'server-2', tables: ['jobs'] },
      },
    ]);
    const { cluster } = await readStoreSchema(options);
    expect(cluster).toEqual({
      shards: 2,
      servers: 3,
      answering: 2,
      gaps: [{ server: 'server-2', tables: ['jobs'] }],
      repairs: [
        expect.stringMatching(/^CREATE TABLE IF NOT EXISTS `lacks_jobs`\.`jobs` ON CLUSTER `one_away` /u),
      ],
      fault: undefined,
    });
    const migrate = (...flags: string[]) =>
      runProgram(['migrate', ...flags, ...storeFlags(options), '--set', `store.cluster=${ONE_AWAY}`], {
        cwd: emptyFolder(),
      });
    const dry = await migrate('--dry-run');
    expect(dry).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^-- server server-2 lacks 1 table: jobs\nCREATE TABLE IF NOT EXISTS .*;$/mu,
      ),
    });
    // The server of the test lacks the table whatever is created.
    expect(await migrate()).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('server server-2 lacks 1 table: jobs'),
    });
  });

  test('shows the clocks of its servers', async () => {
    const clocks = await it.store.serverClocks();
    expect(clocks.map(({ server }) => server)).toEqual(['server-1', 'server-2']);
    for (const { atMs } of clocks) {
      expect(Math.abs(atMs - Date.now())).toBeLessThan(5_000);
    }
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TraceKey } from '../../../src/store/contracts/stores.ts';
import { joinTraceKey } from '../../../src/store/contracts/stores.ts';
import { renderStatement } from '../../../src/store/cluster/render-statement.ts';
import { listPlaced, localTable, SHARDING_KEY } from '../../../src/store/cluster/placements.ts';
import { listExpiries } from '../../../src/store/schema/retention.ts';
import { readMigrations } from '../../../src/store/schema/migration-files.ts';
import { openStore, readMigrationStatus } from '../../../src/store/store.ts';
import { queryRows, runCommand } from '../../support/store/clickhouse-query.ts';
import { TWO_SHARDS } from '../../support/store/cluster/cluster-name.ts';
import { startTwoShards, testEngine } from '../../support/store/engine.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import {
  buildDecision,
  buildLog,
  buildScore,
  buildSpan,
  logBlock,
  newTraceId,
  openTestStore,
  spanBlock,
  storeOptions,
  type TestStore,
} from '../../support/store/store-rows.ts';

const TRACES: readonly TraceKey[] = Array.from({ length: 40 }, () => ({
  tenant: 'acme',
  traceId: newTraceId(),
}));

test('the engine parses every statement of the migrations as it is rendered for a cluster', async () => {
  const engine = await testEngine();
  try {
    const cluster = { name: 'main-1', database: 'quality' };
    const statements = readMigrations().flatMap((migration) =>
      migration.statements.flatMap((statement) => renderStatement(statement, cluster)),
    );
    const list = statements.map((each) => `'${each.replaceAll(/[\\']/gu, String.raw`\$&`)}'`).join(',\n');
    const rows = await queryRows<{ statement: string; text: string }>(
      { ...engine, database: 'default' },
      `SELECT arrayJoin([${list}]) AS statement, formatQueryOrNull(statement) AS text`,
    );
    expect(rows).toHaveLength(statements.length);
    expect(rows.filter(({ text }) => text === null)).toEqual([]);
    const created = rows.filter(({ text }) => text.startsWith('CREATE TABLE'));
    expect(created.every(({ text }) => text.includes('ON CLUSTER `main-1`'))).toBe(true);
  } finally {
    await engine.stop();
  }
});

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

  test('expires the rows, and is migrated once', async () => {
    expect(await readMigrationStatus(it.options)).toMatchObject({ pending: [] });
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
    const { pending } = await readMigrationStatus({ ...it.options, database: 'another_one' });
    expect(pending[0]?.statements[0]).toContain(
      `CREATE TABLE IF NOT EXISTS otel_traces_local ON CLUSTER \`${TWO_SHARDS}\``,
    );
  });

  test('is refused as a store of one server, of another cluster, and of a cluster that nobody knows', async () => {
    const { cluster: _, ...single } = it.options;
    await expect(openStore(single)).rejects.toThrow(`set store.cluster to ${TWO_SHARDS}`);
    await expect(readMigrationStatus({ ...it.options, cluster: 'other' })).rejects.toThrow(
      `belong to cluster "${TWO_SHARDS}", not to "other"`,
    );
    await expect(openStore({ ...it.options, database: 'new_one', cluster: 'other' })).rejects.toThrow(
      `knows no cluster "other"; it knows ${TWO_SHARDS}`,
    );
    await runCommand(it.options, 'CREATE DATABASE of_one_server');
    const lone = await openStore({ ...single, database: 'of_one_server' });
    await lone.close();
    await expect(openStore({ ...it.options, database: 'of_one_server' })).rejects.toThrow(
      'has tables of a single server; set store.database to a new name',
    );
  });

  test('shows the clocks of its servers', async () => {
    const clocks = await it.store.serverClocks();
    expect(clocks).toHaveLength(1);
    expect(Math.abs((clocks[0]?.atMs ?? 0) - Date.now())).toBeLessThan(5_000);
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jsonLines, runCli } from '../../support/processes/cli.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { exporterTables, type ExporterTables } from '../../support/collector/exporter-tables.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';
import { agentRunSpans } from '../../support/store/stored-agent.ts';
import { newTraceId } from '../../support/store/store-rows.ts';

const folder = new ServeFolder({
  store: { spans: { table: 'otel.otel_traces' } },
  rules: [{ name: 'everything', scorers: ['keyword-coverage'] }],
});
let tables: ExporterTables;

type Row = Record<string, unknown>;

async function cli(...args: string[]) {
  const result = await runCli([...args, '--json', '--config', folder.configFile], { cwd: folder.path });
  return { ...result, rows: jsonLines(result.stdout) as Row[] };
}

function scores(): Promise<Row[]> {
  return queryRows(
    folder.addresses().clickhouse,
    'SELECT TraceId, Revision FROM scores FINAL ORDER BY TraceId',
  );
}

const HOUR_MS = 3_600_000;
const live = newTraceId();
const afterCrash = newTraceId();
const past = newTraceId();

beforeAll(async () => {
  await folder.start();
});
afterAll(async () => {
  await folder.dispose();
});

describe('serve on a table that a Collector writes into the embedded engine', () => {
  test('says that the table is not there, and waits for it', async () => {
    const expected = 'store.spans.table: there is no table otel.otel_traces';
    await until(
      () => folder.output.includes(expected),
      90_000,
      () => folder.output,
    );
    const { code, rows } = await cli('doctor');
    expect(code).not.toBe(0);
    expect(JSON.stringify(rows)).toContain(expected);
    const missing = await cli('score', live);
    expect(missing.code).toBe(69);
    expect(missing.stderr).toContain(expected);
  });

  test('receives nothing, so that the Collector has the ports of OTLP', () => {
    expect(folder.addresses()).toMatchObject({ otlpHttp: null, otlpGrpc: null });
  });

  test('scores what the Collector writes once the table is there', async () => {
    tables = await exporterTables(folder.addresses().clickhouse, { database: 'otel' });
    await tables.addSpans(agentRunSpans(live, Date.now() - 10_000));
    await until(
      async () => (await scores()).length === 1,
      120_000,
      () => folder.output,
    );
    expect(await scores()).toEqual([{ TraceId: live, Revision: 1 }]);
  });

  test('continues after a kill -9, and scores no trace twice', async () => {
    await folder.killGroup();
    const { clickhouse } = await folder.start();
    tables = await exporterTables(clickhouse, { database: 'otel', existing: true });
    await tables.addSpans(agentRunSpans(afterCrash, Date.now() - 10_000));
    await until(
      async () => (await scores()).length === 2,
      120_000,
      () => folder.output,
    );
    expect((await scores()).map((row) => row['Revision'])).toEqual([1, 1]);
  });
});

describe('commands beside it', () => {
  beforeAll(async () => {
    await tables.addSpans(agentRunSpans(past, Date.now() - 40 * HOUR_MS));
  });

  test('doctor names the tables that are read', async () => {
    const { code, stdout } = await cli('doctor');
    expect(code).toBe(0);
    expect(stdout).toContain(
      'otel.otel_traces with attributes as maps, its table of trace starts is used; no logs',
    );
  });

  test('traces lists decided traces and past traces', async () => {
    const states = async () => (await cli('traces')).rows.map((row) => [row['traceId'], row['state']]);
    // A decision follows its score, and the kill may have come between them.
    await expect.poll(states, { timeout: 120_000, interval: 500 }).toEqual([
      [afterCrash, 'scored'],
      [live, 'scored'],
      [past, 'waiting'],
    ]);
    expect((await cli('traces', '--since', '2h', '--service', 'weather')).rows).toHaveLength(2);
    expect((await cli('traces', '--service', 'another')).rows).toEqual([]);
  });

  test('score, inspect and explain take a trace that never arrived', async () => {
    const scored = await cli('score', past);
    expect(scored.code).toBe(0);
    expect(scored.rows).toMatchObject([{ traceId: past, scorer: 'keyword-coverage', status: 'scored' }]);
    expect((await cli('inspect', past)).rows).toMatchObject([
      { traceId: past, runs: [{ agent: 'weather-agent' }] },
    ]);
    expect((await cli('explain', live)).rows).toMatchObject([{ traceId: live, status: 'scored' }]);
    expect((await cli('explain', past)).code).toBe(0);
    expect((await cli('score', 'f'.repeat(32))).code).toBe(4);
  });

  test('backfill scores the past', async () => {
    const range = ['--from', '3d', '--to', '1d'];
    expect((await cli('backfill', ...range, '--dry-run')).rows).toMatchObject([{ matched: 1 }]);
    const { code, rows } = await cli('backfill', ...range);
    expect(code).toBe(0);
    expect(rows.at(-1)).toMatchObject({ matched: 1, scored: 1, failed: {} });
  });

  test('check-config refuses our own table', async () => {
    const file = join(folder.path, 'own.yaml');
    writeFileSync(file, 'store: { spans: { table: spanscore.otel_traces } }\n');
    const { code, stderr } = await runCli(['check-config', file], { cwd: folder.path });
    expect(code).toBe(78);
    expect(stderr).toContain('spanscore.otel_traces is a table of spanscore itself');
  });
});

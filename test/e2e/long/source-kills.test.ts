import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { startTool } from '../../support/exports/tool-server.ts';
import { ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import type { SourceState } from '../../../src/store/contracts/sources.ts';
import { startToolPages, type ToolPages } from '../../support/sources/tool-pages.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { newSpanId, newTraceId } from '../../support/store/store-rows.ts';
import { until } from '../../support/until.ts';

// Three starts, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000 });

const ROUNDS = 2;

const RUN = { 'openinference.span.kind': 'AGENT', 'input.value': 'Is it warm?', 'output.value': 'It is.' };

let tool: ToolPages;
let folder: ServeFolder;
let second: ServeFolder | undefined;

const config = () => ({
  rules: [],
  sources: { old: { phoenix: { endpoint: tool.url, apiKey: 'good' }, every: '1s' } },
});

beforeAll(async () => {
  tool = await startToolPages();
  folder = new ServeFolder(config());
});
afterAll(async () => {
  await second?.dispose();
  await folder.dispose();
  await tool.close();
});

/** Adds traces of one span. */
function addSpans(count: number): void {
  const startNs = (Date.now() - 60_000) * 1e6;
  tool.phoenix.push(
    ...Array.from({ length: count }, () => ({
      trace_id: newTraceId(),
      span_id: newSpanId(),
      name: 'answer',
      start_time_unix_nano: startNs,
      end_time_unix_nano: startNs,
      attributes: Object.entries(RUN).map(([key, text]) => ({ key, value: { string_value: text } })),
    })),
  );
}

async function readStored({ clickhouse }: ServeAddresses): Promise<Set<string>> {
  const rows = await queryRows<{ SpanId: string }>(clickhouse, 'SELECT DISTINCT SpanId FROM otel_traces');
  return new Set(rows.map(({ SpanId }) => SpanId));
}

async function readSource({ api }: ServeAddresses): Promise<SourceState> {
  const status = (await (await fetch(`${api}/api/v1/status`)).json()) as { sources: [SourceState] };
  return status.sources[0];
}

async function countRows(store: ServeAddresses['clickhouse']): Promise<number> {
  const rows = await queryRows<{ n: number }>(store, 'SELECT toUInt32(count()) AS n FROM otel_traces');
  return rows[0]?.n ?? 0;
}

it(`a source loses no span over ${ROUNDS} kills, and goes on where it was`, async () => {
  addSpans(4_000);
  for (let round = 0; round < ROUNDS; round += 1) {
    await folder.start();
    const before = tool.count();
    await until(
      () => tool.count() > before + 3 + round,
      120_000,
      () => folder.output,
    );
    await folder.killGroup();
    addSpans(50);
  }
  const addresses = await folder.start();
  await until(
    async () => (await readStored(addresses)).size === tool.phoenix.length,
    300_000,
    () => folder.output,
  );
  expect(await readStored(addresses)).toEqual(new Set(tool.phoenix.map(({ span_id: id }) => id)));
  expect(await readSource(addresses)).toMatchObject({ name: 'old', lastError: null });
  expect(tool.faults).toEqual([]);
  // Each kill may repeat the pages that it cut off, and no other ones.
  expect(await countRows(addresses.clickhouse)).toBeLessThanOrEqual(tool.phoenix.length + ROUNDS * 200);
});

it('of two processes on one source, one reads it, and no row is doubled', async () => {
  const first = folder.pid === undefined ? await folder.start() : folder.addresses();
  await until(
    async () => (await readSource(first)).lag !== null,
    120_000,
    () => folder.output,
  );
  const before = await countRows(first.clickhouse);
  const known = tool.phoenix.length;
  second = new ServeFolder({ ...config(), store: first.clickhouse });
  const other = await second.start();
  for (let round = 1; round <= 5; round += 1) {
    addSpans(50);
    await until(
      async () => (await readStored(first)).size === known + 50 * round,
      120_000,
      () => folder.output,
    );
  }
  expect(await countRows(first.clickhouse)).toBe(before + 250);
  expect((await readSource(other)).spans).toBe(0);
});

it('another process goes on with the source and the exporter of a process that is killed', async () => {
  tool.phoenix.length = 0;
  const held = await startTool('phoenix');
  onTestFinished(() => held.close());
  const home = new ServeFolder({ rules: [] }, ['--role', 'store,api']);
  onTestFinished(() => home.dispose());
  const store = (await home.start()).clickhouse;
  const exporters = { phoenix: { endpoint: held.url, apiKey: 'good' } };
  const startOne = async () => {
    const rules = [{ name: 'all', scorers: ['tone'] }];
    const one = new ServeFolder({ ...config(), rules, store, exporters });
    onTestFinished(() => one.dispose());
    return [one, await one.start()] as const;
  };
  addSpans(20);
  const [owner] = await startOne();
  await until(
    () => held.held.size === 20,
    120_000,
    () => owner.output,
  );
  const [, other] = await startOne();
  const before = tool.count();
  addSpans(2_000);
  await until(
    () => tool.count() > before + 5 && held.held.size > 20,
    120_000,
    () => owner.output,
  );
  await owner.killGroup();
  expect(held.held.size).toBeLessThan(tool.phoenix.length);
  addSpans(50);
  await until(
    () => held.held.size === tool.phoenix.length,
    300_000,
    async () => [held.held.size, await readSource(other)],
  );
  const targets = [...held.held.values()].map(({ target }) => target);
  expect(targets.toSorted()).toEqual(tool.phoenix.map(({ trace_id: id }) => id).toSorted());
  expect([...held.faults, ...tool.faults]).toEqual([]);
  // The kill may repeat the pages that it cut off.
  expect(await countRows(store)).toBeLessThanOrEqual(tool.phoenix.length + 200);
});

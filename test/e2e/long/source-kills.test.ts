import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { startToolPages, type ToolPages } from '../../support/sources/tool-pages.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { newSpanId, newTraceId } from '../../support/store/store-rows.ts';
import { until } from '../../support/until.ts';

// Three starts, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000 });

const ROUNDS = 2;

let tool: ToolPages;
let folder: ServeFolder;

beforeAll(async () => {
  tool = await startToolPages();
  folder = new ServeFolder({
    rules: [],
    sources: { old: { phoenix: { endpoint: tool.url, apiKey: 'good' }, every: '1s' } },
  });
});
afterAll(async () => {
  await folder.dispose();
  await tool.close();
});

function addSpans(count: number): void {
  const startNs = (Date.now() - 60_000) * 1e6;
  tool.phoenix.push(
    ...Array.from({ length: count }, () => ({
      trace_id: newTraceId(),
      span_id: newSpanId(),
      name: 'answer',
      start_time_unix_nano: startNs,
      end_time_unix_nano: startNs,
      attributes: [{ key: 'openinference.span.kind', value: { string_value: 'LLM' } }],
    })),
  );
}

async function readStored({ clickhouse }: ServeAddresses): Promise<Set<string>> {
  const rows = await queryRows<{ SpanId: string }>(clickhouse, 'SELECT DISTINCT SpanId FROM otel_traces');
  return new Set(rows.map(({ SpanId }) => SpanId));
}

async function readSources({ api }: ServeAddresses): Promise<unknown> {
  const status = (await (await fetch(`${api}/api/v1/status`)).json()) as { sources: unknown };
  return status.sources;
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
  expect(await readSources(addresses)).toMatchObject([{ name: 'old', lastError: null }]);
  expect(tool.faults).toEqual([]);
  // Each kill may repeat the pages that it cut off, and no other ones.
  const [{ rows } = { rows: 0 }] = await queryRows<{ rows: number }>(
    addresses.clickhouse,
    'SELECT toUInt32(count()) AS rows FROM otel_traces',
  );
  expect(rows).toBeLessThanOrEqual(tool.phoenix.length + ROUNDS * 200);
});

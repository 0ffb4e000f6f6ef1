import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import { createFileReader } from '../../../src/sources/files.ts';
import { decodeTraces } from '../../../src/conventions/traces/decode-traces.ts';
import { exporterTables, type ExporterTables } from '../../support/collector/exporter-tables.ts';
import { listExpectations, recordedSpans } from '../../support/recordings/recorded-spans.ts';
import { sourceWorld, type SourceWorld } from '../../support/sources/source-world.ts';
import {
  buildSpan,
  newSpanId,
  newTraceId,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';

let base: TestStore;
let tables: ExporterTables;
let world: SourceWorld;
let folder: string;

beforeAll(async () => {
  base = await testStore();
});
afterAll(() => base.stop());
beforeEach(async () => {
  tables = await exporterTables(base.engine, { logs: true, lookup: false });
  world = sourceWorld(base.store.engineFiles);
  folder = await mkdtemp(join(tmpdir(), 'spanscore-parquet-'));
});
afterEach(async () => {
  await world.stop();
  await tables.run('DROP DATABASE {db}');
  await rm(folder, { recursive: true });
});

/** Writes a table of the exporter into a file. */
async function writeParquet(name: string, table = 'otel_traces', select = '*'): Promise<void> {
  await tables.run(
    `INSERT INTO FUNCTION file('${join(folder, name)}', 'Parquet') SELECT ${select} FROM {db}.${table} SETTINGS engine_file_truncate_on_insert = 1`,
  );
}

async function addSpans(count: number): Promise<string[]> {
  const spans = Array.from({ length: count }, () =>
    buildSpan({ traceId: newTraceId(), spanId: newSpanId() }),
  );
  await tables.addSpans(spans);
  return spans.map(({ spanId }) => spanId);
}

const storedIds = () => world.sink.rows().map((row) => String(row['SpanId']));

/** Nested columns of the exporter as lists of structs. */
const AS_STRUCTS = `* EXCEPT (\`Events.Timestamp\`, \`Events.Name\`, \`Events.Attributes\`),
  CAST(arrayZip(\`Events.Timestamp\`, \`Events.Name\`, \`Events.Attributes\`),
    'Array(Tuple(Timestamp DateTime64(9), Name String, Attributes Map(String, String)))') AS Events`;

test.each(['*', AS_STRUCTS])(
  'recorded traces have the same readings from Parquet as over OTLP: %#',
  async (columns) => {
    const recorded = listExpectations('spans')
      .map(([name]) => recordedSpans('spans', name))
      .join('\n');
    const { traces } = decodeTraces(recorded);
    await tables.addSpans(traces.flatMap(({ spans }) => spans));
    await tables.addLogs(traces.flatMap(({ logs }) => logs));
    await writeParquet('traces.parquet', 'otel_traces', columns);
    await writeParquet('logs.parquet', 'otel_logs');
    const lines: string[] = [];
    const reader = createFileReader({ path: join(folder, '*.parquet') }, base.store.engineFiles);
    for await (const { requests } of reader.pull(new Map(), new AbortController().signal)) {
      lines.push(...(requests as string[]));
    }
    const read = (text: string) => readTraces(text).toSorted((a, b) => (a.traceId < b.traceId ? -1 : 1));
    expect(traces.length).toBeGreaterThan(50);
    expect(read(lines.join('\n'))).toEqual(read(recorded));
  },
);

test('a file is read once, and over kills no row is lost or read from the start again', async () => {
  const ids = await addSpans(9_000);
  await writeParquet('a.parquet');
  const files = join(folder, '*.parquet');
  for (const pieces of [1, 2]) {
    const process = await world.start({ archive: { files } });
    const before = world.sink.attempts.length;
    await expect.poll(() => world.sink.attempts.length, { interval: 1 }).toBeGreaterThan(before + pieces);
    process.kill();
  }
  const { states } = await world.start({ archive: { files } });
  await expect.poll(() => states()[0]?.lag).toBe(0);
  expect(new Set(storedIds())).toEqual(new Set(ids));
  expect(storedIds().length).toBeLessThan(2 * ids.length);
});

test('a file that is no Parquet, or has other columns, is an error of the source and holds up no other file', async () => {
  const ids = await addSpans(3);
  await writeFile(join(folder, 'a.parquet'), 'PAR1 half of a file');
  await writeParquet('b.parquet', 'otel_traces', 'TraceId, SpanId');
  await writeParquet('c.parquet');
  const { states } = await world.start({ archive: { files: join(folder, '*.parquet') } });
  await expect.poll(() => storedIds().toSorted()).toEqual(ids.toSorted());
  await expect.poll(() => states()[0]?.lastError).toMatch(/a\.parquet could not be read: .*[Pp]arquet/u);
  await rm(join(folder, 'a.parquet'));
  await expect
    .poll(() => states()[0]?.lastError)
    .toMatch(/b\.parquet could not be read: has no column Timestamp/u);
  await rm(join(folder, 'b.parquet'));
  await expect.poll(() => states()[0]?.lastError).toBe(null);
  expect(storedIds()).toHaveLength(ids.length);
});

import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { exporterTables, type ExporterTables } from '../../support/collector/exporter-tables.ts';
import { exportRequest, AgentTraceBuilder } from '../../support/builders/agent-trace.ts';
import { tellNotProved } from '../../support/not-proved.ts';
import { sourceWorld, type SourceWorld } from '../../support/sources/source-world.ts';
import {
  buildSpan,
  newSpanId,
  newTraceId,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';
import { pythonVenv } from '../python/python-venv.ts';
import { startPythonServer, type PythonServer } from './python-server.ts';

// A server of S3 from its package, on loopback.

const venv = await pythonVenv('moto');
if ('missing' in venv) {
  tellNotProved('files in S3', venv.missing);
}

let base: TestStore;
let tables: ExporterTables;
let server: PythonServer;
let world: SourceWorld;

beforeAll(async () => {
  if ('missing' in venv) {
    return;
  }
  base = await testStore();
  tables = await exporterTables(base.engine, { lookup: false });
  world = sourceWorld(base.store.engineFiles);
  server = await startPythonServer(venv.python, (port) => ({
    args: ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)],
    health: '/moto-api/',
  }));
});
afterAll(async () => {
  await world?.stop();
  server?.stop();
  await base?.stop();
});

it.skipIf('missing' in venv)(
  'lines and Parquet in S3 are read once, also new files, with the key of the source alone',
  async () => {
    const put = (path: string, body?: Uint8Array<ArrayBuffer>) =>
      fetch(`${server.url}/${path}`, { method: 'PUT', ...(body === undefined ? {} : { body }) });
    const parquet = async (path: string) => {
      const spans = Array.from({ length: 40 }, () =>
        buildSpan({ traceId: newTraceId(), spanId: newSpanId() }),
      );
      await tables.run('TRUNCATE TABLE {db}.otel_traces');
      await tables.addSpans(spans);
      await tables.run(
        `INSERT INTO FUNCTION s3('${server.url}/${path}', 'id', 'key', 'Parquet') SELECT * FROM {db}.otel_traces`,
      );
      return spans.map(({ spanId }) => spanId);
    };
    const lines = async (path: string) => {
      const traces = Array.from({ length: 30 }, () => new AgentTraceBuilder());
      const text = traces.map((trace) => JSON.stringify(exportRequest(trace.spans()))).join('\n');
      await put(path, new Uint8Array(gzipSync(text)));
      return traces.flatMap((trace) => trace.spans().map(({ spanId }) => spanId));
    };
    await put('traces');
    const ids = [...(await parquet('traces/in/a.parquet')), ...(await lines('traces/in/deep/b.jsonl.gz'))];
    const source = {
      files: 's3://traces/in/**',
      s3: { endpoint: server.url, accessKeyId: 'id', secretAccessKey: 'key' },
    };
    const storedIds = () => world.sink.rows().map((row) => String(row['SpanId']));
    const first = await world.start({ archive: source });
    await expect.poll(() => storedIds().length).toBe(ids.length);
    ids.push(...(await parquet('traces/in/c.parquet')));
    await expect.poll(() => storedIds().length).toBe(ids.length);
    await first.stop();
    const again = await world.start({ archive: source });
    await expect.poll(() => again.states()[0]?.lag).toBe(0);
    expect(storedIds().toSorted()).toEqual(ids.toSorted());
    expect(world.letters.letters).toEqual([]);

    const { states } = await world.start({ shut: { files: source.files, s3: { endpoint: server.url } } });
    await expect.poll(() => states()[0]?.lastError).toMatch(/403|[Aa]ccess ?[Dd]enied/u);
    expect(storedIds()).toHaveLength(ids.length);
  },
);

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedEngine, type EmbeddedEngine } from '../../../../src/store/embedded/engine.ts';

// What the OpenTelemetry Collector's ClickHouse exporter 0.161.0 sent, recorded between it and the engine, against the engine.

interface RecordedRequest {
  /** Null: the same whatever the exporter compresses with. */
  readonly compress: string | null;
  /** True when it writes attributes to JSON columns. */
  readonly json: boolean;
  readonly params: Record<string, string>;
  readonly headers: Record<string, string>;
  readonly text?: string;
  readonly base64?: string;
  /** Reply that the exporter understood. */
  readonly replyBase64?: string;
}

const FIXTURES = new URL('../../../fixtures/otelcol/', import.meta.url);
const REQUESTS = lines('exporter-requests.jsonl') as RecordedRequest[];

function lines(file: string): unknown[] {
  return readFileSync(new URL(file, FIXTURES), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line));
}

const dataDir = mkdtempSync(join(tmpdir(), 'spanscore-exporter-'));
let engine: EmbeddedEngine;

beforeAll(async () => {
  engine = await startEmbeddedEngine({ dataDir });
});

afterEach(() => query('DROP DATABASE IF EXISTS otel'));

afterAll(async () => {
  await engine.stop();
  rmSync(dataDir, { recursive: true });
});

function post(
  params: Record<string, string>,
  body: Uint8Array | string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const basic = Buffer.from(`${engine.username}:${engine.password}`).toString('base64');
  return fetch(`${engine.url}/?${new URLSearchParams(params).toString()}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : new Uint8Array(body),
    headers: { authorization: `Basic ${basic}`, ...headers },
  });
}

async function query(sql: string): Promise<string> {
  const reply = await post({ default_format: 'JSONEachRow' }, sql);
  return reply.text();
}

async function listRows(table: string): Promise<unknown[]> {
  const text = await query(`SELECT * FROM otel.${table} ORDER BY Timestamp`);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line));
}

async function readBytes(reply: Response): Promise<Buffer> {
  return Buffer.from(await reply.arrayBuffer());
}

/** Sends what the exporter sent, in its order; the replies. */
async function replay(requests: readonly RecordedRequest[]): Promise<{ status: number; body: Buffer }[]> {
  const replies = [];
  for (const { params, headers, text, base64 } of requests) {
    const reply = await post(params, text ?? Buffer.from(base64 ?? '', 'base64'), headers);
    replies.push({ status: reply.status, body: await readBytes(reply) });
  }
  return replies;
}

function listRequests(compress: string, json: boolean): RecordedRequest[] {
  return REQUESTS.filter((each) => each.json === json && [compress, null].includes(each.compress)).toSorted(
    (a, b) => Number(b.compress === null) - Number(a.compress === null),
  );
}

describe('the exporter of the Collector', () => {
  const variants = ['none', 'gzip'].flatMap((compress) => [false, true].map((json) => ({ compress, json })));

  it.each(variants)(
    'makes its tables and writes: compress $compress, json $json',
    async ({ compress, json }) => {
      const requests = listRequests(compress, json);

      const replies = await replay(requests);

      expect(replies.map(({ status }) => status)).toEqual(requests.map(() => 200));
      const suffix = json ? '_json' : '';
      expect(await listRows('otel_traces')).toEqual(lines(`otel_traces${suffix}.JSONEachRow`));
      expect(await listRows('otel_logs')).toEqual(lines(`otel_logs${suffix}.JSONEachRow`));
      expect(await query('SELECT count() AS n FROM otel.otel_traces_trace_id_ts')).toContain('"n":1');
    },
  );

  it.each(variants)(
    'is told of its tables as it understands: compress $compress, json $json',
    async (variant) => {
      const requests = listRequests(variant.compress, variant.json);

      const replies = await replay(requests);

      const described = requests.flatMap(({ replyBase64 }, at) =>
        replyBase64 === undefined
          ? []
          : [{ recorded: replyBase64, body: replies[at]?.body.toString('base64') }],
      );
      expect(described.length).toBeGreaterThan(1);
      expect(described.map(({ body }) => body)).toEqual(described.map(({ recorded }) => recorded));
    },
  );

  it.each(['compress', 'decompress'])(
    'is told to choose gzip when it sends blocks of lz4: %s=1',
    async (name) => {
      const reply = await post({ [name]: '1', query: 'SELECT 1' }, '');

      expect(reply.status).toBe(501);
      expect(await reply.text()).toContain('choose gzip or no compression');
    },
  );
});

describe('the Native format of a protocol revision', () => {
  it('is refused for columns that the front cannot take apart', async () => {
    const reply = await post({ client_protocol_version: '54460' }, 'SELECT sumState(1) AS s FORMAT Native');

    expect(reply.status).toBe(501);
    expect(await reply.text()).toContain('AggregateFunction(sum, UInt8)');
  });

  it('wants a revision that is a number', async () => {
    const reply = await post({ client_protocol_version: 'new' }, 'SELECT 1 FORMAT Native');

    expect(reply.status).toBe(400);
    expect(await reply.text()).toContain("client_protocol_version 'new'");
  });
});

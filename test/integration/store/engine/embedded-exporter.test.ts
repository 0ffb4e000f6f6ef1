import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { decompressedBlocks } from '../../../../src/store/embedded/native/compressed-blocks.ts';
import { startEmbeddedEngine, type EmbeddedEngine } from '../../../../src/store/embedded/engine.ts';
import { buildBlock, compressedBlock } from '../../../support/builders/compressed-block.ts';

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

/** A body that was in compressed blocks. */
async function unblocked(body: Uint8Array): Promise<Buffer> {
  return Buffer.concat(await Readable.from(decompressedBlocks(Readable.from([body]))).toArray());
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
  const variants = ['lz4', 'zstd', 'none', 'gzip'].flatMap((compress) =>
    [false, true].map((json) => ({ compress, json })),
  );

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

  it('gets a first block of its own revision', async () => {
    const hello = listRequests('lz4', false).find(({ text }) => text?.startsWith('SELECT displayName()'));

    const [reply] = await replay(hello === undefined ? [] : [hello]);

    const block = await unblocked(reply?.body ?? Buffer.alloc(0));
    expect(block.subarray(0, 10)).toEqual(Buffer.from([1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 4, 1]));
    expect(block.toString('latin1', 10, 32)).toBe('\rdisplayName()\u0006String\0');
  });
});

describe('compressed blocks', () => {
  const BLOCKS = { decompress: '1', compress: '1' };
  const INSERT = { ...BLOCKS, query: 'INSERT INTO otel.t FORMAT Native' };
  /** One row of one column, UInt8 7. */
  const NATIVE = Buffer.concat([
    Buffer.from([1, 1, 1]),
    Buffer.from('n'),
    Buffer.from([5]),
    Buffer.from('UInt8'),
    Buffer.from([7]),
  ]);

  async function madeTable(): Promise<void> {
    await query('CREATE DATABASE otel');
    await query('CREATE TABLE otel.t (n UInt8) ENGINE = MergeTree ORDER BY n');
  }

  const damaged = compressedBlock('lz4', NATIVE);
  damaged[30] = (damaged[30] ?? 0) ^ 0x20;

  it.each([
    ['a wrong hash', damaged, 400, '117'],
    ['half a block', compressedBlock('lz4', NATIVE).subarray(0, -1), 400, '117'],
    ['a size bomb', buildBlock(0x82, NATIVE, 0xffff_ffff), 413, '229'],
    [
      'a block that holds more than it says',
      buildBlock(0x90, compressedBlock('zstd', Buffer.alloc(1e6)).subarray(25), 10),
      400,
      '117',
    ],
    ['an unknown method', buildBlock(0x77, NATIVE, NATIVE.length), 400, '117'],
    ['no blocks at all', Buffer.from('plain rows of another format, long enough'), 413, '229'],
  ])('are refused in words that come in blocks too: %s', async (_, body, status, code) => {
    await madeTable();

    const reply = await post(INSERT, body);

    expect(reply.status).toBe(status);
    expect(reply.headers.get('x-clickhouse-exception-code')).toBe(code);
    expect((await unblocked(await readBytes(reply))).toString()).toMatch(/^Code: \d+\. DB::Exception: /);
    expect(await query('SELECT count() AS n FROM otel.t')).toContain('"n":0');
  });

  it('carry an insert after one that was refused', async () => {
    await madeTable();

    await post(INSERT, damaged);
    const reply = await post(INSERT, compressedBlock('zstd', NATIVE));

    expect(reply.status).toBe(200);
    expect(await query('SELECT n FROM otel.t')).toBe('{"n":7}\n');
  });

  it('carry the statement too', async () => {
    const reply = await post(
      { ...BLOCKS, default_format: 'TSV' },
      compressedBlock('lz4', Buffer.from('SELECT 42')),
    );

    expect((await unblocked(await readBytes(reply))).toString()).toBe('42\n');
  });

  it('carry a large reply', async () => {
    const reply = await post({ compress: '1' }, 'SELECT number FROM numbers(300000) FORMAT TSV');

    expect((await unblocked(await readBytes(reply))).toString().split('\n')).toHaveLength(300_001);
  });

  it('carry the error of a late row in place of the rows', async () => {
    const reply = await post(
      { compress: '1' },
      'SELECT throwIf(number = 250000) FROM numbers(300000) FORMAT TSV',
    );

    expect(reply.status).toBe(500);
    expect((await unblocked(await readBytes(reply))).toString()).toMatch(/^Code: 395/u);
  });

  it('are not for a body with a Content-Encoding', async () => {
    const reply = await post(
      { decompress: '1', query: INSERT.query },
      gzipSync(compressedBlock('lz4', NATIVE)),
      {
        'content-encoding': 'gzip',
      },
    );

    expect(reply.status).toBe(400);
    expect(await reply.text()).toContain('not both');
  });

  it('carry a wrong password back', async () => {
    const reply = await fetch(`${engine.url}/?compress=1`, {
      method: 'POST',
      body: 'SELECT 1',
      headers: { authorization: `Basic ${Buffer.from('default:').toString('base64')}` },
    });

    expect(reply.status).toBe(403);
    expect((await unblocked(await readBytes(reply))).toString()).toContain('AUTHENTICATION_FAILED');
  });
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

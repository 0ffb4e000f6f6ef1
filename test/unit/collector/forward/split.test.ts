import { describe, expect, it } from 'vitest';
import { RecordPacker, type ForwardRecord } from '../../../../collector/forward/pack-records.ts';
import { frameJson, splitJson } from '../../../../collector/forward/split-json.ts';
import { frameProtobuf, splitProtobuf } from '../../../../collector/forward/split-protobuf.ts';
import { decodeRequest, type Encoding, type Signal } from '../../../../collector/otlp/decode-request.ts';
import { createRejections } from '../../../../collector/otlp/decoded-request.ts';
import {
  type Json,
  lengthField,
  requestBytes,
  spanBytes,
} from '../../../support/builders/otlp-proto-writer.ts';
import {
  attribute,
  jsonLog,
  jsonSpan,
  logRequest,
  traceRequest,
} from '../../../support/builders/otlp-requests.ts';
import { readRows, type Row } from '../../../support/store/row-binary-reader.ts';

const [A, B, C] = ['a', 'b', 'c'].map((digit) => digit.repeat(32)) as [string, string, string];

const BIG = { maxRecordBytes: 1_000_000, maxTotalBytes: 10_000_000 };

function split(signal: Signal, encoding: Encoding, request: Json | Uint8Array, limits = BIG) {
  const packer = new RecordPacker(limits);
  const rejections = createRejections();
  const isBytes = request instanceof Uint8Array;
  const body = isBytes
    ? request
    : encoding === 'json'
      ? Buffer.from(JSON.stringify(request))
      : requestBytes(request);
  const taken = (encoding === 'json' ? splitJson : splitProtobuf)(signal, body, {
    packer,
    rejections,
    maxRecords: 1_000,
  });
  const records = packer.finish(encoding === 'json' ? frameJson(signal) : frameProtobuf);
  return { body, taken, rejections, records };
}

function listRows(signal: Signal, encoding: Encoding, bodies: readonly Uint8Array[]): Row[] {
  return bodies.flatMap((body) => {
    const { table, pieces, rejected } = decodeRequest(signal, encoding, body, 'tenant');
    expect(rejected).toBe(0);
    return pieces.flatMap(({ bytes }) => readRows(table, bytes));
  });
}

const byText = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(row, big)).sort();
const big = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);

/** Two resources, three scopes, spans of three traces among each other. */
function mixedTraces(): Json {
  const [shop] = traceRequest([
    jsonSpan({ traceId: A, name: 'a1' }),
    jsonSpan({ traceId: B, name: 'b1', events: [{ timeUnixNano: '5', name: 'e' }] }),
    jsonSpan({ traceId: A, name: 'a2' }),
  ])['resourceSpans'] as Json[];
  const [bank] = traceRequest([jsonSpan({ traceId: C, name: 'c1' })], 'bank')['resourceSpans'] as Json[];
  const more = { scope: { name: 'second', version: '2' }, spans: [jsonSpan({ traceId: B, name: 'b2' })] };
  const scopes = (shop?.['scopeSpans'] ?? []) as Json[];
  return {
    resourceSpans: [{ ...shop, scopeSpans: [...scopes, more], schemaUrl: 'https://schema' }, bank],
  };
}

const ENCODINGS: Encoding[] = ['protobuf', 'json'];

describe.each(ENCODINGS)('a %s request split by trace', (encoding) => {
  it('becomes one record for each trace, and their rows together are those of the request', () => {
    const { body, records, taken, rejections } = split('traces', encoding, mixedTraces());

    expect(records.map(({ key }) => key)).toEqual([A, B, C]);
    expect(taken).toBe(5);
    expect(rejections.count).toBe(0);
    const values = records.map(({ value }) => value);
    expect(byText(listRows('traces', encoding, values))).toEqual(
      byText(listRows('traces', encoding, [body])),
    );
    for (const { key, value } of records) {
      expect(new Set(listRows('traces', encoding, [value]).map((row) => row['TraceId']))).toEqual(
        new Set([key]),
      );
    }
  });

  it('splits logs too; those of no trace go without a key', () => {
    const request = logRequest([jsonLog({ traceId: B }), jsonLog({ traceId: '' }), jsonLog({ traceId: A })]);
    const { records, body } = split('logs', encoding, request);
    expect(records.map(({ key }) => key)).toEqual([B, null, A]);
    const values = records.map(({ value }) => value);
    expect(byText(listRows('logs', encoding, values))).toEqual(byText(listRows('logs', encoding, [body])));
  });

  it('splits a trace that is larger than a record, and never exceeds one', () => {
    const spans = Array.from({ length: 50 }, (_, i) =>
      jsonSpan({ traceId: A, attributes: [attribute('text', `${i} ${'x'.repeat(i * 20)}`)] }),
    );
    const limits = { ...BIG, maxRecordBytes: 3_000 };
    const { records, body } = split('traces', encoding, traceRequest(spans), limits);

    expect(records.length).toBeGreaterThan(5);
    expect(Math.max(...records.map(({ value }) => value.length))).toBeLessThanOrEqual(3_000);
    expect(new Set(records.map(({ key }) => key))).toEqual(new Set([A]));
    const values = records.map(({ value }) => value);
    expect(byText(listRows('traces', encoding, values))).toEqual(
      byText(listRows('traces', encoding, [body])),
    );
  });

  it('names a span that fits no record, and takes the others', () => {
    const large = jsonSpan({ traceId: B, attributes: [attribute('text', 'x'.repeat(5_000))] });
    const request = traceRequest([jsonSpan({ traceId: A }), large]);
    const { records, rejections } = split('traces', encoding, request, { ...BIG, maxRecordBytes: 3_000 });

    expect(records.map(({ key }) => key)).toEqual([A]);
    expect(rejections.count).toBe(1);
    expect(rejections.reasons[0]).toMatch(
      new RegExp(
        `^resourceSpans\\[0\\]\\.scopeSpans\\[0\\]\\.spans\\[1\\] of trace ${B} has 5\\d{3} bytes .* the limit of a Kafka record is 3000$`,
      ),
    );
  });

  it('rejects spans without good ids, each with its place', () => {
    const request = traceRequest([
      jsonSpan({ traceId: '' }),
      jsonSpan({ traceId: '0'.repeat(32) }),
      jsonSpan({ traceId: A, spanId: 'aabb' }),
      jsonSpan({ traceId: A }),
    ]);
    const { rejections, taken } = split('traces', encoding, request);
    expect(taken).toBe(1);
    expect(rejections.count).toBe(3);
    expect(rejections.reasons[0]).toMatch(
      /^resourceSpans\[0\]\.scopeSpans\[0\]\.spans\[0\]: traceId is missing/,
    );
    expect(rejections.reasons[2]).toMatch(/^resourceSpans\[0\]\.scopeSpans\[0\]\.spans\[2\]: spanId/);
  });

  it('refuses a request that a resource repeated for each trace would blow up', () => {
    const spans = Array.from({ length: 200 }, (_, i) =>
      jsonSpan({ traceId: (i + 1).toString(16).padStart(32, '0') }),
    );
    const request = traceRequest(spans, 's'.repeat(2_000));
    expect(() => split('traces', encoding, request, { ...BIG, maxTotalBytes: 100_000 })).toThrow(
      expect.objectContaining({ code: 'input_too_large', retryable: false }),
    );
  });

  it('refuses a request of too many spans', () => {
    const spans = Array.from({ length: 999 }, () => ({}));
    expect(() => split('traces', encoding, traceRequest(spans))).toThrow(/more than 1000 spans/);
  });

  it('makes no record of an empty request', () => {
    expect(split('traces', encoding, {}).records).toEqual([]);
    expect(split('traces', encoding, traceRequest([])).records).toEqual([]);
  });
});

describe('a protobuf request', () => {
  it('keeps unknown fields of every level, and the bytes of spans as they are', () => {
    const span = Buffer.concat([
      spanBytes(jsonSpan({ traceId: A })),
      lengthField(999, Buffer.from('unknown')),
    ]);
    const scope = Buffer.concat([lengthField(2, span), lengthField(77, Buffer.from('scope-extra'))]);
    const group = Buffer.concat([lengthField(55, Buffer.from('group-extra')), lengthField(2, scope)]);
    const { records } = split('traces', 'protobuf', lengthField(1, group));
    const [{ value }] = records as [ForwardRecord];
    expect(value.includes(span)).toBe(true);
    expect(value.includes('scope-extra')).toBe(true);
    expect(value.includes('group-extra')).toBe(true);
  });

  it('that is cut off cannot be read', () => {
    const body = requestBytes(mixedTraces());
    expect(() => split('traces', 'protobuf', body.subarray(0, body.length - 3))).toThrow(/cannot be read/);
  });
});

describe('a JSON request', () => {
  it('may spell its lists with underscores and its ids in base64, as everywhere', () => {
    const span = { ...jsonSpan(), traceId: Buffer.from(A, 'hex').toString('base64') };
    const request = { resource_spans: [{ scope_spans: [{ spans: [span] }] }] };
    const { records } = split('traces', 'json', request);
    expect(records.map(({ key }) => key)).toEqual([A]);
    expect(
      listRows(
        'traces',
        'json',
        records.map(({ value }) => value),
      ),
    ).toHaveLength(1);
  });

  it.each([
    ['[]', /one OTLP export request/],
    ['{"resourceSpans": 5}', /resourceSpans must be a list/],
    ['{"resourceSpans": [5]}', /resourceSpans\[0\] must be a JSON object/],
    ['{', /not JSON/],
  ])('that is none is refused: %s', (text, reason) => {
    expect(() => split('traces', 'json', Buffer.from(text))).toThrow(reason);
  });

  it('that is nested beyond all measure is refused', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const inResource = `{"resourceSpans":[{"resource":{"x":${deep}},"scopeSpans":[]}]}`;
    expect(() => split('traces', 'json', Buffer.from(inResource))).toThrow(/nested too deeply/);
  });
});

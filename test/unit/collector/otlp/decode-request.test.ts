import { ProtobufLogsSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { describe, expect, it } from 'vitest';
import { decodeRequest, type Signal } from '../../../../collector/otlp/decode-request.ts';
import { type DecodedRequest, PIECE_BYTES } from '../../../../collector/otlp/row-pieces.ts';
import { DEFAULT_ROW_LIMITS } from '../../../../collector/limits.ts';
import { MAX_VALUE_DEPTH } from '../../../../src/wire/any-value.ts';
import { InvalidInputError } from '../../../../src/domain/errors.ts';
import {
  type Json,
  lengthField,
  requestBytes,
  spanBytes,
  varintField,
} from '../../../support/builders/otlp-proto-writer.ts';
import {
  attribute,
  jsonLog,
  jsonSpan,
  logRequest,
  traceRequest,
} from '../../../support/builders/otlp-requests.ts';
import { readRows, type Row } from '../../../support/store/row-binary-reader.ts';
import { sdkLogs, sdkSpans } from '../../../support/builders/sdk-records.ts';

function listRows(decoded: DecodedRequest): Row[] {
  return decoded.pieces.flatMap((piece) => readRows(decoded.table, piece.bytes));
}

function fromJson(request: unknown, signal: Signal = 'traces'): DecodedRequest {
  return decodeRequest(signal, 'json', Buffer.from(JSON.stringify(request)), 'acme');
}

function fromProtobuf(body: Uint8Array, signal: Signal = 'traces'): DecodedRequest {
  return decodeRequest(signal, 'protobuf', body, 'acme');
}

function expectSameBytes(request: Json, signal: Signal = 'traces'): Row[] {
  const json = fromJson(request, signal);
  const protobuf = fromProtobuf(requestBytes(request), signal);
  expect(listRows(protobuf)).toEqual(listRows(json));
  expect(protobuf.pieces.map((piece) => piece.bytes.toString('hex'))).toEqual(
    json.pieces.map((piece) => piece.bytes.toString('hex')),
  );
  expect([protobuf.rejected, protobuf.dropped]).toEqual([json.rejected, json.dropped]);
  return listRows(protobuf);
}

const DEEP = 70;

function nested(depth: number, scalar: Json = { stringValue: 'x' }): Json {
  let value = scalar;
  for (let i = 0; i < depth; i++) {
    value = { arrayValue: { values: [value] } };
  }
  return value;
}

describe('a trace request', () => {
  it('gives equal rows as protobuf and as JSON, for every kind of attribute value', () => {
    const values: Json[] = [
      { stringValue: '' },
      { stringValue: 'a\0b \u202e é 😀' },
      { stringValue: 'long é '.repeat(2000) },
      { boolValue: true },
      { boolValue: false },
      { intValue: '0' },
      { intValue: '-1' },
      { intValue: '9223372036854775807' },
      { intValue: '-9223372036854775808' },
      { intValue: '9007199254740993' },
      { intValue: '4294967296' },
      { doubleValue: 1 },
      { doubleValue: 0.1 },
      { doubleValue: 1e300 },
      { doubleValue: 'NaN' },
      { doubleValue: '-Infinity' },
      { bytesValue: 'AAEC/w==' },
      { arrayValue: {} },
      { arrayValue: { values: [{ stringValue: 'stop' }, {}, { intValue: '3' }, { doubleValue: 1.5 }] } },
      {
        kvlistValue: {
          values: [
            { key: 'z', value: { bytesValue: 'AAE=' } },
            { key: 'a', value: { kvlistValue: {} } },
            { key: 'a', value: { boolValue: true } },
          ],
        },
      },
      {},
    ];
    const attributes = values.map((value, i) => ({ key: `k${i}`, value }));
    const [row] = expectSameBytes(traceRequest([jsonSpan({ attributes })]));
    expect(row?.['SpanAttributes']).toEqual([
      ['k0', ''],
      ['k1', 'a\0b \u202e é 😀'],
      ['k2', 'long é '.repeat(2000)],
      ['k3', 'true'],
      ['k4', 'false'],
      ['k5', '0'],
      ['k6', '-1'],
      ['k7', '9223372036854775807'],
      ['k8', '-9223372036854775808'],
      ['k9', '9007199254740993'],
      ['k10', '4294967296'],
      ['k11', '1'],
      ['k12', '0.1'],
      ['k13', '1e+300'],
      ['k14', 'NaN'],
      ['k15', '-Infinity'],
      ['k16', 'AAEC/w=='],
      ['k17', '[]'],
      ['k18', '["stop",null,3,1.5]'],
      ['k19', '{"a":true,"z":"AAE="}'],
      ['k20', ''],
    ]);
  });

  it('gives equal rows for odd keys, repeated keys and very many attributes', () => {
    const odd = ['__proto__', 'constructor', '', 'a.b c"`$', 'schlüssel', 'x', 'x', 'schlüssel'];
    const spans = [
      jsonSpan({ attributes: odd.map((key, i) => attribute(key, String(i))) }),
      jsonSpan({ attributes: ['x', 'y', 'x'].map((key, i) => attribute(key, String(i))) }),
      jsonSpan({ attributes: Array.from({ length: 10_000 }, (_, i) => attribute(`key ${i}`, 'v')) }),
      jsonSpan({ attributes: Array.from({ length: 400 }, (_, i) => attribute(`key ${i}`, 'v')) }),
    ];
    const rows = expectSameBytes(traceRequest(spans));
    expect(rows[1]?.['SpanAttributes']).toEqual([
      ['x', '2'],
      ['y', '1'],
    ]);
    expect(rows[2]?.['SpanAttributes']).toHaveLength(10_000);
  });

  it('gives equal rows for events, links, states and every kind and status', () => {
    const spans = [0, 1, 2, 3, 4, 5, 9].map((kind) =>
      jsonSpan({
        kind,
        parentSpanId: kind % 2 === 0 ? '' : 'b7ad6b7169203331',
        traceState: 'a=1',
        droppedAttributesCount: kind,
        status: { code: kind, message: 'why' },
        events: Array.from({ length: kind }, (_, i) => ({
          timeUnixNano: String(1_700_000_000_000_000_000 + i * 4096),
          name: `event ${i}`,
          attributes: [attribute('exception.type', 'Error')],
        })),
        links: Array.from({ length: kind % 3 }, () => ({
          traceId: '0af7651916cd43dd8448eb211c80319c',
          spanId: 'b7ad6b7169203331',
          traceState: 'b=2',
          attributes: [attribute('k', 'v')],
        })),
      }),
    );
    const rows = expectSameBytes(traceRequest(spans));
    expect(rows.map((row) => row['SpanKind'])).toEqual([
      'Unspecified',
      'Internal',
      'Server',
      'Client',
      'Producer',
      'Consumer',
      'Unspecified',
    ]);
    expect(rows.map((row) => row['StatusCode']).slice(0, 4)).toEqual(['Unset', 'Ok', 'Error', 'Unset']);
  });

  it('keeps times from 1970 to 2262-04-10, clamps those of events and gives a span that ends before it starts no duration', () => {
    const times = [
      ['0', '0'],
      ['1', '4294967297'],
      ['9223286395000000000', '9223286395000000001'],
      ['4294967295', '4294967296'],
      ['2000', '1000'],
    ];
    const spans = times.map(([startTimeUnixNano, endTimeUnixNano]) =>
      jsonSpan({
        startTimeUnixNano,
        endTimeUnixNano,
        events: [{ timeUnixNano: endTimeUnixNano === '0' ? '18446744073709551615' : endTimeUnixNano }],
      }),
    );
    const rows = expectSameBytes(traceRequest(spans));
    expect(rows.map((row) => row['Timestamp'])).toEqual([0n, 1n, 9223286395000000000n, 4294967295n, 2000n]);
    expect(rows.map((row) => row['Duration'])).toEqual([0n, 4294967296n, 1n, 1n, 0n]);
    expect(rows.map((row) => row['Truncated'])).toEqual([['Events.Timestamp'], [], [], [], []]);
  });

  it.each([
    ['18446744073709551615', '18446744073709551615'],
    ['9223372036854775807', '9223372036854775807'],
    ['10413792000000000000', '10413792001000000000'],
    ['9223286400000000000', '9223286400000000001'],
    ['1768467600000000000', '18446744073709551615'],
  ])('rejects a span from %s to %s alone: no hour of the store holds it', (start, end) => {
    const spans = [jsonSpan({ startTimeUnixNano: start, endTimeUnixNano: end }), jsonSpan()];
    for (const decoded of [fromProtobuf(requestBytes(traceRequest(spans))), fromJson(traceRequest(spans))]) {
      expect(decoded).toMatchObject({ rows: 1, rejected: 1 });
      expect(decoded.reasons[0]).toMatch(
        /(start|end)TimeUnixNano lies after 2262-04-10: check the clock and the unit/,
      );
    }
  });

  it('applies a resource and a scope that come after their spans', () => {
    const request = traceRequest([jsonSpan(), jsonSpan({ events: [{ name: 'e', timeUnixNano: '1' }] })]);
    const reversed = requestBytes(request, (parts) => parts.toReversed());
    expect(listRows(fromProtobuf(reversed))).toEqual(listRows(fromJson(request)));
    expect(listRows(fromProtobuf(reversed))[0]?.['ServiceName']).toBe('shop');
  });

  it('skips unknown fields of every wire type, groups included', () => {
    const unknown = Buffer.concat([
      varintField(1000, 2n ** 64n - 1n),
      lengthField(2000, [1, 2, 3]),
      Buffer.from([((101 << 3) & 0x7f) | 0x80 | 1, 6, 1, 2, 3, 4, 5, 6, 7, 8]),
      Buffer.from([0xbb, 0x06, 0x08, 0x01, 0xbb, 0x06, 0xbc, 0x06, 0xbc, 0x06]),
      Buffer.from([0xad, 0x06, 1, 2, 3, 4]),
    ]);
    const span = jsonSpan();
    const padded = lengthField(2, Buffer.concat([unknown, spanBytes(span), unknown]));
    const scope = lengthField(2, Buffer.concat([unknown, padded]));
    const body = Buffer.concat([unknown, lengthField(1, Buffer.concat([unknown, scope])), unknown]);
    const [row] = listRows(fromProtobuf(body));
    expect(row?.['SpanId']).toBe(span['spanId']);
  });

  it('leaves out malformed spans with their places and keeps their neighbours', () => {
    const request = traceRequest([
      jsonSpan(),
      jsonSpan({ traceId: '00000000000000000000000000000000' }),
      jsonSpan({ traceId: 'abcd' }),
      jsonSpan({ spanId: '' }),
      jsonSpan({ parentSpanId: 'abcd' }),
      jsonSpan({ links: [{ traceId: '', spanId: '' }] }),
      jsonSpan({ attributes: [{ key: 'deep', value: nested(DEEP) }] }),
      jsonSpan({ parentSpanId: '0000000000000000' }),
    ]);
    const rows = expectSameBytes(request);
    expect(rows.map((row) => row['ParentSpanId'])).toEqual(['', '']);
    const decoded = fromProtobuf(requestBytes(request));
    expect(decoded.rejected).toBe(6);
    expect(decoded.reasons[0]).toBe(
      'resourceSpans[0].scopeSpans[0].spans[1]: traceId is missing or all zero; it must have 16 bytes',
    );
  });

  it('counts every span of a resource that cannot be read', () => {
    const request = traceRequest([jsonSpan(), jsonSpan()]);
    const [group] = request['resourceSpans'] as Json[];
    const bad = { ...group, resource: { attributes: [{ key: 'deep', value: nested(DEEP) }] } };
    const rows = expectSameBytes({ resourceSpans: [bad, group] });
    expect(rows).toHaveLength(2);
    expect(fromProtobuf(requestBytes({ resourceSpans: [bad, group] })).rejected).toBe(2);
  });

  it('takes values nested as deep as allowed, whatever the value within, and no deeper', () => {
    const scalars: Json[] = [
      { stringValue: 'x' },
      { boolValue: true },
      { intValue: '7' },
      { doubleValue: 0.5 },
      { bytesValue: 'AQI=' },
      { kvlistValue: { values: [] } },
    ];
    for (const scalar of scalars) {
      const deepest = jsonSpan({ attributes: [{ key: 'deep', value: nested(MAX_VALUE_DEPTH, scalar) }] });
      const deeper = jsonSpan({ attributes: [{ key: 'deep', value: nested(MAX_VALUE_DEPTH + 1, scalar) }] });
      expect(expectSameBytes(traceRequest([deepest, deeper]))).toHaveLength(1);
    }
  });

  it('repairs invalid UTF-8 in text and keys', () => {
    const pair = Buffer.concat([lengthField(1, [0x6b, 0xff]), lengthField(2, lengthField(1, [0x61, 0xc3]))]);
    const long = Buffer.concat([Buffer.from('y'.repeat(100)), Buffer.from([0xf0, 0x9f])]);
    const name = lengthField(5, long);
    const span = Buffer.concat([
      spanBytes(jsonSpan({ name: '', attributes: [] })),
      lengthField(9, pair),
      name,
    ]);
    const [row] = listRows(fromProtobuf(lengthField(1, lengthField(2, lengthField(2, span)))));
    expect(row?.['SpanAttributes']).toEqual([['k\ufffd', 'a\ufffd']]);
    expect(row?.['SpanName']).toBe(`${'y'.repeat(100)}\ufffd`);
  });

  it('leaves out a span whose row is too large and keeps its neighbours', () => {
    const large = jsonSpan({ attributes: [attribute('a', 'x'.repeat(DEFAULT_ROW_LIMITS.maxRowBytes))] });
    const rows = expectSameBytes(traceRequest([jsonSpan(), large, jsonSpan()]));
    expect(rows).toHaveLength(2);
  });

  it('splits a large request into pieces of whole rows', () => {
    const spans = Array.from({ length: 20 }, () =>
      jsonSpan({ attributes: [attribute('a', 'x'.repeat(PIECE_BYTES / 8))] }),
    );
    const decoded = fromProtobuf(requestBytes(traceRequest(spans)));
    expect(decoded.pieces.map((piece) => piece.rows)).toEqual([8, 8, 4]);
    expect(listRows(decoded).map((row) => row['SpanId'])).toEqual(spans.map((span) => span['spanId']));
  });

  it('refuses a request whose resource would be repeated beyond all bounds, good spans or bad', () => {
    const service = 's'.repeat(3 * 1024 * 1024);
    const good = traceRequest(
      Array.from({ length: 200 }, () => jsonSpan()),
      service,
    );
    const bad = traceRequest(
      Array.from({ length: 200 }, () => jsonSpan({ links: [{ traceId: '', spanId: '' }] })),
      service,
    );
    for (const request of [good, bad]) {
      expect(() => fromProtobuf(requestBytes(request))).toThrow(/every row repeats the resource attributes/);
    }
  });

  it('takes an empty request', () => {
    expect(fromProtobuf(Buffer.alloc(0))).toMatchObject({ rows: 0, rejected: 0, pieces: [] });
    expect(fromJson({})).toMatchObject({ rows: 0, rejected: 0, pieces: [] });
  });

  it('reads what the real SDK serializer writes', () => {
    const spans = sdkSpans();
    const body = ProtobufTraceSerializer.serializeRequest(spans);
    const rows = listRows(fromProtobuf(body ?? Buffer.alloc(0)));
    expect(rows.map((row) => row['SpanName'])).toEqual(spans.map((span) => span.name));
    expect(rows.map((row) => row['TraceId'])).toEqual(spans.map((span) => span.spanContext().traceId));
    expect(Object.fromEntries(rows[0]?.['SpanAttributes'] as [string, string][])).toMatchObject({
      'gen_ai.request.model': 'gpt-5-mini',
      'gen_ai.usage.input_tokens': '193',
      'gen_ai.request.temperature': '0.2',
      'gen_ai.response.finish_reasons': '["stop"]',
    });
  });
});

describe('a log request', () => {
  it('gives equal rows as protobuf and as JSON', () => {
    const rows = expectSameBytes(
      logRequest([
        jsonLog(),
        jsonLog({ timeUnixNano: '0', observedTimeUnixNano: '77' }),
        jsonLog({ eventName: '', attributes: [attribute('event.name', 'gen_ai.user.message')] }),
        jsonLog({ body: { stringValue: 'plain' }, severityNumber: 300 }),
        jsonLog({ body: undefined }),
      ]),
      'logs',
    );
    expect(rows.map((row) => row['Timestamp'])).toEqual([
      1700000000000000001n,
      77n,
      1700000000000000001n,
      1700000000000000001n,
      1700000000000000001n,
    ]);
    expect(rows[0]?.['Body']).toBe('{"content":"hi"}');
    expect(rows[2]?.['EventName']).toBe('gen_ai.user.message');
  });

  it('keeps agent events of a trace, drops other logs and rejects malformed ones', () => {
    const request = logRequest([
      jsonLog(),
      jsonLog({ traceId: '' }),
      jsonLog({ eventName: 'http.access', attributes: [attribute('http.method', 'GET')] }),
      jsonLog({ spanId: 'abcd' }),
    ]);
    expect(expectSameBytes(request, 'logs')).toHaveLength(1);
    expect(fromProtobuf(requestBytes(request), 'logs')).toMatchObject({ rows: 1, dropped: 2, rejected: 1 });
  });

  it('keeps feedback on a trace, by the name of the event or of an attribute', () => {
    const request = logRequest([
      jsonLog({ eventName: 'user.feedback', attributes: [attribute('score', '-1')] }),
      jsonLog({ eventName: 'rated', attributes: [attribute('feedback.score', '-1')] }),
      jsonLog({ eventName: 'rated', attributes: [attribute('score', '-1')] }),
    ]);
    expect(fromProtobuf(requestBytes(request), 'logs')).toMatchObject({ rows: 2, dropped: 1 });
  });

  it('keeps the content that AWS’s distribution moved from a span, in an event with the name of its scope', () => {
    const request = logRequest([
      jsonLog({ eventName: 'test', attributes: [] }),
      jsonLog({ eventName: 'tests', attributes: [] }),
    ]);
    expect(fromProtobuf(requestBytes(request), 'logs')).toMatchObject({ rows: 1, dropped: 1 });
  });

  it('reads what the real SDK serializer writes', () => {
    const body = ProtobufLogsSerializer.serializeRequest(sdkLogs());
    const [row] = listRows(fromProtobuf(body ?? Buffer.alloc(0), 'logs'));
    expect(row?.['EventName']).toBe('gen_ai.choice');
    expect(row?.['Body']).toBe('{"content":"hi"}');
  });
});

describe('an unreadable body', () => {
  it.each<[string, number[]]>([
    ['cut inside a length', [0x0a]],
    ['a length beyond the end', [0x0a, 0x05, 0x00]],
    ['a huge length', [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]],
    ['a number without end', [0x08, ...Array.from({ length: 12 }, () => 0xff)]],
    ['wire type 7', [0x0f]],
    ['field number 0', [0x02, 0x00]],
    ['an end group alone', [0x0c]],
    ['a group without end', [0x0b, 0x08, 0x01]],
    ['a cut fixed64', [0x09, 0x01]],
  ])('is refused with its place: %s', (_, bytes) => {
    expect(() => fromProtobuf(Buffer.from(bytes))).toThrow(InvalidInputError);
    expect(() => fromProtobuf(Buffer.from(bytes))).toThrow(/at byte \d+ of \d+/);
  });

  it('is refused when it breaks off inside a span, even after good ones', () => {
    const body = requestBytes(traceRequest([jsonSpan(), jsonSpan()]));
    expect(() => fromProtobuf(body.subarray(0, body.length - 1))).toThrow(InvalidInputError);
  });

  it.each(['', 'nope', '[1]', '"x"', 'null', '{"resourceSpans":'])('is refused as JSON: %s', (text) => {
    expect(() => decodeRequest('traces', 'json', Buffer.from(text), '')).toThrow(InvalidInputError);
  });
});

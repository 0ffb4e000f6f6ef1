import { describe, expect, it } from 'vitest';
import { decodeRequest } from '../../../../collector/otlp/decode-request.ts';
import {
  DEFAULT_DECODE,
  DEFAULT_ROW_LIMITS,
  type DecodeOptions,
  type RowLimits,
} from '../../../../collector/limits.ts';
import { STUB_MARK } from '../../../../src/conventions/kept-content.ts';
import { type Json, requestBytes } from '../../../support/builders/otlp-proto-writer.ts';
import {
  attribute,
  jsonLog,
  jsonSpan,
  logRequest,
  traceRequest,
} from '../../../support/builders/otlp-requests.ts';
import { readRows, type Row } from '../../../support/store/row-binary-reader.ts';

const MIB = 1024 * 1024;

/** Decodes a request; equal from both encodings. */
function decoded(request: Json, options: DecodeOptions, signal: 'traces' | 'logs' = 'traces') {
  const json = decodeRequest(signal, 'json', Buffer.from(JSON.stringify(request)), '', options);
  const protobuf = decodeRequest(signal, 'protobuf', requestBytes(request), '', options);
  const rows = protobuf.pieces.flatMap((piece): Row[] => readRows(protobuf.table, piece.bytes));
  expect(json.pieces.flatMap((piece) => readRows(json.table, piece.bytes))).toEqual(rows);
  expect({ ...json, pieces: [], reasons: [] }).toEqual({ ...protobuf, pieces: [], reasons: [] });
  return { ...protobuf, rows };
}

function within(limits: Partial<RowLimits>): DecodeOptions {
  return { limits: { ...DEFAULT_ROW_LIMITS, ...limits }, keep: 'all' };
}

function buildRow(span: Json, limits: Partial<RowLimits> = {}): Row {
  const [row = {}] = decoded(traceRequest([jsonSpan(span)]), within(limits)).rows;
  return row;
}

describe('the limits of a row', () => {
  it('keep an attribute of 1 MiB, and 10,000 attributes, whole', () => {
    const value = 'é'.repeat(MIB / 2);
    const many = Array.from({ length: 10_000 }, (_, i) => attribute(`k${i}`, String(i)));
    expect(buildRow({ attributes: [attribute('a', value)] })).toMatchObject({
      SpanAttributes: [['a', value]],
      Truncated: [],
    });
    const row = buildRow({ attributes: many });
    expect(row).toMatchObject({ Truncated: [] });
    expect(row['SpanAttributes']).toHaveLength(10_000);
  });

  it('keep the first 10,000 of more attributes, and say so', () => {
    const many = Array.from({ length: 10_001 }, (_, i) => attribute(`k${i}`, String(i)));
    const row = buildRow({ attributes: many });
    expect(row['SpanAttributes']).toHaveLength(10_000);
    expect(row).toMatchObject({ Truncated: ['SpanAttributes'] });
  });

  it.each([
    ['ascii text', 'abcdefghijkl', 'abcdefghij'],
    ['a character of two bytes on the border', 'abcdefghié', 'abcdefghi'],
    ['a character of three bytes on the border', 'abcdefgh☔', 'abcdefgh'],
    ['a character of four bytes on the border', 'abcdefg😀', 'abcdefg'],
    ['a character that ends on the border', 'abcdef😀x', 'abcdef😀'],
  ])('cut a text between characters: %s', (_, sent, kept) => {
    const row = buildRow({ attributes: [attribute('gen_ai.x', sent)], name: sent }, { maxTextBytes: 10 });
    expect(row).toMatchObject({ SpanName: kept, SpanAttributes: [['gen_ai.x', kept]] });
    expect(row['Truncated']).toEqual(['SpanAttributes.gen_ai.x', 'SpanName']);
  });

  it('name only what was cut of the value that is kept, where a key comes twice', () => {
    const long = { arrayValue: { values: [{ stringValue: 'long enough' }] } };
    const [first, last] = [{ key: 'a', value: long }, attribute('a', 'short')];
    const row = buildRow({ attributes: [first, attribute('b', 'too long'), last] }, { maxTextBytes: 5 });
    expect(row).toMatchObject({
      SpanAttributes: [
        ['a', 'short'],
        ['b', 'too l'],
      ],
      Truncated: ['SpanAttributes.b'],
    });
  });

  it('hold for structured values, events, links and the resource, each named', () => {
    const value = { arrayValue: { values: [{ stringValue: 'long enough' }] } };
    const request = traceRequest(
      [
        jsonSpan({
          attributes: [{ key: 'list', value }],
          status: { code: 2, message: 'it went all wrong' },
          events: Array.from({ length: 3 }, () => ({ timeUnixNano: '1', name: 'e', attributes: [] })),
          links: Array.from({ length: 2 }, () => ({
            traceId: '0af7651916cd43dd8448eb211c80319c',
            spanId: 'b7ad6b7169203331',
          })),
        }),
      ],
      'a service with a long name',
    );
    const limits = { maxTextBytes: 10, maxEvents: 2, maxLinks: 1 };
    const [row = {}] = decoded(request, within(limits)).rows;
    expect(row['Truncated']).toEqual([
      'Events',
      'Links',
      'ResourceAttributes.service.name',
      'ServiceName',
      'SpanAttributes.list',
      'StatusMessage',
    ]);
    expect(row).toMatchObject({
      'Events.Name': ['e', 'e'],
      'Links.SpanId': ['b7ad6b7169203331'],
      SpanAttributes: [['list', '["long eno']],
    });
  });

  it('hold for log records', () => {
    const log = jsonLog({ body: { stringValue: 'a long body' }, attributes: [attribute('a', 'short')] });
    const [row = {}] = decoded(logRequest([log]), within({ maxTextBytes: 10 }), 'logs').rows;
    expect(row).toMatchObject({ Body: 'a long bod', LogAttributes: [['a', 'short']] });
    expect(row['Truncated']).toEqual(['Body', 'EventName']);
  });

  it('leave out a row that was sent too large, even where cutting would make it small', () => {
    const large = jsonSpan({ attributes: [attribute('a', 'x'.repeat(9 * MIB))] });
    const { rows, rejected, reasons } = decoded(traceRequest([large, jsonSpan()]), DEFAULT_DECODE);
    expect([rows.length, rejected]).toEqual([1, 1]);
    expect(reasons[0]).toContain('more than the 8388608 allowed');
  });

  it('name what was cut short of at most 32 attributes', () => {
    const many = Array.from({ length: 100 }, (_, i) => attribute(`k${i}`, 'too long'));
    expect(buildRow({ attributes: many }, { maxTextBytes: 5 })['Truncated']).toHaveLength(32);
  });
});

describe('keeping agent spans only', () => {
  const options: DecodeOptions = { ...DEFAULT_DECODE, keep: 'agent-spans' };
  const foreign = {
    name: 'GET /users',
    parentSpanId: 'b7ad6b7169203331',
    traceState: 'a=1',
    attributes: [attribute('http.route', '/users'), attribute('session.id', 's1')],
    status: { code: 2, message: 'it broke' },
    events: [{ timeUnixNano: '3', name: 'exception', attributes: [attribute('k', 'v')] }],
    links: [{ traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }],
  };

  it('leaves of other spans their place, times, names, status and resource, marked and counted', () => {
    const { rows, stubs } = decoded(traceRequest([jsonSpan(foreign), jsonSpan()]), options);
    expect(stubs).toBe(1);
    expect(rows[0]).toMatchObject({
      ParentSpanId: 'b7ad6b7169203331',
      TraceState: '',
      SpanName: 'GET /users',
      ServiceName: 'shop',
      ResourceAttributes: [['service.name', 'shop']],
      SpanAttributes: [['session.id', 's1']],
      StatusCode: 'Error',
      StatusMessage: 'it broke',
      'Events.Name': [],
      'Links.SpanId': [],
      Truncated: [STUB_MARK],
    });
    expect(rows[1]).toMatchObject({ SpanAttributes: [['gen_ai.operation.name', 'chat']], Truncated: [] });
  });

  it('keeps spans whole that only an event or the scope shows to be of an agent, and those with feedback', () => {
    const byEvents = ['gen_ai.user.message', 'user.feedback'].map((name) =>
      jsonSpan({ ...foreign, events: [{ timeUnixNano: '3', name, attributes: [] }] }),
    );
    expect(decoded(traceRequest(byEvents), options).stubs).toBe(0);
    const request = {
      resourceSpans: [{ scopeSpans: [{ scope: { name: 'ai' }, spans: [jsonSpan(foreign)] }] }],
    };
    expect(decoded(request, options).stubs).toBe(0);
  });
});

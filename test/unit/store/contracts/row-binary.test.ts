import { describe, expect, it } from 'vitest';
import type { LogRecord, Span } from '../../../../src/domain/trace/span.ts';
import { encodeLog, encodeSpan, RowWriter } from '../../../../src/store/contracts/rows.ts';
import { readRows } from '../../../support/store/row-binary-reader.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

function buildSpan(overrides: Partial<Span> = {}): Span {
  return {
    traceId: TRACE_ID,
    spanId: 'b7ad6b7169203331',
    parentSpanId: '',
    traceState: '',
    name: 'chat',
    kind: 'Client',
    serviceName: 'shop',
    resourceAttributes: new Map([['service.name', 'shop']]),
    scopeName: 'ai',
    scopeVersion: '1',
    attributes: new Map(),
    startUnixNano: 1_700_000_000_000_000_001n,
    durationNano: 5n,
    statusCode: 'Unset',
    statusMessage: '',
    events: [],
    links: [],
    droppedAttributesCount: 0,
    ...overrides,
  };
}

function readRow(span: Span, truncated: string[] = []): Record<string, unknown> {
  const writer = new RowWriter(16);
  encodeSpan(writer, span, 'acme', truncated);
  const [row] = readRows('otel_traces', writer.written());
  return row ?? {};
}

describe('encodeSpan', () => {
  it('writes every column so that it reads back', () => {
    const row = readRow(
      buildSpan({
        attributes: new Map([
          ['a', '1'],
          ['__proto__', 'x'],
        ]),
        events: [{ timeUnixNano: 7n, name: 'e', attributes: new Map([['k', 'v']]) }],
        links: [{ traceId: TRACE_ID, spanId: '00000000000000ff', traceState: 's', attributes: new Map() }],
        droppedAttributesCount: 3,
      }),
      ['SpanAttributes'],
    );
    expect(row).toEqual({
      Timestamp: 1_700_000_000_000_000_001n,
      TraceId: TRACE_ID,
      SpanId: 'b7ad6b7169203331',
      ParentSpanId: '',
      TraceState: '',
      SpanName: 'chat',
      SpanKind: 'Client',
      ServiceName: 'shop',
      ResourceAttributes: [['service.name', 'shop']],
      ScopeName: 'ai',
      ScopeVersion: '1',
      SpanAttributes: [
        ['a', '1'],
        ['__proto__', 'x'],
      ],
      Duration: 5n,
      StatusCode: 'Unset',
      StatusMessage: '',
      'Events.Timestamp': [7n],
      'Events.Name': ['e'],
      'Events.Attributes': [[['k', 'v']]],
      'Links.TraceId': [TRACE_ID],
      'Links.SpanId': ['00000000000000ff'],
      'Links.TraceState': ['s'],
      'Links.Attributes': [[]],
      Tenant: 'acme',
      DroppedAttributesCount: 3,
      Truncated: ['SpanAttributes'],
    });
  });

  it('clamps times beyond Int64 nanoseconds and names their columns', () => {
    const late = 2n ** 64n - 1n;
    const row = readRow(
      buildSpan({ startUnixNano: late, events: [{ timeUnixNano: late, name: '', attributes: new Map() }] }),
    );
    expect(row['Timestamp']).toBe(2n ** 63n - 1n);
    expect(row['Events.Timestamp']).toEqual([2n ** 63n - 1n]);
    expect(row['Truncated']).toEqual(['Timestamp', 'Events.Timestamp']);
  });

  it('keeps long, non-ASCII, NUL and ill-formed text, the last repaired', () => {
    const texts = ['x'.repeat(70_000), 'é'.repeat(63), 'a\0b', '\ud800', '😀'.repeat(40), 'y'.repeat(127)];
    const row = readRow(buildSpan({ attributes: new Map(texts.map((text, i) => [`k${i}`, text])) }));
    expect(row['SpanAttributes']).toEqual(texts.map((text, i) => [`k${i}`, text.toWellFormed()]));
  });
});

describe('encodeLog', () => {
  it('writes every column so that it reads back', () => {
    const log: LogRecord = {
      timeUnixNano: 9n,
      traceId: TRACE_ID,
      spanId: '',
      severityText: 'INFO',
      severityNumber: 9,
      serviceName: 'shop',
      body: '{"a":1}',
      resourceAttributes: new Map([['r', '1']]),
      scopeName: 's',
      scopeVersion: 'v',
      attributes: new Map([['l', '2']]),
      eventName: 'gen_ai.choice',
    };
    const writer = new RowWriter();
    encodeLog(writer, log, 'acme');
    expect(readRows('otel_logs', writer.written())).toEqual([
      {
        Timestamp: 9n,
        TraceId: TRACE_ID,
        SpanId: '',
        TraceFlags: 0,
        SeverityText: 'INFO',
        SeverityNumber: 9,
        ServiceName: 'shop',
        Body: '{"a":1}',
        ResourceSchemaUrl: '',
        ResourceAttributes: [['r', '1']],
        ScopeSchemaUrl: '',
        ScopeName: 's',
        ScopeVersion: 'v',
        ScopeAttributes: [],
        LogAttributes: [['l', '2']],
        EventName: 'gen_ai.choice',
        Tenant: 'acme',
        Truncated: [],
      },
    ]);
  });
});

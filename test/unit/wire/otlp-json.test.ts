import { describe, expect, it } from 'vitest';
import { decodeOtlpJson, MAX_REJECT_REASONS } from '../../../src/wire/otlp-json.ts';
import { fc } from '../../support/fast-check.ts';
import { type AnyValue, lowerValue, MAX_VALUE_DEPTH } from '../../../src/wire/any-value.ts';
import { InvalidInputError } from '../../../src/domain/errors.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

function span(over: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    traceId: TRACE,
    spanId: SPAN,
    name: 'chat',
    startTimeUnixNano: '1700000000000000000',
    endTimeUnixNano: '1700000000500000000',
    ...over,
  };
}

function request(...spans: unknown[]): unknown {
  return {
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
        scopeSpans: [{ scope: { name: 'ai', version: '7' }, spans }],
      },
    ],
  };
}

function attribute(value: unknown): string | undefined {
  const { spans } = decodeOtlpJson(request(span({ attributes: [{ key: 'k', value }] })));
  return spans[0]?.attributes.get('k');
}

describe('decodeOtlpJson', () => {
  it('reads a span with its resource, scope, times and status', () => {
    const { spans, rejected } = decodeOtlpJson(
      request(span({ kind: 3, status: { code: 2, message: 'no' }, parentSpanId: 'B7AD6B7169203332' })),
    );
    expect(rejected).toEqual({ spans: 0, logs: 0, reasons: [] });
    expect(spans[0]).toMatchObject({
      traceId: TRACE,
      spanId: SPAN,
      parentSpanId: 'b7ad6b7169203332',
      kind: 'Client',
      statusCode: 'Error',
      statusMessage: 'no',
      serviceName: 'shop',
      scopeName: 'ai',
      scopeVersion: '7',
      startUnixNano: 1_700_000_000_000_000_000n,
      durationNano: 500_000_000n,
    });
  });

  it('takes ids as hex, base64, bytes or the JSON of a Buffer', () => {
    const bytes = Buffer.from(TRACE, 'hex');
    const forms = [TRACE.toUpperCase(), bytes.toString('base64'), [...bytes], bytes.toJSON(), bytes];
    for (const traceId of forms) {
      expect(decodeOtlpJson(request(span({ traceId }))).spans[0]?.traceId).toBe(TRACE);
    }
  });

  it('takes snake_case fields, enum names and times as numbers', () => {
    const { spans } = decodeOtlpJson({
      resource_spans: [
        {
          scope_spans: [
            {
              spans: [
                {
                  trace_id: TRACE,
                  span_id: SPAN,
                  kind: 'SPAN_KIND_SERVER',
                  status: { code: 'STATUS_CODE_OK' },
                  start_time_unix_nano: 5,
                  end_time_unix_nano: 4,
                  dropped_attributes_count: 3,
                },
              ],
            },
          ],
        },
      ],
    });
    expect(spans[0]).toMatchObject({
      kind: 'Server',
      statusCode: 'Ok',
      startUnixNano: 5n,
      durationNano: 0n,
      droppedAttributesCount: 3,
    });
  });

  it('lowers every kind of attribute value', () => {
    expect(attribute({ stringValue: 'a' })).toBe('a');
    expect(attribute({ boolValue: true })).toBe('true');
    expect(attribute({ intValue: '9007199254740993' })).toBe('9007199254740993');
    expect(attribute({ doubleValue: 0.5 })).toBe('0.5');
    expect(attribute({ doubleValue: 'NaN' })).toBe('NaN');
    expect(attribute({ bytesValue: 'AQI=' })).toBe('AQI=');
    expect(attribute({ arrayValue: { values: [{ stringValue: 'x' }, {}] } })).toBe('["x",null]');
    expect(
      attribute({
        kvlistValue: {
          values: [
            { key: 'b', value: { intValue: 1 } },
            { key: 'a', value: {} },
          ],
        },
      }),
    ).toBe('{"a":null,"b":1}');
    expect(attribute({})).toBe('');
    expect(attribute('bare')).toBe('bare');
    expect(attribute(['x', 1])).toBe('["x",1]');
    expect(attribute({ some: 'object', two: 2 })).toBe('{"some":"object","two":2}');
  });

  it('counts bad spans with place and reason and keeps the good ones', () => {
    const { spans, rejected } = decodeOtlpJson(
      request(span(), span({ traceId: 'zz' }), null, span({ spanId: '0000000000000000' })),
    );
    expect(spans).toHaveLength(1);
    expect(rejected.spans).toBe(3);
    expect(rejected.reasons[0]).toBe(
      'resourceSpans[0].scopeSpans[0].spans[1]: traceId must be 32 hex digits (or 16 bytes in base64)',
    );
  });

  it('counts every span of a group whose resource cannot be read', () => {
    const { rejected } = decodeOtlpJson({
      resourceSpans: [{ resource: { attributes: 5 }, scopeSpans: [{ spans: [span(), span()] }] }],
    });
    expect(rejected.spans).toBe(2);
  });

  it('lists a bounded number of reasons', () => {
    const { rejected } = decodeOtlpJson(request(...Array.from({ length: 100 }, () => 1)));
    expect(rejected.spans).toBe(100);
    expect(rejected.reasons).toHaveLength(MAX_REJECT_REASONS);
  });

  it('rejects a span whose value is nested too deep, without overflowing the stack', () => {
    let deep: unknown = 'x';
    for (let i = 0; i < 100_000; i++) {
      deep = { arrayValue: { values: [deep] } };
    }
    const { spans, rejected } = decodeOtlpJson(
      request(span({ attributes: [{ key: 'k', value: deep }] }), span()),
    );
    expect(spans).toHaveLength(1);
    expect(rejected.reasons[0]).toContain('nested deeper than 64');
  });

  it('keeps a key named __proto__ as a plain attribute', () => {
    const { spans } = decodeOtlpJson(
      request(span({ attributes: [{ key: '__proto__', value: { stringValue: 'x' } }] })),
    );
    expect(spans[0]?.attributes.get('__proto__')).toBe('x');
  });

  it('reads a log record, its event name and its structured body', () => {
    const { logs } = decodeOtlpJson({
      resourceLogs: [
        {
          scopeLogs: [
            {
              logRecords: [
                {
                  observedTimeUnixNano: '7',
                  traceId: TRACE,
                  severityNumber: 'SEVERITY_NUMBER_INFO',
                  attributes: [{ key: 'event.name', value: { stringValue: 'gen_ai.choice' } }],
                  body: { kvlistValue: { values: [{ key: 'index', value: { intValue: 0 } }] } },
                },
              ],
            },
          ],
        },
      ],
    });
    expect(logs[0]).toMatchObject({
      timeUnixNano: 7n,
      traceId: TRACE,
      spanId: '',
      severityNumber: 9,
      eventName: 'gen_ai.choice',
      body: '{"index":0}',
    });
  });

  it('never throws, for any request', () => {
    const junk = fc.jsonValue({ maxDepth: 6 });
    fc.assert(
      fc.property(junk, junk, junk, (value, attributes, time) => {
        for (const body of [value, request(value), request(span({ attributes, startTimeUnixNano: time }))]) {
          const { spans, rejected } = decodeOtlpJson(body);
          expect(spans.length + rejected.spans).toBeLessThanOrEqual(1);
        }
        const logs = { resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: value, attributes }] }] }] };
        expect(() => decodeOtlpJson(logs)).not.toThrow();
      }),
    );
  });
});

describe('lowering an attribute value to the text that the table keeps', () => {
  it.each<[string, AnyValue, string]>([
    ['a string stays as it is', '{"not":"touched"}', '{"not":"touched"}'],
    ['an empty value is an empty text', null, ''],
    ['a boolean is a word', true, 'true'],
    ['an integer is decimal', 193, '193'],
    ['an integer beyond a double keeps its digits', 9_223_372_036_854_775_807n, '9223372036854775807'],
    ['a fraction is decimal', 0.2, '0.2'],
    ['bytes are base64', new Uint8Array([0, 1, 2, 255]), 'AAEC/w=='],
    ['a list is JSON', ['stop', 1, null, 2.5], '["stop",1,null,2.5]'],
    ['a number that is none is its word', Number.NaN, 'NaN'],
    ['a number that is none within a list is a JSON string', [Number.POSITIVE_INFINITY], '["Infinity"]'],
    ['half a surrogate pair is replaced', 'a\ud800b', 'a\ufffdb'],
  ])('%s', (_what, value, expected) => {
    expect(lowerValue(value)).toBe(expected);
  });

  it('writes maps with sorted keys, as the Collector does', () => {
    const value = new Map<string, AnyValue>([
      ['role', 'user'],
      ['parts', [new Map<string, AnyValue>([['type', 'text']])]],
    ]);

    expect(lowerValue(value)).toBe('{"parts":[{"type":"text"}],"role":"user"}');
  });

  it('refuses a value that is nested too deep', () => {
    let value: AnyValue = 'x';
    for (let depth = 0; depth < MAX_VALUE_DEPTH + 2; depth += 1) {
      value = [value];
    }

    expect(() => lowerValue(value)).toThrow(InvalidInputError);
  });
});

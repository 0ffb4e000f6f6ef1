import { describe, expect, it } from 'vitest';
import { decodeRequest } from '../../../../collector/otlp/decode-request.ts';
import type { DecodedRequest } from '../../../../collector/otlp/row-pieces.ts';
import { DEFAULT_ROW_LIMITS, type DecodeOptions } from '../../../../collector/limits.ts';
import { AppError, InvalidInputError } from '../../../../src/domain/errors.ts';
import { type Json, requestBytes } from '../../../support/builders/otlp-proto-writer.ts';
import { readRows } from '../../../support/store/row-binary-reader.ts';
import { fc } from '../../../support/fast-check.ts';

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.string({ maxLength: 200 }));
const nanos = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
const hex = (bytes: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((raw) => Buffer.from(raw).toString('hex'));

const value: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text.map((stringValue) => ({ stringValue })),
    fc.boolean().map((boolValue) => ({ boolValue })),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((int) => ({ intValue: String(int) })),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((doubleValue) => ({ doubleValue })),
    fc.uint8Array({ maxLength: 20 }).map((raw) => ({ bytesValue: Buffer.from(raw).toString('base64') })),
    fc.constant({}),
    fc.array(tie('value'), { maxLength: 4 }).map((values) => ({ arrayValue: { values } })),
    fc
      .array(fc.record({ key: text, value: tie('value') }), { maxLength: 4 })
      .map((values) => ({ kvlistValue: { values } })),
  ),
})).value;

const attributes = fc.array(fc.record({ key: text, value }), { maxLength: 8 });
const span: fc.Arbitrary<Json> = fc.record({
  traceId: fc.oneof({ weight: 9, arbitrary: hex(16) }, { weight: 1, arbitrary: hex(3) }),
  spanId: hex(8),
  parentSpanId: fc.oneof(hex(8), fc.constant('')),
  traceState: text,
  name: text,
  kind: fc.integer({ min: 0, max: 7 }),
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes,
  droppedAttributesCount: fc.nat(),
  events: fc.array(fc.record({ timeUnixNano: nanos, name: text, attributes }), { maxLength: 3 }),
  links: fc.array(fc.record({ traceId: hex(16), spanId: hex(8), traceState: text, attributes }), {
    maxLength: 2,
  }),
  status: fc.record({ code: fc.integer({ min: 0, max: 4 }), message: text }),
});
const scope = fc.record({ name: text, version: text });
const traceRequest: fc.Arbitrary<Json> = fc.record({
  resourceSpans: fc.array(
    fc.record({
      resource: fc.record({ attributes }),
      scopeSpans: fc.array(fc.record({ scope, spans: fc.array(span, { maxLength: 4 }) }), { maxLength: 3 }),
    }),
    { maxLength: 3 },
  ),
});
const logRequest: fc.Arbitrary<Json> = fc.record({
  resourceLogs: fc.array(
    fc.record({
      resource: fc.record({ attributes }),
      scopeLogs: fc.array(
        fc.record({
          scope,
          logRecords: fc.array(
            fc.record({
              timeUnixNano: nanos,
              observedTimeUnixNano: nanos,
              severityNumber: fc.nat(300),
              severityText: text,
              traceId: fc.oneof(hex(16), fc.constant('')),
              spanId: fc.oneof(hex(8), hex(2)),
              body: value,
              attributes,
              eventName: fc.oneof(fc.constant('gen_ai.choice'), text),
            }),
            { maxLength: 4 },
          ),
        }),
        { maxLength: 3 },
      ),
    }),
    { maxLength: 3 },
  ),
});

/** As usual, and with limits that nearly every row meets. */
const options: fc.Arbitrary<DecodeOptions> = fc.record({
  limits: fc.constantFrom(DEFAULT_ROW_LIMITS, {
    maxTextBytes: 32,
    maxAttributes: 3,
    maxEvents: 2,
    maxLinks: 1,
    maxRowBytes: 100_000,
    maxRecords: 100,
  }),
  keep: fc.constantFrom('all', 'agent-spans'),
});

function rotate(parts: Buffer[]): Buffer[] {
  return parts.length < 2 ? parts : [...parts.slice(1), ...parts.slice(0, 1)];
}

function readBytes(decoded: DecodedRequest): unknown {
  return {
    bytes: Buffer.concat(decoded.pieces.map((piece) => piece.bytes)).toString('hex'),
    counts: [decoded.rows, decoded.rejected, decoded.dropped, decoded.stubs],
  };
}

/** True when the body gives whole rows or is refused as invalid; what else is thrown goes on. */
function isReadOrRefused(run: () => DecodedRequest): boolean {
  try {
    const decoded = run();
    return decoded.pieces.flatMap((piece) => readRows(decoded.table, piece.bytes)).length === decoded.rows;
  } catch (error) {
    if (error instanceof InvalidInputError) {
      return true;
    }
    throw error;
  }
}

describe('any request', () => {
  it.each([
    ['traces', traceRequest],
    ['logs', logRequest],
  ] as const)(
    'gives the same rows as protobuf, as protobuf in another order and as JSON: %s',
    (signal, arb) => {
      fc.assert(
        fc.property(arb, options, (request, how) => {
          const json = decodeRequest(signal, 'json', Buffer.from(JSON.stringify(request)), 't', how);
          const proto = decodeRequest(signal, 'protobuf', requestBytes(request), 't', how);
          const other = decodeRequest(signal, 'protobuf', requestBytes(request, rotate), 't', how);
          expect(readBytes(proto)).toEqual(readBytes(json));
          expect(readBytes(other)).toEqual(readBytes(json));
        }),
        { numRuns: 100 },
      );
    },
  );

  it('that is random bytes is read or refused, never anything else', () => {
    const signals = fc.constantFrom('traces' as const, 'logs' as const);
    const encodings = fc.constantFrom('protobuf' as const, 'json' as const);
    fc.assert(
      fc.property(signals, encodings, fc.uint8Array({ maxLength: 200 }), (signal, encoding, body) => {
        expect(isReadOrRefused(() => decodeRequest(signal, encoding, body, ''))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('that was damaged on the way is read or refused, never anything else', () => {
    const damage = fc.array(fc.record({ at: fc.nat(), byte: fc.nat(255) }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(traceRequest, damage, fc.nat(), (request, changes, cut) => {
        const body = requestBytes(request);
        for (const { at, byte } of changes) {
          body[at % Math.max(body.length, 1)] = byte;
        }
        const short = body.subarray(0, cut % (body.length + 1));
        expect(isReadOrRefused(() => decodeRequest('traces', 'protobuf', body, ''))).toBe(true);
        expect(isReadOrRefused(() => decodeRequest('traces', 'protobuf', short, ''))).toBe(true);
        expect(isReadOrRefused(() => decodeRequest('logs', 'protobuf', body, ''))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it('nested 100,000 deep is refused or counted, never a crash', () => {
    const depth = 100_000;
    const deep = `${'{"arrayValue":{"values":['.repeat(depth)}${']}}'.repeat(depth)}`;
    const json = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${'ab'.repeat(16)}","spanId":"${'cd'.repeat(8)}","attributes":[{"key":"a","value":${deep}}]}]}]}]}`;
    let refused: unknown;
    let decoded: DecodedRequest | undefined;
    try {
      decoded = decodeRequest('traces', 'json', Buffer.from(json), '');
    } catch (error) {
      refused = error;
    }
    expect(decoded?.rejected === 1 || refused instanceof AppError).toBe(true);
    const brackets = Buffer.from('['.repeat(depth));
    expect(() => decodeRequest('traces', 'json', brackets, '')).toThrow(InvalidInputError);
  });
});

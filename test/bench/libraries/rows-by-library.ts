import { Cuts, cutSpan } from '../../../collector/otlp/cuts.ts';
import { createRejections, reject, tooManyRecords } from '../../../collector/otlp/decoded-request.ts';
import type { RowLimits } from '../../../collector/otlp/row-limits.ts';
import { collectRows, type RowPiece } from '../../../collector/otlp/row-pieces.ts';
import { InvalidInputError } from '../../../src/domain/errors.ts';
import type { Attributes, Span, SpanKind, StatusCode } from '../../../src/domain/trace/span.ts';
import { encodeSpan } from '../../../src/store/contracts/rows/row-binary.ts';
import { type AnyValue, lowerValue, MAX_VALUE_DEPTH } from '../../../src/wire/any-value.ts';
import type {
  KeyValueMessage,
  ResourceSpansMessage,
  SpanMessage,
  TraceMessage,
  ValueMessage,
} from './protobuf-library.ts';

const KINDS: readonly SpanKind[] = ['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer'];
const STATUSES: readonly StatusCode[] = ['Unset', 'Ok', 'Error'];
const GROWTH = 1.25;

type Shared = Pick<Span, 'resourceAttributes' | 'serviceName' | 'scopeName' | 'scopeVersion'>;

/**
 * Returns what `decodeRequest` would be if a protobuf library read the bytes: it decodes to objects, then the project's own row
 * writer writes their rows, under the same limits (records, depth, texts, lists, row bytes).
 */
export function rowsByLibrary(
  decode: (body: Uint8Array) => TraceMessage,
  limits: RowLimits,
): (body: Uint8Array, tenant: string) => RowPiece[] {
  return (body, tenant) => {
    const request = decode(body);
    if (countRecords(request) > limits.maxRecords) {
      throw tooManyRecords(limits.maxRecords);
    }
    const rows = collectRows(Math.ceil(body.length * GROWTH) + 256, limits.maxRowBytes);
    const rejections = createRejections();
    const cuts = new Cuts(limits);
    for (const group of request.resourceSpans) {
      for (const [message, shared] of listSpans(group)) {
        try {
          cuts.begin();
          encodeSpan(rows.writer, cutSpan(cuts, buildSpan(message, shared)), tenant, cuts.names());
          rows.endRow(cuts.bytes);
        } catch (error) {
          if (!(error instanceof InvalidInputError)) {
            throw error;
          }
          reject(rejections, 1, () => error.message);
        }
      }
    }
    return rows.finish();
  };
}

function countRecords({ resourceSpans }: TraceMessage): number {
  let count = resourceSpans.length;
  for (const { scopeSpans } of resourceSpans) {
    count += scopeSpans.length + scopeSpans.reduce((sum, { spans }) => sum + spans.length, 0);
  }
  return count;
}

function* listSpans(group: ResourceSpansMessage): Generator<[SpanMessage, Shared]> {
  const resourceAttributes = buildAttributes(group.resource?.attributes ?? []);
  const serviceName = resourceAttributes.get('service.name') ?? '';
  for (const { scope, spans } of group.scopeSpans) {
    const { name: scopeName = '', version: scopeVersion = '' } = scope ?? {};
    const shared = { resourceAttributes, serviceName, scopeName, scopeVersion };
    for (const span of spans) {
      yield [span, shared];
    }
  }
}

function buildSpan(message: SpanMessage, shared: Shared): Span {
  const { startTimeUnixNano: start, endTimeUnixNano: end, status } = message;
  return {
    traceId: requireId(message.traceId, 16),
    spanId: requireId(message.spanId, 8),
    parentSpanId: buildId(message.parentSpanId, 8),
    traceState: message.traceState,
    name: message.name,
    kind: KINDS[message.kind] ?? 'Unspecified',
    ...shared,
    attributes: buildAttributes(message.attributes),
    startUnixNano: start,
    durationNano: end > start ? end - start : 0n,
    statusCode: STATUSES[status?.code ?? 0] ?? 'Unset',
    statusMessage: status?.message ?? '',
    events: message.events.map(({ timeUnixNano, name, attributes }) => ({
      timeUnixNano,
      name,
      attributes: buildAttributes(attributes),
    })),
    links: message.links.map(({ traceId, spanId, traceState, attributes }) => ({
      traceId: requireId(traceId, 16),
      spanId: requireId(spanId, 8),
      traceState,
      attributes: buildAttributes(attributes),
    })),
    droppedAttributesCount: message.droppedAttributesCount,
  };
}

function requireId(bytes: Uint8Array, size: number): string {
  const id = buildId(bytes, size);
  if (id === '') {
    throw new InvalidInputError('an id is missing or all zero');
  }
  return id;
}

/** Lower-case hex, '' where absent or all zero. */
function buildId(bytes: Uint8Array, size: number): string {
  if (bytes.every((byte) => byte === 0)) {
    return '';
  }
  if (bytes.length !== size) {
    throw new InvalidInputError(`an id has ${bytes.length} bytes; it must have ${size}`);
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}

function buildAttributes(list: readonly KeyValueMessage[]): Attributes {
  const attributes = new Map<string, string>();
  for (const { key, value } of list) {
    attributes.set(key, lowerValue(buildValue(value)));
  }
  return attributes;
}

function buildValue(message: ValueMessage | undefined, depth = 0): AnyValue {
  if (depth > MAX_VALUE_DEPTH) {
    throw new InvalidInputError(`attribute value nested deeper than ${MAX_VALUE_DEPTH} levels`);
  }
  const value = message?.value;
  if (value?.case === 'arrayValue') {
    return value.value.values.map((item) => buildValue(item, depth + 1));
  }
  if (value?.case === 'kvlistValue') {
    return new Map(value.value.values.map((item) => [item.key, buildValue(item.value, depth + 1)]));
  }
  return value?.case === undefined ? null : value.value;
}

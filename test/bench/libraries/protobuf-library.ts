import { installPeer, peerFile } from '../peer-packages.ts';

const ENTRY = '@bufbuild/protobuf/dist/esm/index.js';
const WELL_KNOWN = '@bufbuild/protobuf/dist/esm/wkt/index.js';

/** Objects that `@bufbuild/protobuf` makes of an `ExportTraceServiceRequest`. */
export interface TraceMessage {
  readonly resourceSpans: readonly ResourceSpansMessage[];
}
export interface ResourceSpansMessage {
  readonly resource?: { readonly attributes: readonly KeyValueMessage[] };
  readonly scopeSpans: readonly ScopeSpansMessage[];
}
interface ScopeSpansMessage {
  readonly scope?: { readonly name: string; readonly version: string };
  readonly spans: readonly SpanMessage[];
}
export interface SpanMessage {
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  readonly traceState: string;
  readonly parentSpanId: Uint8Array;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: bigint;
  readonly endTimeUnixNano: bigint;
  readonly attributes: readonly KeyValueMessage[];
  readonly droppedAttributesCount: number;
  readonly events: readonly {
    readonly timeUnixNano: bigint;
    readonly name: string;
    readonly attributes: readonly KeyValueMessage[];
  }[];
  readonly links: readonly {
    readonly traceId: Uint8Array;
    readonly spanId: Uint8Array;
    readonly traceState: string;
    readonly attributes: readonly KeyValueMessage[];
  }[];
  readonly status?: { readonly code: number; readonly message: string };
}
export interface KeyValueMessage {
  readonly key: string;
  readonly value?: ValueMessage;
}
export interface ValueMessage {
  readonly value:
    | { readonly case: undefined }
    | { readonly case: 'stringValue'; readonly value: string }
    | { readonly case: 'boolValue'; readonly value: boolean }
    | { readonly case: 'intValue'; readonly value: bigint }
    | { readonly case: 'doubleValue'; readonly value: number }
    | { readonly case: 'arrayValue'; readonly value: { readonly values: readonly ValueMessage[] } }
    | { readonly case: 'kvlistValue'; readonly value: { readonly values: readonly KeyValueMessage[] } }
    | { readonly case: 'bytesValue'; readonly value: Uint8Array };
}

/** A message's fields: `name: [number, type]`; a type is a scalar or a message, with `[]` behind it for a list. */
type Fields = Readonly<Record<string, readonly [number: number, type: string]>>;

/** The messages of opentelemetry-proto 1.9 that a trace request is made of. */
const MESSAGES: Readonly<Record<string, Fields>> = {
  ExportTraceServiceRequest: { resource_spans: [1, 'ResourceSpans[]'] },
  ResourceSpans: { resource: [1, 'Resource'], scope_spans: [2, 'ScopeSpans[]'], schema_url: [3, 'STRING'] },
  Resource: { attributes: [1, 'KeyValue[]'], dropped_attributes_count: [2, 'UINT32'] },
  ScopeSpans: { scope: [1, 'Scope'], spans: [2, 'Span[]'], schema_url: [3, 'STRING'] },
  Scope: {
    name: [1, 'STRING'],
    version: [2, 'STRING'],
    attributes: [3, 'KeyValue[]'],
    dropped_attributes_count: [4, 'UINT32'],
  },
  Span: {
    trace_id: [1, 'BYTES'],
    span_id: [2, 'BYTES'],
    trace_state: [3, 'STRING'],
    parent_span_id: [4, 'BYTES'],
    name: [5, 'STRING'],
    kind: [6, 'INT32'],
    start_time_unix_nano: [7, 'FIXED64'],
    end_time_unix_nano: [8, 'FIXED64'],
    attributes: [9, 'KeyValue[]'],
    dropped_attributes_count: [10, 'UINT32'],
    events: [11, 'Event[]'],
    dropped_events_count: [12, 'UINT32'],
    links: [13, 'Link[]'],
    dropped_links_count: [14, 'UINT32'],
    status: [15, 'Status'],
    flags: [16, 'FIXED32'],
  },
  Event: {
    time_unix_nano: [1, 'FIXED64'],
    name: [2, 'STRING'],
    attributes: [3, 'KeyValue[]'],
    dropped_attributes_count: [4, 'UINT32'],
  },
  Link: {
    trace_id: [1, 'BYTES'],
    span_id: [2, 'BYTES'],
    trace_state: [3, 'STRING'],
    attributes: [4, 'KeyValue[]'],
    dropped_attributes_count: [5, 'UINT32'],
    flags: [6, 'FIXED32'],
  },
  Status: { message: [2, 'STRING'], code: [3, 'INT32'] },
  KeyValue: { key: [1, 'STRING'], value: [2, 'AnyValue'] },
  AnyValue: {
    string_value: [1, 'STRING'],
    bool_value: [2, 'BOOL'],
    int_value: [3, 'INT64'],
    double_value: [4, 'DOUBLE'],
    array_value: [5, 'ArrayValue'],
    kvlist_value: [6, 'KeyValueList'],
    bytes_value: [7, 'BYTES'],
  },
  ArrayValue: { values: [1, 'AnyValue[]'] },
  KeyValueList: { values: [1, 'KeyValue[]'] },
};

/** Message whose fields are one oneof. */
const ONEOF = 'AnyValue';

/** Used part of the library. */
interface Library {
  fromJson(schema: unknown, json: object): unknown;
  createFileRegistry(file: unknown, resolve: () => undefined): { getMessage(name: string): unknown };
  fromBinary(schema: unknown, bytes: Uint8Array, options: { readUnknownFields: boolean }): TraceMessage;
}

/** Loads `@bufbuild/protobuf`, and returns its decoder of trace requests. */
export async function loadTraceDecoder(): Promise<(body: Uint8Array) => TraceMessage> {
  installPeer(ENTRY);
  const library = (await import(peerFile(ENTRY))) as Library;
  const { FileDescriptorProtoSchema } = (await import(peerFile(WELL_KNOWN))) as {
    FileDescriptorProtoSchema: unknown;
  };
  const file = library.fromJson(FileDescriptorProtoSchema, {
    name: 'trace.proto',
    syntax: 'proto3',
    messageType: Object.entries(MESSAGES).map(([name, fields]) => describeMessage(name, fields)),
  });
  const schema = library.createFileRegistry(file, () => undefined).getMessage('ExportTraceServiceRequest');
  return (body) => library.fromBinary(schema, body, { readUnknownFields: false });
}

function describeMessage(name: string, fields: Fields): object {
  const field = Object.entries(fields).map(([fieldName, [number, type]]) => {
    const isList = type.endsWith('[]');
    const plain = type.replace('[]', '');
    return {
      name: fieldName,
      number,
      label: isList ? 'LABEL_REPEATED' : 'LABEL_OPTIONAL',
      ...(plain in MESSAGES ? { type: 'TYPE_MESSAGE', typeName: `.${plain}` } : { type: `TYPE_${plain}` }),
      ...(name === ONEOF ? { oneofIndex: 0 } : {}),
    };
  });
  return { name, field, ...(name === ONEOF ? { oneofDecl: [{ name: 'value' }] } : {}) };
}

/**
 * Encodes OTLP/JSON objects as protobuf bytes. Independent of the tested decoder and of the SDK's serializers, so tests can
 * build requests that no SDK sends: any field order, wrong lengths, unknown fields.
 */
export type Json = Record<string, unknown>;

function varint(value: bigint | number): number[] {
  let rest = BigInt.asUintN(64, BigInt(value));
  const out: number[] = [];
  while (rest >= 0x80n) {
    out.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  out.push(Number(rest));
  return out;
}

export function lengthField(field: number, content: Uint8Array | readonly number[]): Buffer {
  return Buffer.concat([
    Buffer.from([...varint((field << 3) | 2), ...varint(content.length)]),
    Uint8Array.from(content),
  ]);
}

export function varintField(field: number, value: bigint | number): Buffer {
  return Buffer.from([...varint(field << 3), ...varint(value)]);
}

function fixed64Field(field: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value));
  return Buffer.concat([Buffer.from(varint((field << 3) | 1)), bytes]);
}

function doubleField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([Buffer.from(varint((field << 3) | 1)), bytes]);
}

function textField(field: number, value: unknown): Buffer {
  return typeof value === 'string' && value !== '' ? lengthField(field, Buffer.from(value)) : Buffer.alloc(0);
}

function idField(field: number, value: unknown): Buffer {
  return typeof value === 'string' && value !== ''
    ? lengthField(field, Buffer.from(value, 'hex'))
    : Buffer.alloc(0);
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

function nano(value: unknown): bigint {
  return typeof value === 'string' || typeof value === 'number' ? BigInt(value) : 0n;
}

/** Reorders the parts of a message; called for every message. */
export type Order = (parts: Buffer[]) => Buffer[];
const asIs: Order = (parts) => parts;

function anyValueBytes(value: unknown): Buffer {
  if (typeof value !== 'object' || value === null) {
    return Buffer.alloc(0);
  }
  const [[kind, held] = ['', undefined]] = Object.entries(value);
  switch (kind) {
    case 'stringValue':
      return lengthField(1, Buffer.from(String(held)));
    case 'boolValue':
      return varintField(2, held === true ? 1 : 0);
    case 'intValue':
      return varintField(3, BigInt(held as string | number));
    case 'doubleValue':
      return doubleField(4, Number(held));
    case 'arrayValue':
      return lengthField(
        5,
        Buffer.concat(list((held as Json)['values']).map((item) => lengthField(1, anyValueBytes(item)))),
      );
    case 'kvlistValue':
      return lengthField(6, Buffer.concat(keyValues(1, (held as Json)['values'])));
    case 'bytesValue':
      return lengthField(7, Buffer.from(String(held), 'base64'));
    default:
      return Buffer.alloc(0);
  }
}

function keyValues(field: number, entries: unknown): Buffer[] {
  return list(entries).map((entry) => {
    const key = textField(1, entry['key']);
    const value =
      entry['value'] === undefined ? Buffer.alloc(0) : lengthField(2, anyValueBytes(entry['value']));
    return lengthField(field, Buffer.concat([key, value]));
  });
}

function eventBytes(event: Json): Buffer {
  return Buffer.concat([
    fixed64Field(1, nano(event['timeUnixNano'])),
    textField(2, event['name']),
    ...keyValues(3, event['attributes']),
  ]);
}

function linkBytes(link: Json): Buffer {
  return Buffer.concat([
    idField(1, link['traceId']),
    idField(2, link['spanId']),
    textField(3, link['traceState']),
    ...keyValues(4, link['attributes']),
  ]);
}

export function spanBytes(span: Json, order: Order = asIs): Buffer {
  const status = (span['status'] ?? {}) as Json;
  return Buffer.concat(
    order([
      idField(1, span['traceId']),
      idField(2, span['spanId']),
      textField(3, span['traceState']),
      idField(4, span['parentSpanId']),
      textField(5, span['name']),
      varintField(6, Number(span['kind'] ?? 0)),
      fixed64Field(7, nano(span['startTimeUnixNano'])),
      fixed64Field(8, nano(span['endTimeUnixNano'])),
      Buffer.concat(keyValues(9, span['attributes'])),
      varintField(10, Number(span['droppedAttributesCount'] ?? 0)),
      Buffer.concat(list(span['events']).map((event) => lengthField(11, eventBytes(event)))),
      Buffer.concat(list(span['links']).map((link) => lengthField(13, linkBytes(link)))),
      lengthField(
        15,
        Buffer.concat([textField(2, status['message']), varintField(3, Number(status['code'] ?? 0))]),
      ),
    ]),
  );
}

function logBytes(log: Json, order: Order = asIs): Buffer {
  return Buffer.concat(
    order([
      fixed64Field(1, nano(log['timeUnixNano'])),
      varintField(2, Number(log['severityNumber'] ?? 0)),
      textField(3, log['severityText']),
      log['body'] === undefined ? Buffer.alloc(0) : lengthField(5, anyValueBytes(log['body'])),
      Buffer.concat(keyValues(6, log['attributes'])),
      idField(9, log['traceId']),
      idField(10, log['spanId']),
      fixed64Field(11, nano(log['observedTimeUnixNano'])),
      textField(12, log['eventName']),
    ]),
  );
}

/** Encodes a whole export request. Handles traces and logs, depending on the lists in the request. */
export function requestBytes(request: Json, order: Order = asIs): Buffer {
  const groups = [...list(request['resourceSpans']), ...list(request['resourceLogs'])];
  return Buffer.concat(
    groups.map((group) => {
      const resource = (group['resource'] ?? {}) as Json;
      const scopes = [...list(group['scopeSpans']), ...list(group['scopeLogs'])];
      const parts = [
        lengthField(1, Buffer.concat(keyValues(1, resource['attributes']))),
        Buffer.concat(scopes.map((scope) => lengthField(2, scopeBytes(scope, order)))),
        textField(3, group['schemaUrl']),
      ];
      return lengthField(1, Buffer.concat(order(parts)));
    }),
  );
}

function scopeBytes(scoped: Json, order: Order): Buffer {
  const scope = (scoped['scope'] ?? {}) as Json;
  const records = [
    ...list(scoped['spans']).map((span) => lengthField(2, spanBytes(span, order))),
    ...list(scoped['logRecords']).map((log) => lengthField(2, logBytes(log, order))),
  ];
  return Buffer.concat(
    order([
      lengthField(1, Buffer.concat([textField(1, scope['name']), textField(2, scope['version'])])),
      Buffer.concat(records),
      textField(3, scoped['schemaUrl']),
    ]),
  );
}

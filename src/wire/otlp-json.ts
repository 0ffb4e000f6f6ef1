import { type AnyValue, lowerValue, MAX_VALUE_DEPTH } from './any-value.ts';
import { InvalidInputError } from '../domain/errors.ts';
import {
  type Attributes,
  type LogRecord,
  type Span,
  SPAN_KINDS,
  type SpanEvent,
  type SpanLink,
  STATUS_CODES,
} from '../domain/trace/span.ts';

/** Limit of reasons that a decoded request lists; further bad records are only counted. */
export const MAX_REJECT_REASONS = 20;

/** Content of one OTLP export request: valid records, and the number of rejected ones with reasons. */
export interface DecodedOtlp {
  spans: Span[];
  logs: LogRecord[];
  rejected: { spans: number; logs: number; reasons: string[] };
}

interface Scope {
  resourceAttributes: Attributes;
  serviceName: string;
  scopeName: string;
  scopeVersion: string;
}

/**
 * Decodes one OTLP/JSON export request (`resourceSpans` and/or `resourceLogs`, parsed JSON). Accepts the forms that
 * exporters send: ids as hex, base64 or bytes, camelCase or snake_case fields, times as strings or numbers, enums as
 * numbers or names, plain JSON values instead of an `AnyValue`. Never throws for data: counts an unreadable record with its
 * place and reason. Does not filter log records.
 */
export function decodeOtlpJson(request: unknown): DecodedOtlp {
  const decoded: DecodedOtlp = { spans: [], logs: [], rejected: { spans: 0, logs: 0, reasons: [] } };
  if (!isFields(request)) {
    addReason(decoded, 'the request is not a JSON object with resourceSpans or resourceLogs');
    return decoded;
  }
  decodeGroups(request, ['resourceSpans', 'scopeSpans', 'spans'], decoded, (record, scope) => {
    decoded.spans.push(decodeSpan(record, scope));
  });
  decodeGroups(request, ['resourceLogs', 'scopeLogs', 'logRecords'], decoded, (record, scope) => {
    decoded.logs.push(decodeLog(record, scope));
  });
  return decoded;
}

/** Walks resource -> scope -> record; `keys` names the three lists. */
function decodeGroups(
  request: Fields,
  keys: readonly [string, string, string],
  decoded: DecodedOtlp,
  decode: (record: unknown, scope: Scope) => void,
): void {
  const [resourceKey, scopeKey, recordKey] = keys;
  const kind = recordKey === 'spans' ? 'spans' : 'logs';
  const guard = (where: string, lost: number, action: () => void): void => {
    try {
      action();
    } catch (error) {
      if (!(error instanceof InvalidInputError)) {
        throw error;
      }
      decoded.rejected[kind] += lost;
      addReason(decoded, `${where}: ${error.message}`);
    }
  };
  guard(resourceKey, 0, () => {
    readList(request, resourceKey).forEach((group, i) => {
      const groupAt = `${resourceKey}[${i}]`;
      guard(groupAt, countRecords(group, scopeKey, recordKey), () => {
        const resource = readResource(group);
        readList(readFields(group), scopeKey).forEach((scoped, j) => {
          const scopeAt = `${groupAt}.${scopeKey}[${j}]`;
          guard(scopeAt, countRecords({ [scopeKey]: [scoped] }, scopeKey, recordKey), () => {
            const scope = { ...resource, ...readScope(scoped) };
            readList(readFields(scoped), recordKey).forEach((record, k) => {
              guard(`${scopeAt}.${recordKey}[${k}]`, 1, () => decode(record, scope));
            });
          });
        });
      });
    });
  });
}

/** Counts the records that are lost with a group whose head cannot be read. */
function countRecords(group: unknown, scopeKey: string, recordKey: string): number {
  const scopes = isFields(group) ? readField(group, scopeKey) : undefined;
  let count = 0;
  for (const scoped of Array.isArray(scopes) ? scopes.filter(isFields) : []) {
    const records = readField(scoped, recordKey);
    count += Array.isArray(records) ? records.length : 0;
  }
  return count;
}

function readResource(group: unknown): Pick<Scope, 'resourceAttributes' | 'serviceName'> {
  const resource = readField(readFields(group), 'resource');
  const resourceAttributes = isFields(resource) ? readAttributes(resource) : new Map<string, string>();
  return { resourceAttributes, serviceName: resourceAttributes.get('service.name') ?? '' };
}

function readScope(scoped: unknown): Pick<Scope, 'scopeName' | 'scopeVersion'> {
  const scope = readField(readFields(scoped), 'scope');
  return isFields(scope)
    ? { scopeName: readText(scope, 'name'), scopeVersion: readText(scope, 'version') }
    : { scopeName: '', scopeVersion: '' };
}

function decodeSpan(record: unknown, scope: Scope): Span {
  const span = readFields(record);
  const startUnixNano = readTime(span, 'startTimeUnixNano');
  const endUnixNano = readTime(span, 'endTimeUnixNano');
  const status = readField(span, 'status');
  return {
    traceId: requiredId(span, 'traceId', 16),
    spanId: requiredId(span, 'spanId', 8),
    parentSpanId: optionalId(span, 'parentSpanId', 8),
    traceState: readText(span, 'traceState'),
    name: readText(span, 'name'),
    kind: readEnum(readField(span, 'kind'), SPAN_KINDS, 'SPAN_KIND_', 'kind'),
    ...scope,
    attributes: readAttributes(span),
    startUnixNano,
    durationNano: endUnixNano > startUnixNano ? endUnixNano - startUnixNano : 0n,
    statusCode: isFields(status)
      ? readEnum(readField(status, 'code'), STATUS_CODES, 'STATUS_CODE_', 'status.code')
      : 'Unset',
    statusMessage: isFields(status) ? readText(status, 'message') : '',
    events: readList(span, 'events').map(decodeEvent),
    links: readList(span, 'links').map(decodeLink),
    droppedAttributesCount: readCount(span, 'droppedAttributesCount'),
  };
}

function decodeEvent(record: unknown): SpanEvent {
  const event = readFields(record);
  return {
    timeUnixNano: readTime(event, 'timeUnixNano'),
    name: readText(event, 'name'),
    attributes: readAttributes(event),
  };
}

function decodeLink(record: unknown): SpanLink {
  const link = readFields(record);
  return {
    traceId: requiredId(link, 'traceId', 16),
    spanId: requiredId(link, 'spanId', 8),
    traceState: readText(link, 'traceState'),
    attributes: readAttributes(link),
  };
}

function decodeLog(record: unknown, scope: Scope): LogRecord {
  const log = readFields(record);
  const attributes = readAttributes(log);
  const timeUnixNano = readTime(log, 'timeUnixNano');
  return {
    timeUnixNano: timeUnixNano === 0n ? readTime(log, 'observedTimeUnixNano') : timeUnixNano,
    traceId: optionalId(log, 'traceId', 16),
    spanId: optionalId(log, 'spanId', 8),
    severityText: readText(log, 'severityText'),
    severityNumber: readSeverity(log),
    ...scope,
    body: lowerValue(readAnyValue(readField(log, 'body'), 0)),
    attributes,
    eventName: readText(log, 'eventName') || (attributes.get('event.name') ?? ''),
  };
}

function readSeverity(log: Fields): number {
  const value = readField(log, 'severityNumber');
  const named = typeof value === 'string' ? /^SEVERITY_NUMBER_([A-Z]+)([2-4]?)$/.exec(value) : null;
  if (named === null) {
    return readCount(log, 'severityNumber') % 256;
  }
  const rank = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'].indexOf(named[1] ?? '');
  return rank < 0 ? 0 : rank * 4 + Number(named[2] || 1);
}

function readAttributes(holder: Fields): Attributes {
  const list = readField(holder, 'attributes');
  const attributes = new Map<string, string>();
  for (const [key, value] of isFields(list) ? Object.entries(list) : []) {
    attributes.set(key.toWellFormed(), lowerValue(readAnyValue(value, 0)));
  }
  for (const item of isFields(list) ? [] : readList(holder, 'attributes')) {
    const entry = readFields(item);
    attributes.set(readText(entry, 'key'), lowerValue(readAnyValue(readField(entry, 'value'), 0)));
  }
  return attributes;
}

/** Reads an `AnyValue` in its OTLP/JSON form, or a plain JSON value. */
function readAnyValue(value: unknown, depth: number): AnyValue {
  if (depth > MAX_VALUE_DEPTH) {
    throw new InvalidInputError(`attribute value nested deeper than ${MAX_VALUE_DEPTH} levels`);
  }
  if (value === null || typeof value === 'string' || typeof value === 'boolean') {
    return value;
  }
  if (typeof value === 'number' || typeof value === 'bigint' || value instanceof Uint8Array) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map((item) => readAnyValue(item, depth + 1));
  }
  return isFields(value) ? readTypedValue(value, depth) : null;
}

function readTypedValue(value: Fields, depth: number): AnyValue {
  const keys = Object.keys(value);
  const [key] = keys;
  if (key === undefined) {
    return null;
  }
  const held = value[key];
  // A scalar adds no level, as in protobuf; a structure in its place adds one.
  const inner = typeof held === 'object' ? depth + 1 : depth;
  switch (keys.length === 1 ? key.replace('_v', 'V') : '') {
    case 'stringValue':
      return readAnyValue(held, inner);
    case 'boolValue':
      return held === 'true' || held === true;
    case 'intValue':
      return readInteger(held);
    case 'doubleValue':
      return typeof held === 'string' ? Number(held) : readAnyValue(held, inner);
    case 'bytesValue':
      return typeof held === 'string' ? Buffer.from(held, 'base64') : (readBytes(held) ?? null);
    case 'arrayValue':
      return readValues(held).map((item) => readAnyValue(item, depth + 1));
    case 'kvlistValue':
      return readKeyValues(held, depth);
    default:
      return new Map(keys.map((name) => [name, readAnyValue(value[name], depth + 1)]));
  }
}

function readValues(list: unknown): unknown[] {
  return isFields(list) ? readList(list, 'values') : [];
}

function readKeyValues(list: unknown, depth: number): AnyValue {
  const entries = readValues(list).map((item): [string, AnyValue] => {
    const entry = readFields(item);
    return [readText(entry, 'key'), readAnyValue(readField(entry, 'value'), depth + 1)];
  });
  return new Map(entries);
}

function readInteger(value: unknown): AnyValue {
  if (typeof value === 'string' && /^[+-]?\d{1,20}$/.test(value)) {
    const digits = BigInt(value);
    const double = Number(digits);
    return Number.isSafeInteger(double) ? double : digits;
  }
  if (typeof value === 'number' || typeof value === 'bigint') {
    return value;
  }
  throw new InvalidInputError('an intValue is no integer');
}

function addReason(decoded: DecodedOtlp, reason: string): void {
  if (decoded.rejected.reasons.length < MAX_REJECT_REASONS) {
    decoded.rejected.reasons.push(reason);
  }
}

const UINT64_MAX = 2n ** 64n - 1n;

/**
 * Members of one object of an OTLP/JSON request. The readers below throw an `InvalidInputError` for a member of a wrong
 * form.
 */
export type Fields = Record<string, unknown>;

export function requiredId(holder: Fields, name: string, bytes: number): string {
  const id = optionalId(holder, name, bytes);
  if (id === '') {
    throw new InvalidInputError(`${name} is missing or all zero; it must be ${bytes * 2} hex digits`);
  }
  return id;
}

/** Returns an id in lower-case hex, '' for an absent or all-zero id. */
export function optionalId(holder: Fields, name: string, bytes: number): string {
  const value = readField(holder, name);
  if (value === undefined || value === null || value === '') {
    return '';
  }
  const hex = readHex(value, bytes);
  if (hex === undefined) {
    throw new InvalidInputError(`${name} must be ${bytes * 2} hex digits (or ${bytes} bytes in base64)`);
  }
  return /^0+$/.test(hex) ? '' : hex;
}

function readHex(value: unknown, bytes: number): string | undefined {
  if (typeof value !== 'string') {
    const raw = readBytes(value);
    return raw?.length === bytes ? Buffer.from(raw).toString('hex') : undefined;
  }
  if (value.length === bytes * 2) {
    return /^[0-9a-fA-F]+$/.test(value) ? value.toLowerCase() : undefined;
  }
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(value)) {
    return undefined;
  }
  const raw = Buffer.from(value, 'base64');
  return raw.length === bytes ? raw.toString('hex') : undefined;
}

/** Returns the bytes of an array of numbers, a typed array, or the JSON form of a Node Buffer. */
export function readBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) {
    return value;
  }
  const list = isFields(value) ? readField(value, 'data') : value;
  const isBytes =
    Array.isArray(list) && list.every((item) => Number.isInteger(item) && item >= 0 && item <= 255);
  return isBytes ? Uint8Array.from(list as number[]) : undefined;
}

export function readTime(holder: Fields, name: string): bigint {
  const value = readField(holder, name);
  if (value === undefined || value === null || value === '') {
    return 0n;
  }
  const text =
    typeof value === 'number' ? String(BigInt(Number.isFinite(value) ? Math.trunc(value) : -1)) : value;
  const time = typeof text === 'string' && /^\d{1,20}$/.test(text) ? BigInt(text) : text;
  if (typeof time !== 'bigint' || time < 0n || time > UINT64_MAX) {
    throw new InvalidInputError(`${name} must be nanoseconds since 1970 as a decimal number`);
  }
  return time;
}

export function readCount(holder: Fields, name: string): number {
  const value = Number(readField(holder, name) ?? 0);
  return Number.isInteger(value) && value > 0 ? Math.min(value, 0xffff_ffff) : 0;
}

export function readEnum<T extends string>(
  value: unknown,
  names: readonly T[],
  prefix: string,
  where: string,
): T {
  const fallback = names[0] as T;
  if (value === undefined || value === null) {
    return fallback;
  }
  if (typeof value === 'number') {
    return names[value] ?? fallback;
  }
  if (typeof value === 'string') {
    const bare = value.toUpperCase().replace(prefix, '');
    return names.find((name, index) => name.toUpperCase() === bare || String(index) === bare) ?? fallback;
  }
  throw new InvalidInputError(`${where} must be a number or a name`);
}

export function readText(holder: Fields, name: string): string {
  const value = readField(holder, name);
  return typeof value === 'string' ? value.toWellFormed() : '';
}

/** Returns a list. An absent list is empty. Throws for any other value. */
export function readList(holder: Fields, name: string): unknown[] {
  const value = readField(holder, name);
  if (value === undefined || value === null) {
    return [];
  }
  if (!Array.isArray(value)) {
    throw new InvalidInputError(`${name} must be a list`);
  }
  return value as unknown[];
}

/** Returns a field by its camelCase name, else by its snake_case name; reads own properties only. */
export function readField(holder: Fields, name: string): unknown {
  const key = Object.hasOwn(holder, name) ? name : toSnakeCase(name);
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}

const SNAKE = new Map<string, string>();

function toSnakeCase(name: string): string {
  let snake = SNAKE.get(name);
  if (snake === undefined) {
    snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    SNAKE.set(name, snake);
  }
  return snake;
}

export function readFields(value: unknown): Fields {
  if (!isFields(value)) {
    throw new InvalidInputError('must be a JSON object');
  }
  return value;
}

export function isFields(value: unknown): value is Fields {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}

import { InvalidInputError } from '../domain/errors.ts';

/** Deepest nesting of a structured attribute value; protobuf libraries stop at 100 messages, two for each level. */
export const MAX_VALUE_DEPTH = 64;

/**
 * OTLP `AnyValue` after decoding: scalars, bytes, lists and key-value lists. An integer that does not fit a double is a
 * bigint and keeps its digits.
 */
export type AnyValue =
  | null
  | string
  | boolean
  | number
  | bigint
  | Uint8Array
  | AnyValue[]
  | Map<string, AnyValue>;

/**
 * Converts a value to the string in the `otel_traces` table, as the ClickHouse exporter of the OpenTelemetry Collector
 * does: strings unchanged, numbers in decimal, bytes in base64, lists and maps as JSON with sorted keys, null as ''.
 */
export function lowerValue(value: AnyValue): string {
  if (value === null) {
    return '';
  }
  if (typeof value === 'string') {
    return value.isWellFormed() ? value : value.toWellFormed();
  }
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  }
  if (Array.isArray(value) || value instanceof Map) {
    return toJson(value, 0);
  }
  return String(value);
}

function toJson(value: AnyValue, depth: number): string {
  if (depth > MAX_VALUE_DEPTH) {
    throw new InvalidInputError(`attribute value nested deeper than ${MAX_VALUE_DEPTH} levels`);
  }
  if (value === null) {
    return 'null';
  }
  if (typeof value === 'string') {
    return JSON.stringify(value.toWellFormed());
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return JSON.stringify(String(value));
  }
  if (value instanceof Uint8Array) {
    return JSON.stringify(lowerValue(value));
  }
  if (Array.isArray(value)) {
    return `[${value.map((item) => toJson(item, depth + 1)).join(',')}]`;
  }
  if (value instanceof Map) {
    const keys = [...value.keys()].sort();
    const members = keys.map(
      (key) => `${JSON.stringify(key.toWellFormed())}:${toJson(value.get(key) ?? null, depth + 1)}`,
    );
    return `{${members.join(',')}}`;
  }
  return String(value);
}

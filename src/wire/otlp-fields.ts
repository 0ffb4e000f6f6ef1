import { InvalidInputError } from '../domain/errors.ts';

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

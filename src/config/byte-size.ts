import { ConfigError } from '../domain/errors.ts';

const UNIT_BYTES = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

/** Format of a size in memory: a whole number and a unit. */
export const BYTE_SIZE_PATTERN = /^(\d{1,9})(B|KiB|MiB|GiB)$/;

/** Parses `256MiB` or `1GiB` to bytes. Returns undefined for text that is no size. */
export function parseByteSize(text: string): number | undefined {
  const match = BYTE_SIZE_PATTERN.exec(text.trim());
  return match === null ? undefined : Number(match[1]) * UNIT_BYTES[match[2] as keyof typeof UNIT_BYTES];
}

/** Like `parseByteSize`, for text that the schema has checked. Throws a `ConfigError` for any other text. */
export function byteSize(text: string): number {
  const value = parseByteSize(text);
  if (value === undefined) {
    throw new ConfigError(`"${text}" is no size: write a number and a unit, like 256MiB or 1GiB`);
  }
  return value;
}

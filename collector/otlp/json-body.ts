import { InvalidInputError } from '../../src/domain/errors.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;

/** Peak memory of V8 for each value of a parsed body (measured with Node 24 and late garbage collection). */
const CONTAINER_BYTES = 128;
const STRING_BYTES = 40;
const ELEMENT_BYTES = 16;
const NEW_KEY_BYTES = 200;

/** Keys are distinguished by this many bits of a hash; a key with the hash of another key counts nothing. */
const KEY_HASH_BITS = 20;
const HASHED_BYTES = 64;

/** A body up to this size needs little memory for any content and is not scanned. */
const SMALL_BYTES = 1024 * 1024;

/**
 * Estimates the bytes needed to parse a JSON body, beside the body: its text twice (as a whole, and in its strings), and
 * each object, list, string and key. A list of empty lists needs thirty times its text. Returns 0 for a small body. Stops
 * counting above `most`.
 */
export function jsonCost(body: Uint8Array, most: number): number {
  if (body.length <= SMALL_BYTES) {
    return 0;
  }
  const seenKeys = new Uint8Array(2 ** KEY_HASH_BITS);
  let cost = body.length * 2;
  let lastString = 0;
  for (let at = 0; at < body.length && cost <= most; at++) {
    const byte = body[at];
    if (byte === QUOTE) {
      const end = endOfString(body, at + 1);
      lastString = hashRange(body, at + 1, end);
      at = end;
      cost += STRING_BYTES;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      cost += CONTAINER_BYTES;
    } else if (byte === COMMA) {
      cost += ELEMENT_BYTES;
    } else if (byte === COLON && seenKeys[lastString] === 0) {
      seenKeys[lastString] = 1;
      cost += NEW_KEY_BYTES;
    }
  }
  return cost;
}

/** Returns the position of the quote that ends a string; without one, a position after the end of the body. */
function endOfString(body: Uint8Array, start: number): number {
  let at = start;
  while (at < body.length && body[at] !== QUOTE) {
    at += body[at] === BACKSLASH ? 2 : 1;
  }
  return at;
}

function hashRange(body: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end && at < start + HASHED_BYTES; at++) {
    hash = (Math.imul(hash, 31) + (body[at] as number)) | 0;
  }
  return Math.imul(hash, 0x9e37_79b1) >>> (32 - KEY_HASH_BITS);
}

/** Parses the body of a JSON request. Throws an `InvalidInputError` when it is no JSON object. */
export function parseJson(body: Uint8Array): object {
  let request: unknown;
  try {
    request = JSON.parse(new TextDecoder().decode(body));
  } catch (cause) {
    throw new InvalidInputError('the body is not JSON', { bytes: body.length }, cause);
  }
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    throw new InvalidInputError('the body must be one OTLP export request, a JSON object');
  }
  return request;
}

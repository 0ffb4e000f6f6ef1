// CityHash128 of CityHash 1.0.2. ClickHouse writes this hash before each compressed block. Later versions of CityHash give
// different hashes, and no library in plain JavaScript has this version. All arithmetic is modulo 2^64.

const K0 = 0xc3a5c85c97cb3127n;
const K1 = 0xb492b66fbe98f273n;
const K2 = 0x9ae16a3b2f90404fn;
const K3 = 0xc949d7c7509e6557n;
const MIX = 0x9ddfea08eb382d69n;

interface Pair {
  readonly low: bigint;
  readonly high: bigint;
}

/** State of the hash of a long text. The names are those of the published algorithm. */
interface State {
  x: bigint;
  y: bigint;
  z: bigint;
  v: Pair;
  w: Pair;
}

function u64(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}

function rotateRight(value: bigint, bits: bigint): bigint {
  return u64((value >> bits) | (value << (64n - bits)));
}

function shiftMix(value: bigint): bigint {
  return value ^ (value >> 47n);
}

function hashPair(low: bigint, high: bigint): bigint {
  const a = shiftMix(u64((low ^ high) * MIX));
  const b = shiftMix(u64((high ^ a) * MIX));
  return u64(b * MIX);
}

function hashUpTo16(text: DataView): bigint {
  const size = text.byteLength;
  const length = BigInt(size);
  if (size > 8) {
    const last = text.getBigUint64(size - 8, true);
    return hashPair(text.getBigUint64(0, true), rotateRight(u64(last + length), length)) ^ last;
  }
  if (size >= 4) {
    const first = BigInt(text.getUint32(0, true));
    return hashPair(length + (first << 3n), BigInt(text.getUint32(size - 4, true)));
  }
  if (size === 0) {
    return K2;
  }
  const y = BigInt(text.getUint8(0) + text.getUint8(size >>> 1) * 256);
  const z = BigInt(size + text.getUint8(size - 1) * 4);
  return u64(shiftMix(u64(y * K2) ^ u64(z * K3)) * K2);
}

function murmur(text: DataView, seed: Pair): Pair {
  const size = text.byteLength;
  let { low: a, high: b } = seed;
  let c: bigint;
  let d: bigint;
  if (size <= 16) {
    a = u64(shiftMix(u64(a * K1)) * K1);
    c = u64(b * K1 + hashUpTo16(text));
    d = shiftMix(u64(a + (size >= 8 ? text.getBigUint64(0, true) : c)));
  } else {
    c = hashPair(u64(text.getBigUint64(size - 8, true) + K1), a);
    d = hashPair(u64(b + BigInt(size)), u64(c + text.getBigUint64(size - 16, true)));
    a = u64(a + d);
    for (let at = 0; at < size - 16; at += 16) {
      a = u64((a ^ u64(shiftMix(u64(text.getBigUint64(at, true) * K1)) * K1)) * K1);
      b ^= a;
      c = u64((c ^ u64(shiftMix(u64(text.getBigUint64(at + 8, true) * K1)) * K1)) * K1);
      d ^= c;
    }
  }
  const low = hashPair(a, c);
  const high = hashPair(d, b);
  return { low: low ^ high, high: hashPair(high, low) };
}

/** Mixes 32 bytes with two seeds. Fast and weak: it is one step of the whole hash. */
function mixed32(text: DataView, at: number, first: bigint, second: bigint): Pair {
  const start = u64(first + text.getBigUint64(at, true));
  const end = text.getBigUint64(at + 24, true);
  const turned = rotateRight(u64(second + start + end), 21n);
  const sum = u64(start + text.getBigUint64(at + 8, true) + text.getBigUint64(at + 16, true));
  return { low: u64(sum + end), high: u64(turned + rotateRight(sum, 44n) + start) };
}

function mix64(state: State, text: DataView, at: number): void {
  const { v, w } = state;
  const x = u64(rotateRight(u64(state.x + state.y + v.low + text.getBigUint64(at + 16, true)), 37n) * K1);
  const y = u64(rotateRight(u64(state.y + v.high + text.getBigUint64(at + 48, true)), 42n) * K1);
  const z = rotateRight(state.z ^ w.low, 33n);
  // Words x and z are swapped.
  state.x = z;
  state.y = y ^ v.low;
  state.z = x ^ w.high;
  state.v = mixed32(text, at, u64(v.high * K1), u64(state.z + w.low));
  state.w = mixed32(text, at + 32, u64(z + w.high), state.y);
}

function hashLong(text: DataView, seed: Pair): Pair {
  const size = text.byteLength;
  const z = u64(BigInt(size) * K1);
  const low = u64(rotateRight(seed.high ^ K1, 49n) * K1 + text.getBigUint64(0, true));
  const state: State = {
    x: seed.low,
    y: seed.high,
    z,
    v: { low, high: u64(rotateRight(low, 42n) * K1 + text.getBigUint64(8, true)) },
    w: {
      low: u64(rotateRight(u64(seed.high + z), 35n) * K1 + seed.low),
      high: u64(rotateRight(u64(seed.low + text.getBigUint64(88, true)), 53n) * K1),
    },
  };
  const whole = size - (size % 128);
  for (let at = 0; at < whole; at += 64) {
    mix64(state, text, at);
  }
  return finished(state, text, size - whole);
}

/** Adds the last `rest` bytes, from the end, in steps of 32 bytes. A step may include bytes that are in the hash already. */
function finished(state: State, text: DataView, rest: number): Pair {
  let { x, y, v } = state;
  const { z, w } = state;
  let wLow = w.low;
  y = u64(y + rotateRight(wLow, 37n) * K0 + z);
  x = u64(x + rotateRight(u64(v.low + z), 49n) * K0);
  for (let back = 32; back < rest + 32; back += 32) {
    const at = text.byteLength - back;
    y = u64(rotateRight(u64(y - x), 42n) * K0 + v.high);
    wLow = u64(wLow + text.getBigUint64(at + 16, true));
    x = u64(rotateRight(x, 49n) * K0 + wLow);
    wLow = u64(wLow + v.low);
    v = mixed32(text, at, v.low, v.high);
  }
  x = hashPair(x, v.low);
  y = hashPair(y, wLow);
  return {
    low: u64(hashPair(u64(x + v.high), w.high) + y),
    high: hashPair(u64(x + w.high), u64(y + v.high)),
  };
}

function hashBytes(text: DataView): Pair {
  const size = text.byteLength;
  if (size >= 16) {
    const seed = { low: text.getBigUint64(0, true) ^ K3, high: text.getBigUint64(8, true) };
    const rest = new DataView(text.buffer, text.byteOffset + 16, size - 16);
    return rest.byteLength < 128 ? murmur(rest, seed) : hashLong(rest, seed);
  }
  if (size >= 8) {
    const low = text.getBigUint64(0, true) ^ u64(BigInt(size) * K0);
    return murmur(new DataView(text.buffer, text.byteOffset, 0), {
      low,
      high: text.getBigUint64(size - 8, true) ^ K1,
    });
  }
  return murmur(text, { low: K0, high: K1 });
}

/** Returns the hash as the 16 bytes that ClickHouse writes: the lower half first, each half in little-endian order. */
export function cityHash128(bytes: Uint8Array): Buffer {
  const { low, high } = hashBytes(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const hash = Buffer.alloc(16);
  hash.writeBigUInt64LE(low, 0);
  hash.writeBigUInt64LE(high, 8);
  return hash;
}

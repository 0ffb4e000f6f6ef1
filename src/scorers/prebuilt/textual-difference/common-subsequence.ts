import { setImmediate as nextTurn } from 'node:timers/promises';

/** Bits of one machine word of the row. */
const WORD_BITS = 32;
/** Machine words that are processed before other work may run: some 20 ms. */
const WORDS_PER_TURN = 4_000_000;

/**
 * Computes the length of the longest common subsequence of two texts in UTF-16 units, bit-parallel: 32 cells of the row at a
 * time and memory linear in the shorter text (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004). Other work runs
 * between the parts of long texts; an aborted signal ends the work with its reason.
 */
export async function commonSubsequenceLength(
  first: string,
  second: string,
  signal?: AbortSignal,
): Promise<number> {
  const [shorter, longer] = first.length <= second.length ? [first, second] : [second, first];
  const words = Math.ceil(shorter.length / WORD_BITS);
  const positions = indexPositions(shorter, words);
  // A zero bit marks a cell where the length grows by one.
  const row = new Uint32Array(words).fill(0xffffffff);
  const perTurn = Math.max(1, Math.floor(WORDS_PER_TURN / Math.max(1, words)));
  for (let from = 0; from < longer.length; from += perTurn) {
    if (from > 0) {
      await nextTurn(undefined, { signal });
    }
    const turn = longer.slice(from, from + perTurn);
    for (let index = 0; index < turn.length; index += 1) {
      const matches = positions.get(turn.charCodeAt(index));
      if (matches !== undefined) {
        advance(row, matches);
      }
    }
  }
  return countZeros(row, shorter.length);
}

/** Builds the bit positions of each character in a text. */
function indexPositions(text: string, words: number): Map<number, Uint32Array> {
  const positions = new Map<number, Uint32Array>();
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    let bits = positions.get(code);
    if (bits === undefined) {
      bits = new Uint32Array(words);
      positions.set(code, bits);
    }
    const word = Math.floor(index / WORD_BITS);
    bits[word] = (bits[word] as number) | (1 << (index % WORD_BITS));
  }
  return positions;
}

/** Computes row = (row + (row & matches)) | (row & ~matches), with the carry passed from word to word. */
function advance(row: Uint32Array, matches: Uint32Array): void {
  let carry = 0;
  for (let word = 0; word < row.length; word += 1) {
    const before = row[word] as number;
    const both = (before & (matches[word] as number)) >>> 0;
    const sum = before + both + carry;
    carry = sum > 0xffffffff ? 1 : 0;
    row[word] = sum | (before & ~(matches[word] as number));
  }
}

function countZeros(row: Uint32Array, bits: number): number {
  let zeros = 0;
  for (let bit = 0; bit < bits; bit += 1) {
    const word = row[Math.floor(bit / WORD_BITS)] as number;
    zeros += (word >>> (bit % WORD_BITS)) & 1 ? 0 : 1;
  }
  return zeros;
}

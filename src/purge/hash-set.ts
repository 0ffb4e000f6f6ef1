/** Set of hashes in hex. It keeps the first 64 bits of each: 8 bytes a hash. */
export interface HashSet {
  readonly size: number;
  has(hash: string): boolean;
  /** Returns false for a hash that it has. */
  add(hash: string): boolean;
}

/** Size of the unsorted part from which on it is merged into the sorted one. */
const MAX_RECENT = 10_000;

/** Creates an empty set. */
export function createHashSet(): HashSet {
  let sorted = new BigUint64Array(0);
  const recent = new Set<bigint>();

  const isSorted = (value: bigint): boolean => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sorted[middle] as bigint) < value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return sorted[low] === value;
  };
  const holds = (value: bigint): boolean => recent.has(value) || isSorted(value);

  return {
    get size() {
      return sorted.length + recent.size;
    },
    has: (hash) => holds(shorten(hash)),
    add(hash) {
      const value = shorten(hash);
      if (holds(value)) {
        return false;
      }
      recent.add(value);
      if (recent.size >= MAX_RECENT) {
        sorted = new BigUint64Array([...sorted, ...recent]).sort();
        recent.clear();
      }
      return true;
    },
  };
}

function shorten(hash: string): bigint {
  return BigInt(`0x${hash.slice(0, 16)}`);
}

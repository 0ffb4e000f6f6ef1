import { isIPv6 } from 'node:net';

/** Failed sign-ins of an address before it has to wait. */
const FREE_FAILURES = 5;

/** First wait after these failures, milliseconds. It doubles with each further failure. */
const FIRST_WAIT_MS = 1_000;

/** Longest wait, milliseconds. */
const MAX_WAIT_MS = 60_000;

/** Time without a failure after which an address begins anew, milliseconds. */
const FORGET_AFTER_MS = 15 * 60_000;

/** Most addresses in memory. The address whose last failure is the oldest is forgotten first. */
const MAX_ADDRESSES = 1_000;

/** Brake of failed sign-ins. */
export interface SignInBrake {
  /** Returns the time for which an address has to wait, milliseconds; 0 for none. */
  readWaitMs(address: string): number;
  countFailure(address: string): void;
  /** Forgets the failures of an address. */
  release(address: string): void;
}

interface Failures {
  readonly count: number;
  readonly atMs: number;
}

/**
 * Creates a brake. An address with many failures is refused without a look at its token, for a time that doubles.
 * @param nowMs clock that never goes back, milliseconds
 */
export function createSignInBrake(nowMs: () => number): SignInBrake {
  const byNetwork = new Map<string, Failures>();
  const find = (network: string): Failures | undefined => {
    const failures = byNetwork.get(network);
    return failures === undefined || nowMs() - failures.atMs > FORGET_AFTER_MS ? undefined : failures;
  };
  return {
    readWaitMs(address) {
      const failures = find(findNetwork(address));
      return failures === undefined
        ? 0
        : Math.max(failures.atMs + computeWaitMs(failures.count) - nowMs(), 0);
    },
    countFailure(address) {
      const network = findNetwork(address);
      const count = (find(network)?.count ?? 0) + 1;
      byNetwork.delete(network);
      byNetwork.set(network, { count, atMs: nowMs() });
      const [oldest] = byNetwork.keys();
      if (byNetwork.size > MAX_ADDRESSES && oldest !== undefined) {
        byNetwork.delete(oldest);
      }
    },
    release: (address) => void byNetwork.delete(findNetwork(address)),
  };
}

function computeWaitMs(failures: number): number {
  return failures < FREE_FAILURES
    ? 0
    : Math.min(FIRST_WAIT_MS * 2 ** Math.min(failures - FREE_FAILURES, 20), MAX_WAIT_MS);
}

/** Groups of an IPv6 address that name a network: one person has all addresses of it. */
const NETWORK_GROUPS = 4;

/** Returns the network of an IPv6 address; any other address as it is. */
function findNetwork(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) {
    return address;
  }
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  const missing = tail === undefined ? [] : Array.from({ length: NETWORK_GROUPS }, () => '0');
  return [...groups, ...missing].slice(0, NETWORK_GROUPS).join(':');
}

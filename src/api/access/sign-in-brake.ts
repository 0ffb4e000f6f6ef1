import { isIPv6 } from 'node:net';

/** Wrong tokens of an address before it has to wait. */
const FREE_FAILURES = 5;

/** First wait after these failures, milliseconds. It doubles with each further failure. */
const FIRST_WAIT_MS = 1_000;

/** Longest wait, milliseconds. */
const MAX_WAIT_MS = 60_000;

/** Time without a failure after which an address begins anew, milliseconds. */
const FORGET_AFTER_MS = 15 * 60_000;

/** Most addresses in memory. The address whose last failure is the oldest is forgotten first. */
const MAX_ADDRESSES = 1_000;

/** Brake of sign-ins with wrong tokens. It never keeps the right token out: people behind one proxy may share an address. */
export interface SignInBrake {
  /** Counts a wrong token. Returns the time for which the address should wait, milliseconds; 0 for none. */
  fail(address: string): number;
}

interface Failures {
  readonly count: number;
  readonly atMs: number;
}

/**
 * Creates a brake. The wait of an address with many failures doubles with each further one.
 * @param nowMs clock that never goes back, milliseconds
 */
export function createSignInBrake(nowMs: () => number): SignInBrake {
  const byNetwork = new Map<string, Failures>();
  return {
    fail(address) {
      const network = findNetwork(address);
      const former = byNetwork.get(network);
      const isRecent = former !== undefined && nowMs() - former.atMs <= FORGET_AFTER_MS;
      const count = (isRecent ? former.count : 0) + 1;
      byNetwork.delete(network);
      byNetwork.set(network, { count, atMs: nowMs() });
      const [oldest] = byNetwork.keys();
      if (byNetwork.size > MAX_ADDRESSES && oldest !== undefined) {
        byNetwork.delete(oldest);
      }
      const above = count - FREE_FAILURES - 1;
      return above < 0 ? 0 : Math.min(FIRST_WAIT_MS * 2 ** Math.min(above, 20), MAX_WAIT_MS);
    },
  };
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

import type { TraceActivity } from '../../store/contracts/stores.ts';

type Times = Pick<TraceActivity, 'firstStartUnixNano' | 'lastEndUnixNano'>;

/** Returns the first start and the last end of several traces; 0 without any. */
export function joinTimes(traces: readonly Times[]): Times {
  const [first, ...others] = traces;
  return others.reduce<Times>(
    (joined, { firstStartUnixNano, lastEndUnixNano }) => ({
      firstStartUnixNano: least(joined.firstStartUnixNano, firstStartUnixNano),
      lastEndUnixNano: -least(-joined.lastEndUnixNano, -lastEndUnixNano),
    }),
    { firstStartUnixNano: first?.firstStartUnixNano ?? 0n, lastEndUnixNano: first?.lastEndUnixNano ?? 0n },
  );
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

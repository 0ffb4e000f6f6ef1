import { MIB } from '../../domain/byte-sizes.ts';
import type { WatchedTraces } from '../../purge/purged-traces.ts';
import { withoutPurged } from '../../purge/without-purged.ts';
import type { Store } from '../../store/contracts/store.ts';

/** Limits of each query of a request: it ends before the request does. */
const QUERY_LIMITS = { maxSeconds: 20, maxBytes: 1024 * MIB };

/** Returns the store for the reads of the API: with limits, connections of its own, and without purged traces. */
export function limitApiReads(store: Store, purged: WatchedTraces): Store {
  return withoutPurged(store.limitReads(QUERY_LIMITS), purged);
}

import { readPurgeSecret } from '../config/data-folder.ts';
import type { Config } from '../configuration.ts';
import { ConfigError } from '../domain/errors.ts';
import type { JobKind } from '../jobs/job-kind.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { createPurgeKind, purgeLateTraces } from './purge.ts';
import { createPurgeKey, type PurgeKey } from './purge-key.ts';
import { watchPurgedTraces, withoutPurged, type WatchedTraces } from './purged-traces.ts';

/** Returns the key of tombstones: the configured one, or that of the data directory. A server needs a configured one. */
export function loadPurgeKey({ purgeKey, url, dataDir }: Config['store']): PurgeKey {
  if (purgeKey !== undefined) {
    return createPurgeKey(purgeKey);
  }
  // Without a key, a process on a server can only see that there are tombstones of another one.
  return createPurgeKey(url === undefined ? readPurgeSecret(dataDir) : '');
}

/** Throws a `ConfigError` when processes on other machines could not recognise the tombstones of this one. */
export function requireSharedKey({ purgeKey, url }: Config['store']): void {
  if (url !== undefined && purgeKey === undefined) {
    throw new ConfigError(
      'store.purgeKey is not set: a purge in a server needs one key for every process on it; set it to a secret text in the configuration of all of them, and restart them',
    );
  }
}

/** Store that neither shows nor stores purged traces. */
export interface PurgeAwareStore {
  readonly store: Store;
  readonly purged: WatchedTraces;
}

/** Makes a store leave out purged traces. Throws a `ConfigError` when there are tombstones of another key. */
export async function leaveOutPurged(config: Config, store: Store, log: Log): Promise<PurgeAwareStore> {
  const key = loadPurgeKey(config.store);
  const nowMs = () => store.spans.nowMs();
  const purged = await watchPurgedTraces({
    tombstones: store.tombstones,
    nowMs,
    key,
    log,
  });
  const { purges, tombstones, jobs, spans } = store;
  const deps = { purges, tombstones, jobs, spans, nowMs, purged, key, log };
  return { store: withoutPurged(store, purged, (records) => purgeLateTraces(deps, records)), purged };
}

export function configurePurgeKind(config: Config, { purges, jobs, spans }: Store): JobKind {
  return createPurgeKind({ purges, jobs, key: loadPurgeKey(config.store), nowMs: () => spans.nowMs() });
}

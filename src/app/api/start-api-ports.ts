import type { Caller } from '../../api/api-env.ts';
import type { ApiPorts } from '../../api/ports.ts';
import type { WatchedTraces } from '../../purge/purged-traces.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Config } from '../config/index.ts';
import { configuredPorts } from '../monitors/configured-ports.ts';
import type { ProcessReads } from '../reads/read-ports.ts';
import type { ReadStatus } from '../serve-status.ts';
import type { ScorerKit } from '../scoring/scorer-kit.ts';
import type { StartedPart } from '../stop-parts.ts';
import { limitApiReads } from './limited-reads.ts';
import { createScoringOnDemand } from './scoring-on-demand.ts';

/** Additions to the ports of a process that scores. */
export interface ScorerPorts {
  readonly kit: ScorerKit;
  readonly reads: ProcessReads;
}

export interface ApiPortsDeps extends Partial<ScorerPorts> {
  /** Store that shows purged traces, too. */
  readonly opened: Store;
  /** The same store without purged traces. */
  readonly store: Store;
  readonly purged: WatchedTraces;
  /** Parts of the process that it stops. */
  readonly started: StartedPart[];
  readonly log: Log;
}

/**
 * Makes the ports of the API on a store: limited reads, and writes. Throws a `ConfigError` for monitors that cannot be used.
 * @param readStatus reads the status from the store of the reads
 */
export async function startApiPorts(
  config: Config,
  readStatus: ReadStatus,
  { opened, store, purged, kit, reads: ofProcess, started, log }: ApiPortsDeps,
): Promise<(caller: Caller) => ApiPorts> {
  const onDemand = createScoringOnDemand({ config, store, purged, kit, log });
  const stopping = new AbortController();
  started.push(
    { name: 'scoring on demand', stage: 'exporters', stop: () => onDemand.stop() },
    { name: 'event streams', stage: 'address', stop: async () => stopping.abort() },
  );
  const reads = limitApiReads(opened, purged);
  const find = await configuredPorts(config, reads, ofProcess, {
    store,
    purged,
    onDemand,
    stopping: stopping.signal,
  });
  return (caller) => ({
    status: () => readStatus(reads, caller.tenant),
    store: find(caller),
    sql: caller.tenant === undefined ? opened.sql : undefined,
  });
}

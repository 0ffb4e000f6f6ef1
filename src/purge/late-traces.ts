import { NotFoundError } from '../domain/errors.ts';
import type { RunRecord } from '../domain/run-record.ts';
import type { SpanSource } from '../store/contracts/stores.ts';
import type { Log } from '../telemetry/log.ts';
import type { PurgeKey } from './purge-key.ts';
import type { WatchedTraces } from './purged-traces.ts';
import { findOpenPurge, preparePurge, type PurgeStores } from './start-purge.ts';

export interface LateTracesDeps extends PurgeStores {
  readonly spans: Pick<SpanSource, 'activity'>;
  readonly purged: WatchedTraces;
  readonly key: PurgeKey;
  readonly log: Log;
}

/**
 * Purges traces in which a purged user is recognised late: the trace had begun to arrive before the purge, and the id came with later
 * spans. The store must show purged traces, too. Throws when the store does.
 */
export async function purgeLateTraces(
  { spans, purged, key, log, ...stores }: LateTracesDeps,
  records: readonly RunRecord[],
): Promise<void> {
  const named = records.filter(
    ({ traceId, tenant, userId }) => traceId !== '' && purged.findUser(tenant, userId) !== undefined,
  );
  if (named.length === 0) {
    return;
  }
  const activity = await spans.activity(named);
  for (const { tenant, traceId, userId } of named) {
    const buriedAtMs = purged.findUser(tenant, userId) ?? 0;
    const known = [...activity.values()].find((each) => each.tenant === tenant && each.traceId === traceId);
    const subject = { kind: 'trace', id: traceId, tenant } as const;
    const hasBegunBefore = known !== undefined && known.firstArrivalMs <= buriedAtMs;
    if (!hasBegunBefore || (await findOpenPurge(stores.jobs, key, subject, false)) !== undefined) {
      continue;
    }
    try {
      const job = await (await preparePurge(stores, key, subject, undefined)).start();
      log.info('a trace of a purged user is purged: the id came with its last spans', { traceId, job });
    } catch (error) {
      if (!(error instanceof NotFoundError)) {
        throw error;
      }
    }
  }
}

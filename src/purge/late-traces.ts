import { NotFoundError } from '../domain/errors.ts';
import type { RunRecord } from '../domain/run-record.ts';
import { joinTraceKey, type SpanSource } from '../store/contracts/stores.ts';
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
 * spans. A trace that an open purge of the user has collected is left to it. The store must show purged traces, too. Throws when the
 * store does.
 */
export async function purgeLateTraces(deps: LateTracesDeps, records: readonly RunRecord[]): Promise<void> {
  const { spans, purged } = deps;
  const named = records.filter(
    ({ traceId, tenant, userId }) => traceId !== '' && purged.findUser(tenant, userId) !== undefined,
  );
  if (named.length === 0) {
    return;
  }
  const activity = await spans.activity(named);
  const begun = named.filter((record) => {
    const { firstArrivalMs = Infinity } = activity.get(joinTraceKey(record)) ?? {};
    return firstArrivalMs <= (purged.findUser(record.tenant, record.userId) ?? 0);
  });
  const byUser = Map.groupBy(begun, ({ tenant, userId }) => JSON.stringify([tenant, userId]));
  for (const [first, ...rest] of byUser.values()) {
    if (first !== undefined) {
      await purgeTracesOfUser(deps, first, new Set([first, ...rest].map(({ traceId }) => traceId)));
    }
  }
}

async function purgeTracesOfUser(
  { key, log, ...stores }: LateTracesDeps,
  { tenant, userId: id }: Pick<RunRecord, 'tenant' | 'userId'>,
  traceIds: ReadonlySet<string>,
): Promise<void> {
  const open = await findOpenPurge(stores.jobs, key, { kind: 'user', id, tenant }, false);
  const collected = open === undefined ? null : await stores.purges.findCollected(open, [...traceIds]);
  for (const traceId of traceIds) {
    const subject = { kind: 'trace', id: traceId, tenant } as const;
    if (
      collected?.has(traceId) === true ||
      (await findOpenPurge(stores.jobs, key, subject, false)) !== undefined
    ) {
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

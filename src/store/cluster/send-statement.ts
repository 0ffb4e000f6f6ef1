import type { ClickHouseSettings } from '@clickhouse/client';
import { clusterSettings, readsState } from './cluster-settings.ts';
import { retryState } from './retry-state.ts';
import type { ShardGuard } from './shard-guard.ts';

/** Runs a request with the settings that its statement needs. */
export type Send = <T>(sql: string, request: (settings: ClickHouseSettings) => Promise<T>) => Promise<T>;

/** Runs a request on a single server, which needs no settings of its own. */
export const sendToServer: Send = (_, request) => request({});

/** Runs a request with the settings of its statement, and repeats it where servers of a cluster were busy. */
export const sendToCluster: Send = (sql, request) => {
  const settings = clusterSettings(sql);
  return readsState(sql) ? retryState(() => request(settings)) : request(settings);
};

/** Returns a `Send` to a cluster that refuses statements while the shards are not those of the stored rows. */
export function guardSends(guard: ShardGuard): Send {
  return async (sql, request) => {
    await guard.check();
    return sendToCluster(sql, request);
  };
}

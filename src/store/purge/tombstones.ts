import type { PurgeKind, TombstoneStore } from '../contracts/purge.ts';
import type { Database } from '../database.ts';

/** Creates the store of tombstones. */
export function createTombstoneStore(database: Database): TombstoneStore {
  return {
    write: ({ kind, tenant, hash, keyId }, jobId) =>
      database.insertRows('tombstones', [
        { Tenant: tenant, Kind: kind, Hash: hash, KeyId: keyId, JobId: jobId },
      ]),
    async *read(sinceMs) {
      const rows = database.stream(
        `SELECT Kind, Tenant, Hash, KeyId, toUnixTimestamp64Milli(WrittenAt) FROM tombstones
         WHERE WrittenAt >= fromUnixTimestamp64Milli({sinceMs:Int64})`,
        { sinceMs: Math.max(0, Math.trunc(sinceMs)) },
      );
      for await (const batch of rows) {
        yield batch.map(({ columns }) => {
          const [kind, tenant, hash, keyId, atMs] = columns as [PurgeKind, ...string[]];
          return { kind, tenant: tenant ?? '', hash: hash ?? '', keyId: keyId ?? '', atMs: Number(atMs) };
        });
      }
    },
  };
}

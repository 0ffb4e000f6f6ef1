import type { TenantStore, TenantWrites } from '../../../src/api/tenant-store.ts';
import { NotFoundError } from '../../../src/domain/errors.ts';

const NOTHING = { items: [], next: null };

/** Builds writes that find nothing, apart from the given ones. */
export function fakeWrites(writes: Partial<TenantWrites> = {}): TenantWrites {
  const nothing = () => Promise.reject(new NotFoundError('there is no such thing'));
  return {
    alerts: { acknowledge: nothing, addNote: nothing, mute: nothing, unmute: nothing },
    traces: { sample: nothing },
    issues: { change: nothing },
    markers: { record: async (marker) => ({ ...marker, tenant: '' }) },
    scores: { post: nothing, delete: nothing, run: nothing },
    purges: { start: nothing },
    labels: { store: nothing },
    previews: { preview: nothing },
    backfills: { start: nothing, dryRun: nothing, order: nothing },
    ...writes,
  };
}

/** Builds the store that a test of access uses: without rows, apart from the given parts. */
export function fakeStore(parts: Partial<TenantStore> = {}): TenantStore {
  const own: Partial<TenantStore> = {
    nowMs: async () => 0,
    status: async () => ({}),
    alerts: {
      list: async () => NOTHING,
      listOpen: async () => NOTHING,
      read: () => Promise.reject(new NotFoundError('there is no such incident')),
      mutes: async () => [],
      listMutes: async () => NOTHING,
      acknowledged: async () => new Map(),
    },
    markers: { list: async () => NOTHING, compare: async () => [] },
    openWrites: async () => fakeWrites(),
    ...parts,
  };
  return own as TenantStore;
}

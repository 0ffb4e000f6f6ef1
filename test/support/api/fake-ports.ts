import type { WritePorts } from '../../../src/api/access/write-ports.ts';
import type { AlertPorts, MarkerPorts, StorePorts } from '../../../src/api/ports.ts';
import { NotFoundError } from '../../../src/domain/errors.ts';

const NOTHING = { items: [], next: null };

const NO_ALERTS: AlertPorts = {
  list: async () => NOTHING,
  mutes: async () => [],
  listMutes: async () => NOTHING,
  acknowledged: async () => new Map(),
};

const NO_MARKERS: MarkerPorts = { list: async () => NOTHING, compare: async () => [] };

/** Builds ports of writes that find nothing, apart from the given ones. */
export function fakeWrites(writes: Partial<WritePorts> = {}): WritePorts {
  const nothing = () => Promise.reject(new NotFoundError('there is no such thing'));
  return {
    alerts: { acknowledge: nothing, mute: nothing, unmute: nothing },
    markers: { record: async (marker) => ({ ...marker, tenant: '' }) },
    scores: { post: nothing, delete: nothing, run: nothing },
    purges: { start: nothing },
    labels: { store: nothing },
    previews: { preview: nothing },
    backfills: { start: nothing, dryRun: nothing, order: nothing },
    ...writes,
  };
}

/** Builds the ports that a test of access uses: a store without rows, apart from the given ones. */
export function fakePorts(ports: Partial<StorePorts> = {}): StorePorts {
  const own: Partial<StorePorts> = {
    nowMs: async () => 0,
    alerts: NO_ALERTS,
    markers: NO_MARKERS,
    openWrites: async () => fakeWrites(),
    ...ports,
  };
  return own as StorePorts;
}

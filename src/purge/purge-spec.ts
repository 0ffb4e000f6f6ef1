import type { Job } from '../store/contracts/jobs.ts';
import type { PurgeKind } from '../store/contracts/purge.ts';

/** Name of the kind of job. */
export const PURGE = 'purge';

/** Specification of a purge, as its job stores it: without the id itself. */
export interface PurgeSpec {
  readonly kind: PurgeKind;
  /** HMAC of the id. */
  readonly hash: string;
  readonly keyId: string;
  /** Only traces whose data arrived before this time, Unix milliseconds; null: all. */
  readonly beforeMs: number | null;
  /** Time of the tombstone of the id by the store's clock, Unix milliseconds. */
  readonly buriedAtMs: number;
  /** Number of texts that stay and name the id in plain text. */
  readonly mentions: number;
}

/** Reads the specification of a job of this kind. */
export function readPurgeSpec(spec: Job['spec']): PurgeSpec {
  return { mentions: 0, ...spec } as unknown as PurgeSpec;
}

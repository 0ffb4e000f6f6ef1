import type { SweepSettings } from '../../readiness/sweep.ts';
import type { Claims } from '../../ownership/claim.ts';
import type { PurgedTraces } from '../../store/contracts/purge.ts';
import type { ScoringStores } from '../scoring-stores.ts';
import type { NewVersions } from './new-versions.ts';

/** Needs of the selection of traces: their rows in the store, without their content. */
export interface SelectContext {
  readonly stores: Pick<ScoringStores, 'spans' | 'decisions' | 'scores' | 'runs'>;
  readonly readiness: SweepSettings;
  readonly claims: Claims;
  /** Traces and sessions that were purged meanwhile. */
  readonly purged: PurgedTraces;
  readonly newVersions: NewVersions;
}

import { isRecord } from '../domain/unknown-values.ts';
import type { EndedSession } from '../store/contracts/sessions.ts';
import { EMPTY_REPORT, type BackfillReport } from './backfill-report.ts';
import type { TracePlace } from './select-backfill.ts';

/** Place of a backfill. */
export interface Checkpoint {
  /** Begin of the job by the store's clock, Unix milliseconds: later decisions are results of it. */
  readonly begunMs: number;
  readonly phase: 'traces' | 'sessions' | 'done';
  /** Last trace, and last session, of the pages that are done. */
  readonly afterTrace: TracePlace | null;
  readonly afterSession: EndedSession | null;
  /** Estimated number of traces in the range, of agents or not. */
  readonly listed: number;
  /** Number of them in the pages that are done. */
  readonly passed: number;
  /** Counts of the pages that are done. */
  readonly counts: BackfillReport;
}

/** Reads a stored place; the begin without one. */
export function readCheckpoint(stored: unknown, maxCostUsd: number | null): Checkpoint {
  return isRecord(stored)
    ? (stored as unknown as Checkpoint)
    : {
        begunMs: 0,
        phase: 'traces',
        afterTrace: null,
        afterSession: null,
        listed: 0,
        passed: 0,
        counts: { ...EMPTY_REPORT, maxCostUsd },
      };
}

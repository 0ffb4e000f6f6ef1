import { isRecord } from '../domain/unknown-values.ts';
import { EMPTY_REPORT, type BackfillReport } from './backfill-report.ts';

/** Place of a backfill. It names no trace and no session, so that a purge has nothing to find in it. */
export interface Checkpoint {
  /** Begin of the job by the store's clock, Unix milliseconds: later decisions are results of it. */
  readonly begunMs: number;
  readonly phase: 'traces' | 'sessions' | 'done';
  /** Start of the last trace that is done, Unix nanoseconds as decimal text: all traces up to it are done. */
  readonly afterTrace: string | null;
  /** Start of the last turn of the last session that is done, Unix milliseconds as decimal text. */
  readonly afterSession: string | null;
  /** Estimated number of traces in the range, of agents or not. */
  readonly listed: number;
  /** Number of them in the pages that are done. */
  readonly passed: number;
  /** Counts of the pages that are done. */
  readonly counts: BackfillReport;
  /** Money that judge calls may have cost when this place was stored, or cost before the next one is, USD. Absent without a cap. */
  readonly claimedUsd?: number | undefined;
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

/** Times of the targets of a page, in the unit of its list. */
export interface PageTimes {
  /** Time of the first target. */
  readonly first: bigint;
  /** Time of the last target. */
  readonly last: bigint;
}

/**
 * Progress of a backfill: all that is done, and the place from which another run can continue. A place is a time, and targets of one time
 * may lie on two pages. So a page becomes the place only when a page with later targets is known.
 */
export class Progress {
  #done: Checkpoint;
  #place: Checkpoint;
  #last: bigint | null = null;

  constructor(from: Checkpoint) {
    this.#done = from;
    this.#place = from;
  }

  get done(): Checkpoint {
    return this.#done;
  }

  get place(): Checkpoint {
    return this.#place;
  }

  /** Adds what belongs to no page, or ends a phase. */
  advance(change: Partial<Checkpoint>): void {
    this.#done = { ...this.#done, ...change };
    this.#place = this.#done;
    this.#last = null;
  }

  /** Adds a page. Pages come in their order. */
  addPage(change: Partial<Checkpoint>, { last }: PageTimes): void {
    this.#done = { ...this.#done, ...change };
    this.#last = last;
  }

  /** Notes the page after the last one that is done. */
  noteNext({ first }: PageTimes): void {
    if (this.#last !== null && first > this.#last) {
      this.#place = this.#done;
    }
  }
}

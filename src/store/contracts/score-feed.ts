import type { Score } from '../../domain/score.ts';

/** Revision of a score that an exporter has still to deliver. */
export interface PendingExport {
  readonly scoreId: string;
  readonly revision: number;
  /** True: the score was deleted since, and the receiver has to delete it too. */
  readonly isDeleted: boolean;
  /** 0, and one more for each replay of its dead letter. */
  readonly round: number;
  /** Time when the store wrote the score, Unix milliseconds; 0 for a replay. */
  readonly writtenAtMs: number;
}

/** Result for one revision. `withdrawn`: the store holds another revision by now, or none. */
export interface ExportResult extends PendingExport {
  readonly outcome: 'delivered' | 'dead' | 'withdrawn';
}

/** Oldest revisions that an exporter has still to deliver. Times are Unix milliseconds by the store's clock. */
export interface ExportPage {
  /** Replays, then the others in the order of writing. */
  readonly pending: readonly PendingExport[];
  /** True when no revision was left out because of the limit. */
  readonly isWhole: boolean;
  /** Time before the read. */
  readonly readAtMs: number;
  /** Every score written before this time is delivered or a dead letter. */
  readonly doneUntilMs: number;
}

/** Part of the store that exporters use. */
export interface ScoreFeed {
  /** Records that the exporter exists. Scores written before its first registration are never sent to it. */
  register(exporter: string): Promise<void>;
  /**
   * Reads revisions that the exporter has still to deliver; at most `limit` and the replays.
   * @param hasDeletions true for an exporter that is told of deleted scores
   */
  readPending(exporter: string, limit: number, hasDeletions: boolean): Promise<ExportPage>;
  /** Reads the rows of these revisions, also deleted ones; a revision that is no longer the current one is absent. */
  readCurrent(pending: readonly PendingExport[]): Promise<Score[]>;
  /** Records results. A repeat changes nothing. */
  record(exporter: string, results: readonly ExportResult[]): Promise<void>;
  /** Records that every score written before a time (Unix milliseconds) is delivered or a dead letter. */
  advance(exporter: string, doneUntilMs: number): Promise<void>;
  /** Makes a revision pending again. `round` must be above every earlier round. */
  replay(exporter: string, revision: Pick<PendingExport, 'scoreId' | 'revision' | 'round'>): Promise<void>;
}

/** Formats in which the store exports rows. */
export const EXPORT_FORMATS = ['parquet', 'csv', 'ndjson'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Scores to export. Times are Unix milliseconds. */
export interface ExportedScores {
  /** Absent: every tenant. */
  readonly tenant?: string;
  /** Names of score rows. Absent: all. */
  readonly scorers?: readonly string[];
  /** Earliest time of scoring. */
  readonly sinceMs: number;
  /** End of the range, exclusive. Absent: none. */
  readonly untilMs?: number;
}

/** Export of scores with the facts of their runs. */
export interface ScoreExport {
  /**
   * Streams the current scores with the columns of their runs (`Run…`) in a format of the store, in no order. No spreadsheet computes a
   * text of CSV, unless it is raw. Throws before the first byte, or not at all, unless the connection breaks.
   */
  read(
    scores: ExportedScores,
    format: ExportFormat,
    options?: { readonly isRaw?: boolean | undefined },
  ): AsyncIterable<Uint8Array>;
}

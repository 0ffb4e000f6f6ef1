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

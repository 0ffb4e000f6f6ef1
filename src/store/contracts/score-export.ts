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

/** Cursors of sources of spans: a source may have several, by key. */
export interface CursorStore {
  /** Reads the cursors of a source. */
  read(source: string): Promise<ReadonlyMap<string, unknown>>;
  /** Records a place as JSON. The last one counts. */
  write(source: string, key: string, cursor: unknown): Promise<void>;
}

/** Trace that may have labels in another tool, with the spans of its runs. */
export interface LabelledTrace {
  readonly tenant: string;
  readonly traceId: string;
  readonly spanIds: readonly string[];
}

/** State of a source of spans since its start in this process. */
export interface SourceState {
  readonly name: string;
  /** Spans that were stored. */
  readonly spans: number;
  /** Time since the source was last read to its end, seconds; null before. */
  readonly lag: number | null;
  readonly lastError: string | null;
}

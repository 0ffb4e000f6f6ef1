/** Server of S3. Without an endpoint it is AWS; without keys, the engine takes the keys of its machine. */
export interface S3Server {
  readonly endpoint?: string | undefined;
  readonly accessKeyId?: string | undefined;
  readonly secretAccessKey?: string | undefined;
  readonly sessionToken?: string | undefined;
}

/** File that an engine reads: a path on its disk, or `s3://bucket/key`. */
export interface FilePlace {
  readonly path: string;
  readonly s3?: S3Server | undefined;
}

export interface ListedFile {
  readonly path: string;
  readonly size: number;
  readonly changedMs: number;
}

/** Lines of a file. */
export interface FileRows {
  /** List of an export request of which each line is a member; undefined: each line is an export request. */
  readonly list: 'resourceSpans' | 'resourceLogs' | undefined;
  readonly bytes: AsyncIterable<Uint8Array>;
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

/** A record that could not be taken in, kept with its bytes. */
export interface DeadLetter {
  /** A UUID that follows from the source: the same record is set aside once, however often it comes. */
  readonly id: string;
  /** Source of the record: `kafka`, `otlp-http`, `otlp-grpc`. */
  readonly source: string;
  /** Of a record of Kafka; else '', 0, and the offsets count the rows from 0. */
  readonly topic: string;
  readonly partition: number;
  readonly firstOffset: bigint;
  /** Above `firstOffset` where a whole batch of records could not be read. */
  readonly lastOffset: bigint;
  readonly tenant: string;
  /** `traces` or `logs`. */
  readonly signal: string;
  /**
   * `protobuf` or `json`; the table's `ROW_ENCODINGS` for rows that the store refused; `batch` for the bytes of a batch that
   * could not be decompressed, which cannot be replayed.
   */
  readonly encoding: string;
  readonly body: Uint8Array;
  /** An error code of ours, and what was wrong. */
  readonly code: string;
  readonly reason: string;
  /** Number of attempts. */
  readonly attempts: number;
}

/** As stored; times are Unix milliseconds. */
export interface StoredDeadLetter extends DeadLetter {
  readonly failedAtMs: number;
}

/** Port for records that cannot be stored. */
export interface DeadLetterSink {
  /** Returns once they are durable; throws `StoreUnavailableError` when the store cannot take them now. */
  write(letters: readonly DeadLetter[]): Promise<void>;
}

export interface DeadLetterStore extends DeadLetterSink {
  /** Newest first; all of them, or those with these ids. */
  list(query: { readonly limit: number; readonly ids?: readonly string[] }): Promise<StoredDeadLetter[]>;
  count(): Promise<number>;
  /** Forgets them: they are not listed any more, even when the same record comes again. */
  drop(letters: readonly DeadLetter[]): Promise<void>;
}

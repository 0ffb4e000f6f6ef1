/** Record that could not be stored, kept with its bytes. */
export interface DeadLetter {
  /** UUID computed from the source: the same record has one letter, also when it comes again. */
  readonly id: string;
  /** Source of the record: `kafka`, `otlp-http`, `otlp-grpc`. */
  readonly source: string;
  /** Topic of a Kafka record; otherwise '' and 0, and the offsets count the rows from 0. */
  readonly topic: string;
  readonly partition: number;
  readonly firstOffset: bigint;
  /** Above `firstOffset` when a whole batch of records could not be read. */
  readonly lastOffset: bigint;
  readonly tenant: string;
  /** `traces` or `logs`. */
  readonly signal: string;
  /**
   * `protobuf` or `json`; the `ROW_ENCODINGS` of the table for rows that the store refused; `batch` for the bytes of a
   * batch that could not be decompressed. A `batch` cannot be replayed.
   */
  readonly encoding: string;
  readonly body: Uint8Array;
  /** Error code of spanscore, and the fault. */
  readonly code: string;
  readonly reason: string;
  /** Number of attempts. */
  readonly attempts: number;
}

/** Letter as stored; times are Unix milliseconds. */
export interface StoredDeadLetter extends DeadLetter {
  readonly failedAtMs: number;
}

/** Port for records that cannot be stored. */
export interface DeadLetterSink {
  /** Resolves once the letters are durable. Throws a `StoreUnavailableError` when the store cannot write them now. */
  write(letters: readonly DeadLetter[]): Promise<void>;
}

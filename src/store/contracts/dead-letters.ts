import { bytes, column, type RowOf, type Table } from '../../domain/table.ts';

/** Definition of `dead_letters`: records that could not be stored or delivered, kept with their bytes. */
export const DEAD_LETTERS = {
  name: 'dead_letters',
  columns: {
    /** UUID computed from the source: the same record has one letter, also when it comes again. */
    id: column('UUID'),
    /** Source of the record: `kafka`, `otlp-http`, `otlp-grpc`. */
    source: column('LowCardinality(String)'),
    /** Topic of a Kafka record; otherwise '' and 0, and the offsets count the rows from 0. */
    topic: column('LowCardinality(String)'),
    partition: column('Int32'),
    firstOffset: column('Int64'),
    /** Above `firstOffset` when a whole batch of records could not be read. */
    lastOffset: column('Int64'),
    tenant: column('LowCardinality(String)'),
    /** `traces` or `logs`. */
    signal: column('LowCardinality(String)'),
    /**
     * `protobuf` or `json`; the `ROW_ENCODINGS` of the table for rows that the store refused; `batch` for the bytes of a
     * batch that could not be decompressed. A `batch` cannot be replayed.
     */
    encoding: column('LowCardinality(String)'),
    body: bytes(),
    /** Error code of spanscore, and the fault. */
    code: column('LowCardinality(String)'),
    reason: column('String'),
    /** Number of attempts. */
    attempts: column('UInt32'),
  },
  ofStore: { WrittenAt: "DateTime64(3, 'UTC')", Version: 'UInt64', IsDeleted: 'UInt8' },
} satisfies Table;

/** Record that could not be stored, kept with its bytes. */
export type DeadLetter = RowOf<typeof DEAD_LETTERS>;

/** Letter as stored; times are Unix milliseconds. */
export interface StoredDeadLetter extends DeadLetter {
  readonly failedAtMs: number;
}

/** Port for records that cannot be stored. */
export interface DeadLetterSink {
  /** Resolves once the letters are durable. Throws a `StoreUnavailableError` when the store cannot write them now. */
  write(letters: readonly DeadLetter[]): Promise<void>;
}

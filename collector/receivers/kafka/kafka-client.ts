/** Record as in its topic, or a range of records that could not be read from their batch. */
export interface KafkaRecord {
  readonly offset: bigint;
  /** Above `offset` only when `fault` is set for a whole batch of records. */
  readonly lastOffset: bigint;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Reason why the batch has no records; `value` has its bytes, as in the topic. */
  readonly fault?: string;
}

/** Records of one partition in order of their offsets. */
export interface KafkaBatch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly KafkaRecord[];
}

/** Number of records of a batch that were stored. */
export interface BatchOutcome {
  /** Number of records from the start of the batch that are durable (or set aside): their offset is committed. */
  readonly done: number;
  /** The other records are read again after this pause. */
  readonly retryAfterMs?: number;
}

/** Handles a batch. Must not reject. Resolves only once the records that it counts as done are durable. */
export type OnBatch = (batch: KafkaBatch) => Promise<BatchOutcome>;

/** Active member of a consumer group. */
export interface KafkaConsumer {
  /** Resolves with the reason when the consumer cannot continue; never after `stop`. */
  readonly ended: Promise<Error>;
  /** Time of the last heartbeat of the group, Unix milliseconds. */
  lastHeartbeatMs(): number;
  /** Asks the brokers for the number of records that are not committed yet, by `topic/partition` of this member. */
  readLags(): Promise<ReadonlyMap<string, number>>;
  /** Finishes the batches under way, commits them, and leaves the group. */
  stop(): Promise<void>;
}

/** Interface to a Kafka client. It handles one batch of a partition at a time. */
export interface KafkaClient {
  /** Joins the group. Rejects when no broker is reachable or accepts the login. */
  consume(onBatch: OnBatch): Promise<KafkaConsumer>;
}

/** A record as it lies in a topic, or a stretch of records that could not be taken out of their batch. */
export interface KafkaRecord {
  readonly offset: bigint;
  /** Above `offset` only where `fault` stands for a whole batch of records. */
  readonly lastOffset: bigint;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Reason why the batch has no records: its bytes, as in the topic, are in `value`. */
  readonly fault?: string;
}

/** Records of one partition in order of their offsets. */
export interface KafkaBatch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly KafkaRecord[];
  /** Records of the partition behind this batch. */
  readonly lag: number;
}

/** Number of records of a batch that were stored. */
export interface BatchOutcome {
  /** So many records from the batch's start are durable (or set aside for good): these are committed. */
  readonly done: number;
  /** The others come again after this pause. */
  readonly retryAfterMs?: number;
}

/** Takes a batch; must not reject, and resolves only once the records that it calls done are durable. */
export type OnBatch = (batch: KafkaBatch) => Promise<BatchOutcome>;

/** A member of a consumer group at work. */
export interface KafkaConsumer {
  /** Reason of its final end: resolves when it cannot go on by itself; never after `stop`. */
  readonly ended: Promise<Error>;
  /** Time of the group's last heartbeat, Unix milliseconds. */
  lastHeartbeatMs(): number;
  /** Finishes the batches under way, commits them, and leaves the group. */
  stop(): Promise<void>;
}

/** A seam: whatever speaks Kafka. One batch of a partition is under way at a time. */
export interface KafkaClient {
  /** Joins the group. Rejects when no broker can be reached or lets us in. */
  consume(onBatch: OnBatch): Promise<KafkaConsumer>;
}

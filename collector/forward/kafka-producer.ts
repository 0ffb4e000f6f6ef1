/** A record to be written. */
export interface OutgoingRecord {
  /** Decides the partition; null: any. */
  readonly key: string | null;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** A seam: whatever writes to Kafka. */
export interface KafkaProducer {
  /**
   * Resolves once every replica in sync has all of the records; rejects when it is not sure that they have. All of them
   * together should fit one batch of the topic.
   */
  send(topic: string, records: readonly OutgoingRecord[]): Promise<void>;
  /** Resolves when a broker answers and has these topics; rejects with the reason. */
  check(topics: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

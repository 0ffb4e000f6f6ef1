/** Record to write. */
export interface OutgoingRecord {
  /** Key that decides the partition; null: any partition. */
  readonly key: string | null;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Interface to a Kafka producer. */
export interface KafkaProducer {
  /**
   * Resolves once every in-sync replica has all of the records. Rejects when this is not certain. All records together
   * should fit one batch of the topic.
   */
  send(topic: string, records: readonly OutgoingRecord[]): Promise<void>;
  /** Resolves when a broker answers and has these topics. Rejects with the reason. */
  check(topics: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

import { type Consumer, type ConsumerConfig, type EachBatchPayload, Kafka } from 'kafkajs';
import { vi } from 'vitest';

type MakesConsumer = (this: Kafka, config: ConsumerConfig) => Consumer;

/** Records every offset that consumers of this process commit, at the moment of the commit request. */
export interface CommitWatch {
  /** Number of committed offsets. */
  readonly commits: number;
  /** Keys of records below a committed offset that were not durable at that moment. */
  readonly unwritten: readonly string[];
  restore(): void;
}

interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** Starts the watch. `durableKeys` returns the keys of the records that are stored now. Each record needs a unique key. */
export function watchCommits(durableKeys: () => ReadonlySet<unknown>): CommitWatch {
  const keys = new Map<string, Map<bigint, string>>();
  const seen = { commits: 0, unwritten: new Array<string>() };
  const consumerOf: MakesConsumer = Reflect.get(Kafka.prototype, 'consumer');

  function onCommit({ topic, partition }: Place, offset: bigint): void {
    seen.commits += 1;
    const durable = durableKeys();
    const ofPartition = keys.get(`${topic} ${partition}`) ?? new Map<bigint, string>();
    for (const [at, key] of ofPartition) {
      if (at < offset) {
        // Each record is checked once, because committed records are not read again.
        ofPartition.delete(at);
        seen.unwritten.push(...(durable.has(key) ? [] : [key]));
      }
    }
  }

  function watched(payload: EachBatchPayload): EachBatchPayload {
    const { topic, partition, messages } = payload.batch;
    const ofPartition = keys.get(`${topic} ${partition}`) ?? new Map<bigint, string>();
    keys.set(`${topic} ${partition}`, ofPartition);
    for (const { key, offset } of messages) {
      ofPartition.set(BigInt(offset), key?.toString() ?? '');
    }
    return {
      ...payload,
      commitOffsetsIfNecessary: (offsets) => {
        for (const ofTopic of offsets?.topics ?? []) {
          for (const { partition: of, offset } of ofTopic.partitions) {
            onCommit({ topic: ofTopic.topic, partition: of }, BigInt(offset));
          }
        }
        return payload.commitOffsetsIfNecessary(offsets);
      },
    };
  }

  const spy = vi.spyOn(Kafka.prototype, 'consumer').mockImplementation(function (
    this: Kafka,
    config: ConsumerConfig = { groupId: '' },
  ): Consumer {
    const consumer = consumerOf.call(this, config);
    return {
      ...consumer,
      run: (options) => {
        const { eachBatch } = options ?? {};
        return consumer.run({
          ...options,
          ...(eachBatch === undefined ? {} : { eachBatch: (payload) => eachBatch(watched(payload)) }),
        });
      },
    };
  });
  return {
    get commits() {
      return seen.commits;
    },
    get unwritten() {
      return seen.unwritten;
    },
    restore: () => spy.mockRestore(),
  };
}

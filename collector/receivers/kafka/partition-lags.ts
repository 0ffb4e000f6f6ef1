import type { Admin, Kafka } from './kafkajs.ts';

/** Partitions of a member, by topic. */
export type Assignment = Readonly<Record<string, readonly number[]>>;

/** Reader of the number of records that a group has not committed yet. It has connections of its own. */
export interface LagReader {
  /** Returns the lag of each partition of the assignment, by `topic/partition`. Rejects while the brokers do not answer. */
  read(assignment: Assignment): Promise<Map<string, number>>;
  /** Closes the connections. */
  stop(): Promise<void>;
}

/** Creates the reader. It connects at its first use. */
export function createLagReader(kafka: Kafka, groupId: string): LagReader {
  let connected: Promise<Admin> | undefined;

  async function connect(): Promise<Admin> {
    const admin = kafka.admin();
    await admin.connect();
    return admin;
  }

  return {
    async read(assignment) {
      connected ??= connect();
      const admin = await connected.catch((error: unknown) => {
        connected = undefined;
        throw error;
      });
      const topics = Object.keys(assignment);
      // Committed offsets first: what is committed meanwhile must not make a lag negative.
      const committed = await admin.fetchOffsets({ groupId, topics });
      const lags = await Promise.all(
        topics.map(async (topic) => {
          const ends = await admin.fetchTopicOffsets(topic);
          const offsets = committed.find((each) => each.topic === topic)?.partitions ?? [];
          return (assignment[topic] ?? []).flatMap((partition) => {
            const end = ends.find((each) => each.partition === partition);
            const offset = offsets.find((each) => each.partition === partition)?.offset;
            return end === undefined ? [] : [[`${topic}/${partition}`, computeLag(end, offset)] as const];
          });
        }),
      );
      return new Map(lags.flat());
    },
    async stop() {
      // A failure is harmless: the brokers close the connections of a client that is gone.
      await connected?.then((admin) => admin.disconnect()).catch(() => undefined);
    },
  };
}

/** Without a committed offset (-1), or with one whose record has expired, the group reads on at the first record. */
function computeLag(end: { readonly high: string; readonly low: string }, committed = '-1'): number {
  const next = Math.max(Number(committed), Number(end.low));
  return Math.max(0, Number(end.high) - next);
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { ServeFolder } from '../processes/serve-process.ts';
import { until } from '../until.ts';
import type { Fleet } from './fleet.ts';
import { retryUntilAnswered } from './retry-until-answered.ts';
import { committedUnwritten, writtenKafkaRequests } from './stored-requests.ts';
import type { RequestLedger } from './request-ledger.ts';

/** Processes and moments of kill -9. */
const KILLS = [
  'receiver', // process that receives; its engine keeps running
  'engine', // process of the engine alone
  'receiver and engine',
  'start', // receiver and engine, while they start
  'consumer', // process that reads Kafka
  'insert to commit', // the same process, after its rows are stored and before their offset is committed
] as const;
export type Kill = (typeof KILLS)[number];

/** Number of kills in each twenty. */
const SHARES: Readonly<Record<Kill, number>> = {
  receiver: 4,
  engine: 8,
  'receiver and engine': 2,
  start: 2,
  consumer: 2,
  'insert to commit': 2,
};

/**
 * Plans kills in a random order. Each kind gets its share, but at least one. Without a consumer, leaves out the kinds that
 * need one.
 */
export function planKills(count: number, random: () => number, hasConsumer: boolean): Kill[] {
  const kinds = KILLS.filter((kill) => hasConsumer || !needsConsumer(kill));
  const more = kinds.flatMap((kill) => Array.from({ length: SHARES[kill] - 1 }, () => kill));
  const plan: Kill[] = [];
  while (plan.length < count) {
    const deck = [...kinds, ...shuffled(more, random)].slice(0, count - plan.length);
    plan.push(...shuffled(deck, random));
  }
  return plan;
}

export function needsConsumer(kill: Kill): boolean {
  return kill === 'consumer' || kill === 'insert to commit';
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const keyed = items.map((item) => ({ item, at: random() }));
  return keyed.sort((a, b) => a.at - b.at).map(({ item }) => item);
}

const LONGEST_DELAY_MS = 400;
const LONGEST_START_MS = 2_500;
const WRITTEN_WITHIN_MS = 30_000;
const WRITTEN_TRIES = 4;
const UP_WITHIN_MS = 240_000;

/** Kills at a random moment and starts the receiver again. The keeper restarts the consumer. */
export async function carryOutKill(
  kill: Kill,
  fleet: Fleet,
  ledger: RequestLedger,
  random: () => number,
): Promise<void> {
  const { receiver, consumer } = fleet;
  await sleep(random() * LONGEST_DELAY_MS);
  switch (kill) {
    case 'engine':
      await until(() => fleet.signalEngine('SIGKILL'));
      return;
    case 'consumer':
      await consumer?.killAlone();
      return;
    case 'insert to commit':
      await killBeforeCommit(fleet, ledger);
      return;
    case 'receiver':
      await receiver.killAlone();
      break;
    case 'start':
      await receiver.killGroup();
      await killWhileStarting(fleet, random);
      break;
    case 'receiver and engine':
      await receiver.killGroup();
  }
  await startUntilUp(receiver);
}

async function killWhileStarting({ receiver }: Fleet, random: () => number): Promise<void> {
  const starting = receiver.start().then(
    () => undefined,
    () => undefined,
  );
  await sleep(random() * LONGEST_START_MS);
  await receiver.killGroup();
  await starting;
}

/**
 * Suspends the engine until the consumer sends an insert. Then suspends the consumer, lets the engine store the rows, and
 * kills the consumer before it can commit them. A consumer that was suspended between two tries or in the middle of a body
 * stores nothing: it goes on, and the next try begins.
 */
async function killBeforeCommit(fleet: Fleet, ledger: RequestLedger): Promise<void> {
  const { consumer } = fleet;
  const pid = consumer?.pid;
  if (consumer === undefined || pid === undefined) {
    throw new Error('there is no consumer to kill');
  }
  for (let left = WRITTEN_TRIES; left > 0; left -= 1) {
    await until(() => fleet.signalEngine('SIGSTOP'));
    try {
      await until(async () => ((await fleet.consumerMetric('spanscore_insert_running')) ?? 0) > 0);
      process.kill(pid, 'SIGSTOP');
    } finally {
      fleet.signalEngine('SIGCONT');
    }
    try {
      await untilUncommittedWritten(fleet, ledger);
      break;
    } catch (error) {
      if (left === 1) {
        throw error;
      }
      process.kill(pid, 'SIGCONT');
    }
  }
  await consumer.killAlone();
}

async function untilUncommittedWritten(fleet: Fleet, ledger: RequestLedger): Promise<void> {
  const offsets = await fleet.committed();
  await until(async () => {
    const written = await writtenKafkaRequests(fleet.store);
    return [...written].some((number) => {
      const place = ledger.places.get(number);
      return place !== undefined && place.offset >= Math.max(0, offsets[place.partition] ?? 0);
    });
  }, WRITTEN_WITHIN_MS);
}

/** Restarts the consumer whenever it has ended, as a supervisor of processes does. */
export interface ConsumerKeeper {
  /** Resolves when the consumer runs. */
  running(): Promise<void>;
  /**
   * Call it when the consumer has ended. First checks that every committed record is stored, then starts the consumer
   * again, in the background.
   */
  restart(): void;
}

/** Starts the consumer and its keeper. `onUnwritten` gets the numbers of records that were committed but are not stored. */
export function startConsumerKeeper(
  fleet: Fleet,
  ledger: RequestLedger,
  onUnwritten: (numbers: number[]) => void,
): ConsumerKeeper {
  let starting = startUntilUp(fleet.consumer);
  return {
    running: () => starting,
    restart: () => {
      starting = (async () => {
        // No process writes or commits now, so committed records must be in the store.
        const committed = await fleet.committed();
        const unwritten = await retryUntilAnswered(() => committedUnwritten(fleet.store, ledger, committed));
        if (unwritten.length > 0) {
          onUnwritten(unwritten);
        }
        await startUntilUp(fleet.consumer);
      })();
    },
  };
}

/**
 * Starts a process until the start succeeds, as a supervisor of processes does. A consumer's start can fail because the
 * store was killed. A receiver's start can fail because the old engine still uses its files.
 */
export async function startUntilUp(folder: ServeFolder | undefined): Promise<void> {
  let last: unknown;
  await until(
    async () =>
      (await folder?.start().then(
        () => true,
        (error: unknown) => {
          last = error;
          return false;
        },
      )) ?? true,
    UP_WITHIN_MS,
    () => String(last),
  );
}

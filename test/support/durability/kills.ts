import { setTimeout as sleep } from 'node:timers/promises';
import type { ServeFolder } from '../processes/serve-process.ts';
import { until } from '../until.ts';
import type { Fleet } from './fleet.ts';
import { patiently } from './patiently.ts';
import { committedUnwritten, writtenKafkaRequests } from './stored-requests.ts';
import type { RequestLedger } from './request-ledger.ts';

/** Targets and moments of kill -9. */
export const KILLS = [
  'receiver', // the process that receives; its engine is left behind
  'engine', // the engine's process alone
  'receiver and engine',
  'start', // receiver and engine, while they start
  'consumer', // the process that reads Kafka
  'insert to commit', // the same, after its rows are stored and before their offset is committed
] as const;
export type Kill = (typeof KILLS)[number];

/** Out of twenty. */
const SHARES: Readonly<Record<Kill, number>> = {
  receiver: 4,
  engine: 8,
  'receiver and engine': 2,
  start: 2,
  consumer: 2,
  'insert to commit': 2,
};

/**
 * So many kills in a random order, of each kind its share and in any case one; without those that need a consumer where there
 * is none.
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
const WRITTEN_WITHIN_MS = 120_000;
const UP_WITHIN_MS = 240_000;

/** Kills at a random moment and starts the receiver again; the consumer is left to its keeper. */
export async function carryOut(
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
 * Holds the engine until the consumer has an insert under way, then holds the consumer, lets the engine store the rows, and
 * kills the consumer, which never came to commit them.
 */
async function killBeforeCommit(fleet: Fleet, ledger: RequestLedger): Promise<void> {
  const { consumer, store } = fleet;
  const pid = consumer?.pid;
  if (consumer === undefined || pid === undefined) {
    throw new Error('there is no consumer to kill');
  }
  await until(() => fleet.signalEngine('SIGSTOP'));
  try {
    await until(async () => ((await fleet.consumerMetric('spanscore_insert_running')) ?? 0) > 0);
    process.kill(pid, 'SIGSTOP');
  } finally {
    fleet.signalEngine('SIGCONT');
  }
  const committed = await fleet.committed();
  await until(async () => {
    const written = await writtenKafkaRequests(store);
    return [...written].some((number) => {
      const place = ledger.places.get(number);
      return place !== undefined && place.offset >= Math.max(0, committed[place.partition] ?? 0);
    });
  }, WRITTEN_WITHIN_MS);
  await consumer.killAlone();
}

/** Starts the consumer whenever it has ended, as a supervisor of processes does. */
export interface ConsumerKeeper {
  /** Resolves when the consumer runs. */
  running(): Promise<void>;
  /** It has ended: it is started again in the background, after what must not have been committed was looked for. */
  restart(): void;
}

/** `onUnwritten` is told of records that were committed and are not stored. */
export function keepConsumer(
  fleet: Fleet,
  ledger: RequestLedger,
  onUnwritten: (numbers: number[]) => void,
): ConsumerKeeper {
  let starting = startUntilUp(fleet.consumer);
  return {
    running: () => starting,
    restart: () => {
      starting = (async () => {
        // Nobody writes or commits now, so what is committed must be there.
        const committed = await fleet.committed();
        const unwritten = await patiently(() => committedUnwritten(fleet.store, ledger, committed));
        if (unwritten.length > 0) {
          onUnwritten(unwritten);
        }
        await startUntilUp(fleet.consumer);
      })();
    },
  };
}

/**
 * As a supervisor of processes does: a consumer's start needs a store that answers, which may be killed at that moment, and a
 * receiver's that the engine of the killed one has let go of its files.
 */
async function startUntilUp(folder: ServeFolder | undefined): Promise<void> {
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

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  consuming,
  expectBoundedMemory,
  expectNothingLost,
  flowing,
} from '../../support/durability/expectations.ts';
import { type Fleet, makeFleet } from '../../support/durability/fleet.ts';
import { startSenders } from '../../support/durability/numbered-senders.ts';
import { reportFigures } from '../../support/durability/report-figures.ts';
import { RequestLedger } from '../../support/durability/request-ledger.ts';
import { committedUnwritten } from '../../support/durability/stored-requests.ts';
import { type KafkaBroker, kafkaMissing, startKafka } from '../../support/kafka.ts';

const AWAY_MS = 5_000;
const BOUNDS_MIB = { receiver: 500, consumer: 0, engine: 2_048 };

const missing = await kafkaMissing();
const isOurs = missing === undefined && (process.env['KAFKA_BROKERS'] ?? '') === '';

let broker: KafkaBroker;
let fleet: Fleet;

beforeAll(async () => {
  if (isOurs) {
    broker = await startKafka();
    fleet = await makeFleet({ broker, isOneProcess: true });
  }
}, 300_000);
// One each: what one of them cannot end must not leave the others running.
afterAll(() => broker?.stop());
afterAll(() => fleet?.dispose());

/** What is committed now was stored before: looks until told to stop. */
function watchCommits(ledger: RequestLedger): { stop(): Promise<{ looks: number; unwritten: number[] }> } {
  const stopping = new AbortController();
  const seen = { looks: 0, unwritten: new Array<number>() };
  const looking = (async () => {
    while (!stopping.signal.aborted) {
      const committed = await fleet.committed();
      seen.unwritten.push(...(await committedUnwritten(fleet.store, ledger, committed)));
      seen.looks += 1;
      await sleep(50);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await looking;
      return seen;
    },
  };
}

it.skipIf(!isOurs)(
  'a broker that is killed under load and comes back is read on, nothing committed that is not stored',
  async () => {
    const ledger = new RequestLedger();
    await fleet.receiver.start();
    const sending = startSenders(fleet.targets, ledger, { senders: 4, pauseMs: 20 });
    const commits = watchCommits(ledger);
    await consuming(fleet);
    await broker.kill();
    await flowing(ledger, ['http', 'grpc']);
    await sleep(AWAY_MS);
    await broker.restart();
    await flowing(ledger, ['kafka']);
    await consuming(fleet);
    await sending.finish();

    const { spansAcknowledged, repeatedRows } = await expectNothingLost(fleet, ledger);
    const { looks, unwritten } = await commits.stop();
    const peakMib = expectBoundedMemory(fleet, BOUNDS_MIB);
    const answers = Object.fromEntries(sending.answers);
    reportFigures('a broker outage', { spansAcknowledged, repeatedRows, looks, peakMib, answers });
    expect(unwritten).toEqual([]);
    expect(looks).toBeGreaterThan(5);
    expect(await fleet.receiver.stop()).toBe(0);
  },
);

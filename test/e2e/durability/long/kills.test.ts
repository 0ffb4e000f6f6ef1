import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  waitForCommits,
  expectBoundedMemory,
  expectNothingLost,
  waitForTraffic,
} from '../../../support/durability/expectations.ts';
import { type Fleet, makeFleet } from '../../../support/durability/fleet.ts';
import {
  carryOutKill,
  startConsumerKeeper,
  needsConsumer,
  planKills,
} from '../../../support/durability/kills.ts';
import { startSenders } from '../../../support/durability/numbered-senders.ts';
import { reportFigures } from '../../../support/durability/report-figures.ts';
import { RequestLedger } from '../../../support/durability/request-ledger.ts';
import { type KafkaBroker, kafkaMissing, startKafka } from '../../../support/collector/kafka.ts';
import { seededRandom } from '../../../support/builders/score-streams.ts';

// The whole proof is `npm run test:endurance`. SPANSCORE_SEED repeats the random choices of a run.

const KILLS = Number(process.env['SPANSCORE_KILLS'] ?? 8);
const SEED = Number(process.env['SPANSCORE_SEED'] ?? Date.now() % 1_000_000);
const ROUND_MS = 60_000;
/** Under such a light load; the limits of the configuration are far above. */
const BOUNDS_MIB = { receiver: 400, consumer: 400, engine: 2_048 };

const missing = await kafkaMissing();

let broker: KafkaBroker | undefined;
let fleet: Fleet;

beforeAll(async () => {
  broker = missing === undefined ? await startKafka() : undefined;
  fleet = await makeFleet({ broker });
}, 300_000);
// One each: what one of them cannot end must not leave the others running.
afterAll(() => broker?.stop());
afterAll(() => fleet?.dispose());

/** Kills as soon as what is to be killed works again. */
async function killOverAndOver(ledger: RequestLedger): Promise<void> {
  const random = seededRandom(SEED);
  const unwritten: number[] = [];
  const keeper = startConsumerKeeper(fleet, ledger, (numbers) => unwritten.push(...numbers));
  for (const kill of planKills(KILLS, random, broker !== undefined)) {
    await waitForTraffic(ledger);
    if (needsConsumer(kill)) {
      await keeper.running();
      await waitForCommits(fleet);
    }
    await carryOutKill(kill, fleet, ledger, random);
    if (needsConsumer(kill)) {
      keeper.restart();
    }
  }
  await waitForTraffic(ledger);
  await keeper.running();
  expect(unwritten, 'records whose offset was committed before their rows were stored').toEqual([]);
}

it(
  `loses no acknowledged span and reads none twice over ${KILLS} kills of receiver, engine and Kafka consumer (seed ${SEED})`,
  { timeout: 600_000 + KILLS * ROUND_MS },
  async () => {
    const startedMs = performance.now();
    await fleet.receiver.start();
    const ledger = new RequestLedger();
    const sending = startSenders(fleet.targets, ledger, { senders: 2, pauseMs: 50 });
    await killOverAndOver(ledger);
    await sending.finish();

    const found = await expectNothingLost(fleet, ledger);
    reportFigures('kill loop', {
      kills: KILLS,
      seed: SEED,
      minutes: Math.round((performance.now() - startedMs) / 6_000) / 10,
      spans: found.spansAcknowledged,
      lost: found.lost.length,
      readTwice: found.wrong.length,
      repeatedRows: found.repeatedRows,
      peakMib: expectBoundedMemory(fleet, BOUNDS_MIB),
      answers: Object.fromEntries(sending.answers),
    });
    expect(await fleet.consumer?.stop()).toBe(broker === undefined ? undefined : 0);
    expect(await fleet.receiver.stop()).toBe(0);
  },
);

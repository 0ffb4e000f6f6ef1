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
import { type KafkaBroker, kafkaMissing, startKafka } from '../../support/kafka.ts';

const ROUNDS = 2;
/** Without a pause: as much as it takes. */
const FULL_LOAD = { senders: 12, pauseMs: 0 };
/** What supervisors of processes give before they kill. */
const GRACE_MS = 30_000;
const BOUNDS_MIB = { receiver: 700, consumer: 0, engine: 2_048 };

const missing = await kafkaMissing();

let broker: KafkaBroker | undefined;
let fleet: Fleet;

beforeAll(async () => {
  broker = missing === undefined ? await startKafka() : undefined;
  fleet = await makeFleet({ broker, isOneProcess: true });
}, 300_000);
// One each: what one of them cannot end must not leave the others running.
afterAll(() => broker?.stop());
afterAll(() => fleet?.dispose());

it('SIGTERM under full load over HTTP, gRPC and Kafka ends in time and loses nothing that was acknowledged', async () => {
  const ledger = new RequestLedger();
  await fleet.receiver.start();
  const sending = startSenders(fleet.targets, ledger, FULL_LOAD);
  const stops: { readonly code: number | null; readonly ms: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await flowing(ledger);
    if (broker !== undefined) {
      await consuming(fleet);
    }
    const startedMs = performance.now();
    const code = await fleet.receiver.stop();
    stops.push({ code, ms: Math.round(performance.now() - startedMs) });
    await fleet.receiver.start();
  }
  await sending.finish();

  const { spansAcknowledged, repeatedRows } = await expectNothingLost(fleet, ledger);
  const peakMib = expectBoundedMemory(fleet, BOUNDS_MIB);
  const answers = Object.fromEntries(sending.answers);
  reportFigures('SIGTERM', { stops, spansAcknowledged, repeatedRows, peakMib, answers });
  expect(stops.filter(({ code, ms }) => code !== 0 || ms > GRACE_MS)).toEqual([]);
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import {
  expectBoundedMemory,
  expectNothingLost,
  waitForTraffic,
  listInvalidAnswers,
} from '../../../support/durability/expectations.ts';
import { type Fleet, makeFleet } from '../../../support/durability/fleet.ts';
import { startSenders } from '../../../support/durability/numbered-senders.ts';
import { reportFigures } from '../../../support/durability/report-figures.ts';
import { RequestLedger } from '../../../support/durability/request-ledger.ts';
import { mountSmallDisk } from '../../../support/durability/small-disk.ts';
import { until } from '../../../support/until.ts';

/** Above what the engine wants to see free before it takes an insert (256 MiB). */
const DISK_MIB = 400;
/** At least; senders that are not told by then are waited for. */
const FULL_MS = 8_000;
const TOLD_WITHIN_MS = 120_000;
const BOUNDS_MIB = { receiver: 500, engine: 2_048 };

const disk = await mountSmallDisk(DISK_MIB);
let fleet: Fleet;

beforeAll(async () => {
  if (disk !== undefined) {
    fleet = await makeFleet({ dataDisk: disk.path });
  }
});
// One each: what one of them cannot end must not leave the others.
afterAll(() => disk?.unmount());
afterAll(() => fleet?.dispose());

it.skipIf(disk === undefined)(
  'a full disk loses nothing and sets nothing aside: senders are told to come again until there is room',
  { timeout: 900_000 },
  async () => {
    const ledger = new RequestLedger();
    await fleet.receiver.start();
    const readiness = async () => {
      const reply = await fetch(`${fleet.receiver.addresses().api}/readyz`);
      return { status: reply.status, body: await reply.text() };
    };
    const sending = startSenders(fleet.targets, ledger, { senders: 4, pauseMs: 20 });
    await waitForTraffic(ledger);
    const sinceMs = performance.now();
    const isTold = () => sending.answers.has('http 503') && sending.answers.has('grpc 14');
    await until(
      () => {
        // Merges give room back, which is taken again.
        disk?.fill();
        return performance.now() > sinceMs + FULL_MS && isTold();
      },
      FULL_MS + TOLD_WITHIN_MS,
      () => Object.fromEntries(sending.answers),
    );
    const refused = await readiness();
    disk?.free();
    await waitForTraffic(ledger);
    await sending.finish();
    await until(async () => (await readiness()).status === 200);

    const { spansAcknowledged, repeatedRows } = await expectNothingLost(fleet, ledger);
    const answers = Object.fromEntries(sending.answers);
    const peakMib = expectBoundedMemory(fleet, BOUNDS_MIB);
    reportFigures('a full disk', { spansAcknowledged, repeatedRows, peakMib, answers });
    expect(await queryRows(fleet.store, 'SELECT Reason FROM dead_letters')).toEqual([]);
    expect(refused).toMatchObject({
      status: 503,
      body: expect.stringMatching(/the store refuses inserts since .* MiB are free on its disks/u),
    });
    expect(listInvalidAnswers(sending.answers)).toEqual([]);
    expect(Object.keys(answers)).toEqual(expect.arrayContaining(['http 503', 'grpc 14']));
    expect(await fleet.receiver.stop()).toBe(0);
  },
);

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { queryRows } from '../../support/clickhouse-query.ts';
import {
  expectBoundedMemory,
  expectNothingLost,
  flowing,
  rudeAnswers,
} from '../../support/durability/expectations.ts';
import { type Fleet, makeFleet } from '../../support/durability/fleet.ts';
import { startSenders } from '../../support/durability/numbered-senders.ts';
import { reportFigures } from '../../support/durability/report-figures.ts';
import { RequestLedger } from '../../support/durability/request-ledger.ts';
import { mountSmallDisk } from '../../support/durability/small-disk.ts';

/** Above what the engine wants to see free before it takes an insert (256 MiB). */
const DISK_MIB = 400;
const FULL_MS = 8_000;
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
  async () => {
    const ledger = new RequestLedger();
    await fleet.receiver.start();
    const sending = startSenders(fleet.targets, ledger, { senders: 4, pauseMs: 20 });
    await flowing(ledger);
    const untilMs = performance.now() + FULL_MS;
    while (performance.now() < untilMs) {
      // Merges give room back, which is taken again.
      disk?.fill();
      await sleep(100);
    }
    disk?.free();
    await flowing(ledger);
    await sending.finish();

    const { spansAcknowledged, repeatedRows } = await expectNothingLost(fleet, ledger);
    const answers = Object.fromEntries(sending.answers);
    const peakMib = expectBoundedMemory(fleet, BOUNDS_MIB);
    reportFigures('a full disk', { spansAcknowledged, repeatedRows, peakMib, answers });
    expect(await queryRows(fleet.store, 'SELECT Reason FROM dead_letters')).toEqual([]);
    expect(rudeAnswers(sending.answers)).toEqual([]);
    expect(Object.keys(answers)).toEqual(expect.arrayContaining(['http 503', 'grpc 14']));
    expect(await fleet.receiver.stop()).toBe(0);
  },
);

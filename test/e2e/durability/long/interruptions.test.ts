import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  waitForCommits,
  expectBoundedMemory,
  expectNothingLost,
  waitForTraffic,
} from '../../../support/durability/expectations.ts';
import { type Fleet, makeFleet } from '../../../support/durability/fleet.ts';
import { type Sending, startSenders } from '../../../support/durability/numbered-senders.ts';
import { retryUntilAnswered } from '../../../support/durability/retry-until-answered.ts';
import { reportFigures } from '../../../support/durability/report-figures.ts';
import { RequestLedger } from '../../../support/durability/request-ledger.ts';
import { committedUnwritten } from '../../../support/durability/stored-requests.ts';
import {
  hasOwnBroker,
  type KafkaBroker,
  kafkaMissing,
  startKafka,
} from '../../../support/collector/kafka.ts';

const STOPS = 2;
/** Without a pause: as much as it takes. */
const FULL_LOAD = { senders: 12, pauseMs: 0 };
/** Acknowledged on each road before a stop: several to each sender, so that the load stands. */
const FULL_REQUESTS = 60;
const LIGHT_LOAD = { senders: 4, pauseMs: 20 };
/** Grace time of process supervisors before they kill, milliseconds. */
const GRACE_MS = 30_000;
/** Printed characters of a process that does not end in time. */
const OUTPUT_CHARACTERS = 4_000;
const BROKER_AWAY_MS = 5_000;
const TIMEOUT_MS = 900_000;
const BOUNDS_MIB = { receiver: 700, engine: 2_048 };

const missing = await kafkaMissing();
const isOurBroker = hasOwnBroker(missing, 'outages of a broker');
const ledger = new RequestLedger();

let broker: KafkaBroker | undefined;
let fleet: Fleet;

beforeAll(async () => {
  broker = missing === undefined ? await startKafka() : undefined;
  fleet = await makeFleet({ broker, isOneProcess: true });
  await fleet.receiver.start();
}, 300_000);
// One each: what one of them cannot end must not leave the others running.
afterAll(() => broker?.stop());
afterAll(() => fleet?.dispose());

async function finish(sending: Sending): Promise<Record<string, unknown>> {
  await sending.finish();
  const { spansAcknowledged, repeatedRows } = await expectNothingLost(fleet, ledger);
  const peakMib = expectBoundedMemory(fleet, BOUNDS_MIB);
  return { spansAcknowledged, repeatedRows, peakMib, answers: Object.fromEntries(sending.answers) };
}

/** Watches that every committed offset was stored before, until it is stopped. */
function watchOffsets(): { stop(): Promise<{ looks: number; unwritten: number[] }> } {
  const stopping = new AbortController();
  const seen = { looks: 0, unwritten: new Array<number>() };
  const looking = (async () => {
    while (!stopping.signal.aborted) {
      const committed = await fleet.committed();
      const unwritten = await retryUntilAnswered(() => committedUnwritten(fleet.store, ledger, committed));
      seen.unwritten.push(...unwritten);
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

describe('one process under load over HTTP, gRPC and Kafka', () => {
  it('ends in time on SIGTERM and loses nothing that was acknowledged', { timeout: TIMEOUT_MS }, async () => {
    const sending = startSenders(fleet.targets, ledger, FULL_LOAD);
    const stops: { readonly code: number | null; readonly ms: number }[] = [];
    const bad: unknown[] = [];
    for (let n = 0; n < STOPS; n += 1) {
      await waitForTraffic(ledger, ['http', 'grpc'], FULL_REQUESTS);
      if (broker !== undefined) {
        await waitForCommits(fleet);
      }
      const startedMs = performance.now();
      const code = await fleet.receiver.stop();
      const ms = Math.round(performance.now() - startedMs);
      stops.push({ code, ms });
      if (code !== 0 || ms > GRACE_MS) {
        bad.push({ code, ms, output: fleet.receiver.output.slice(-OUTPUT_CHARACTERS) });
      }
      await fleet.receiver.start();
    }

    reportFigures('SIGTERM', { stops, ...(await finish(sending)) });
    expect(bad).toEqual([]);
  });

  it.skipIf(!isOurBroker)(
    'reads on when the broker is killed and comes back, with nothing committed that is not stored',
    { timeout: TIMEOUT_MS },
    async () => {
      const sending = startSenders(fleet.targets, ledger, LIGHT_LOAD);
      const offsets = watchOffsets();
      await waitForCommits(fleet);
      await broker?.kill();
      await waitForTraffic(ledger, ['http', 'grpc']);
      await sleep(BROKER_AWAY_MS);
      await broker?.restart();
      await waitForTraffic(ledger, ['kafka']);
      await waitForCommits(fleet);

      const figures = await finish(sending);
      const { looks, unwritten } = await offsets.stop();
      reportFigures('a broker outage', { looks, ...figures });
      expect(unwritten).toEqual([]);
      expect(looks).toBeGreaterThan(5);
    },
  );
});

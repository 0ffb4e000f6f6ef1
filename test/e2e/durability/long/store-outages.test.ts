import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../../support/store/clickhouse-query.ts';
import {
  waitForCommits,
  expectBoundedMemory,
  expectNothingLost,
  waitForTraffic,
  listInvalidAnswers,
} from '../../../support/durability/expectations.ts';
import { type Fleet, makeFleet } from '../../../support/durability/fleet.ts';
import { startSenders } from '../../../support/durability/numbered-senders.ts';
import { reportFigures } from '../../../support/durability/report-figures.ts';
import { RequestLedger } from '../../../support/durability/request-ledger.ts';
import { type KafkaBroker, kafkaMissing, startKafka } from '../../../support/collector/kafka.ts';
import { until } from '../../../support/until.ts';

/** Time that the engine hangs, seconds; 600 shows minutes. */
const HANGS_S = Number(process.env['SPANSCORE_OUTAGE_S'] ?? 20);
/** At least; senders that are not told by then are waited for. */
const AWAY_MS = 6_000;
const TOLD_WITHIN_MS = 120_000;
const LOAD = { senders: 4, pauseMs: 20 };
/**
 * Upper bounds of memory: a collector (256 MiB, and as much for late garbage), and a process that tails and reads back. This
 * load is far below the limit; test/integration/collector/bombs.test.ts tests the limit.
 */
const BOUNDS_MIB = { receiver: 700, consumer: 700, engine: 2_048 };

/** The short form asks for no broker: the Kafka consumer of test/integration/collector/long/kafka.test.ts waits for a store too. */
const missing = await kafkaMissing();
const ledger = new RequestLedger();

let broker: KafkaBroker | undefined;
let fleet: Fleet;

beforeAll(async () => {
  broker = missing === undefined ? await startKafka() : undefined;
  fleet = await makeFleet({ broker });
  await fleet.receiver.start();
  await fleet.consumer?.start();
}, 300_000);
// One each: what one of them cannot end must not leave the others running.
afterAll(() => broker?.stop());
afterAll(() => fleet?.dispose());

/** Takes the store away, and brings it back when senders were told. */
type Outage = (told: () => Promise<void>) => Promise<void>;

async function hang(told: () => Promise<void>): Promise<void> {
  expect(fleet.signalEngine('SIGSTOP')).toBe(true);
  try {
    await sleep(HANGS_S * 1_000);
    await told();
  } finally {
    fleet.signalEngine('SIGCONT');
  }
}

async function dieWheneverItStarts(told: () => Promise<void>): Promise<void> {
  const over = new AbortController();
  const killing = (async () => {
    let killed: number | undefined;
    while (!over.signal.aborted) {
      const pid = fleet.enginePid();
      if (pid !== killed && fleet.signalEngine('SIGKILL')) {
        killed = pid;
      }
      await sleep(20);
    }
  })();
  try {
    await sleep(AWAY_MS);
    await told();
  } finally {
    over.abort();
    await killing;
  }
}

function alteredBy(change: string, back: string): Outage {
  return async (told) => {
    await runCommand(fleet.store, `ALTER TABLE otel_traces ${change}`);
    try {
      await sleep(AWAY_MS);
      await told();
    } finally {
      await runCommand(fleet.store, `ALTER TABLE otel_traces ${back}`);
    }
  };
}

const OUTAGES: readonly (readonly [string, Outage])[] = [
  ['hangs', hang],
  ['dies whenever it starts', dieWheneverItStarts],
  ['is read-only', alteredBy('MODIFY SETTING table_readonly = 1', 'MODIFY SETTING table_readonly = 0')],
  [
    'has too many parts',
    alteredBy(
      'MODIFY SETTING parts_to_delay_insert = 1, parts_to_throw_insert = 1',
      'RESET SETTING parts_to_delay_insert, parts_to_throw_insert',
    ),
  ],
  [
    'lacks a column',
    alteredBy('RENAME COLUMN TraceState TO TraceStateAway', 'RENAME COLUMN TraceStateAway TO TraceState'),
  ],
];

describe('a store under load over HTTP, gRPC and Kafka', () => {
  it.each(OUTAGES)(
    'that %s loses nothing: senders are told to come again, and all goes on by itself',
    { timeout: 900_000 + HANGS_S * 1_000 },
    async (outage, away) => {
      const sending = startSenders(fleet.targets, ledger, LOAD);
      await waitForTraffic(ledger);
      if (broker !== undefined) {
        await waitForCommits(fleet);
      }
      await away(() =>
        until(
          () => sending.answers.has('http 503') && sending.answers.has('grpc 14'),
          TOLD_WITHIN_MS,
          () => Object.fromEntries(sending.answers),
        ),
      );
      await waitForTraffic(ledger);
      await sending.finish();

      const { spansAcknowledged, repeatedRows } = await expectNothingLost(fleet, ledger);
      const answers = Object.fromEntries(sending.answers);
      const peakMib = expectBoundedMemory(fleet, BOUNDS_MIB);
      reportFigures(`a store that ${outage}`, { spansAcknowledged, repeatedRows, peakMib, answers });
      expect(listInvalidAnswers(sending.answers)).toEqual([]);
      expect(Object.keys(answers)).toEqual(expect.arrayContaining(['http 503', 'grpc 14']));
    },
  );
});

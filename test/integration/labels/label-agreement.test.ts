import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startLabelAgreement } from '../../../src/labels/start-label-agreement.ts';
import { startDuties } from '../../../src/ownership/duties.ts';
import { systemTimers } from '../../../src/domain/waits.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { metricValue } from '../../support/documents/metric-lines.ts';
import { buildScore, newTraceId, testStore, type TestStore } from '../../support/store/store-rows.ts';
import { until } from '../../support/until.ts';

const SERIES = '{scorer="honesty",scorer_version="7",fingerprint="aaaaaaaa"}';

let base: TestStore;
const cleanUps: (() => Promise<void>)[] = [];

beforeAll(async () => {
  base = await testStore();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) {
    await cleanUp();
  }
});
afterAll(() => base.stop());

/** Starts what a scorer process starts, with short waits. */
function startProcess() {
  let reads = 0;
  const { store } = base;
  const labels: typeof store.labels = {
    ...store.labels,
    labelledVersions: (query) => {
      reads += 1;
      return store.labels.labelledVersions(query);
    },
  };
  const metrics = createMetrics({ version: '1', log: silentLog });
  const duties = startDuties(store.duties, { settleMs: 0, lookEveryMs: 200, beatEveryMs: 500, ttlMs: 2_000 });
  const timers = { ...systemTimers, sleep: () => sleep(20) };
  const part = startLabelAgreement(
    { ...store, labels },
    { duties, log: silentLog, metrics, timers, findPassLine: async () => 0.5 },
  );
  const stop = async () => {
    await part.stop();
    duties.stop();
  };
  cleanUps.push(async () => {
    await stop();
    await metrics.stop();
  });
  const read = async (name: string, series: string) => metricValue(await metrics.text(), `${name}${series}`);
  return {
    countReads: () => reads,
    read: (series: string) => read('spanscore_label_agreement', series),
    readTargets: (series: string) => read('spanscore_label_targets', series),
    stop,
  };
}

/** Stores a score of each version and a label for each target. */
async function label(
  scorer: string,
  answers: readonly { versions: Record<string, number>; human: number }[],
) {
  const rows = answers.flatMap(({ versions, human }) => {
    const traceId = newTraceId();
    const of = {
      scorer,
      traceId,
      targetId: traceId,
      higherIsBetter: true,
      traceTimestamp: Date.now() - 1_000,
    };
    return [
      ...Object.entries(versions).map(([fingerprint, score]) =>
        buildScore({ ...of, score, fingerprint, scorerVersion: '7' }),
      ),
      buildScore({ ...of, score: human, fingerprint: 'ann', source: 'human', higherIsBetter: null }),
    ];
  });
  await base.store.scores.write(rows);
}

it('the metric has kappa and targets of each version of each scorer with labels, without a query for a scrape', async () => {
  const [good, bad] = ['a'.repeat(32), 'b'.repeat(32)];
  await label('honesty', [
    ...Array.from({ length: 40 }, () => ({ versions: { [good]: 1, [bad]: 0 }, human: 1 })),
    ...Array.from({ length: 10 }, () => ({ versions: { [good]: 1, [bad]: 1 }, human: 0 })),
    ...Array.from({ length: 50 }, () => ({ versions: { [good]: 0 }, human: 0 })),
  ]);
  await label('one-answer', [{ versions: { [good]: 1 }, human: 1 }]);
  const process = startProcess();
  await until(async () => (await process.read(SERIES)) !== undefined);
  expect(await process.read(SERIES)).toBeCloseTo(0.8, 9);
  expect(await process.readTargets(SERIES)).toBe(100);
  const other = SERIES.replace('aaaaaaaa', 'bbbbbbbb');
  expect(await process.read(other)).toBeLessThan(0);
  expect(await process.readTargets(other)).toBe(50);
  const undefinedKappa = SERIES.replace('honesty', 'one-answer');
  expect(await process.readTargets(undefinedKappa)).toBe(1);
  expect(await process.read(undefinedKappa)).toBeUndefined();
  expect(process.countReads()).toBe(1);
});

it('one of two processes has the metric, and the other takes it over', async () => {
  await label('honesty', [
    { versions: { ['a'.repeat(32)]: 1 }, human: 1 },
    { versions: { ['a'.repeat(32)]: 0 }, human: 0 },
  ]);
  const first = startProcess();
  await until(async () => (await first.read(SERIES)) !== undefined);
  const second = startProcess();
  await sleep(300);
  expect(await second.read(SERIES)).toBeUndefined();
  expect(second.countReads()).toBe(0);
  await first.stop();
  expect(await first.read(SERIES)).toBeNaN();
  await until(async () => (await second.read(SERIES)) !== undefined);
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { testEngine, type TestEngine } from '../../support/store/engine.ts';
import { A_SERIES } from '../../support/fakes/memory-monitors.ts';
import { scoreRowAt, WORLD_START_MS as START } from '../../support/monitors/monitor-world.ts';
import { type MonitoredDatabase, monitoredDatabase } from '../../support/store/monitored-database.ts';

let engine: TestEngine;
let its: MonitoredDatabase;

beforeAll(async () => {
  engine = await testEngine();
  const fields = { ...A_SERIES, model: 'm1' };
  const row = (index: number) => scoreRowAt(START + index, { ...fields, score: index < 10 ? 0.7 : 0.1 });
  its = await monitoredDatabase(engine, [Array.from({ length: 40 }, (_, index) => row(index))]);
});
afterAll(async () => {
  await its.close();
  await engine.stop();
});

it('explains by exact sums, which are the same in whatever order scores are added', async () => {
  const { cause } = await its.store.monitors.explain(A_SERIES, START + 10, START + 40);
  // Added one by one, thirty times 0.1 is 3.0000000000000013.
  expect(cause).toMatchObject({
    before: { mean: 0.7, n: 10 },
    after: { mean: 0.1, n: 30 },
    verdict: 'everywhere',
    dimensions: [],
  });
});

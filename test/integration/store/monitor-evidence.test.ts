import { afterAll, beforeAll, expect, it } from 'vitest';
import { testEngine, type TestEngine } from '../../support/store/engine.ts';
import { A_SERIES } from '../../support/fakes/memory-monitors.ts';
import { scoreRowAt, WORLD_START_MS as START } from '../../support/monitors/monitor-world.ts';
import { buildFailure, buildIssueRow } from '../../support/builders/a-failure.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { newTraceId } from '../../support/store/store-rows.ts';
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

/** Run of a score, and whether it is one of those that fell. */
interface HitRun {
  readonly traceId: string;
  readonly isHit: boolean;
}

/** Explains 120 scores of another series, half of them since the change; the runs that are hit fell. */
async function explainHit(environment: string, describe: (runs: readonly HitRun[]) => Promise<void>) {
  const series = { ...A_SERIES, environment };
  const runs = Array.from({ length: 120 }, (_, index) => ({ traceId: newTraceId(), isHit: index % 3 === 0 }));
  await describe(runs);
  const rows = runs.map(({ traceId, isHit }, index) =>
    scoreRowAt(START + index, { ...series, traceId, score: index >= 60 && isHit ? 0.2 : 0.9 }),
  );
  await its.insertScores(rows);
  return (await its.store.monitors.explain(series, START + 60, START + 120)).cause;
}

it('names the own facet of the runs that fell', async () => {
  const cause = await explainHit('facets', (runs) =>
    its.store.runs.write(
      runs.map(({ traceId, isHit }) =>
        buildRunRecord({ traceId, facets: ['language', 'en', 'customer.tier', isHit ? 'free' : 'paid'] }),
      ),
    ),
  );
  expect(cause).toMatchObject({ verdict: 'segment', causes: [{ segment: { 'customer.tier': 'free' } }] });
});

it('names the issue of the runs that fell, but none that follows from a score', async () => {
  const cause = await explainHit('issues', async (runs) => {
    await its.store.runs.write(runs.map(({ traceId }) => buildRunRecord({ traceId })));
    const failures = runs.map(({ traceId }) => buildFailure({ traceId, failureId: 'f1' }));
    const judged = { failureId: 'f2', issueId: 'judged', scorer: 'grounding' };
    await its.store.failures.write(
      runs.flatMap(({ traceId, isHit }, index) =>
        isHit ? [failures[index]!, buildFailure({ traceId, ...judged })] : [],
      ),
    );
    await its.store.failures.writeIssues(failures.map((each) => buildIssueRow(each)));
  });
  expect(cause?.causes).toMatchObject([
    { segment: { issue: 'tool `get_weather` fails: HTTP 504' }, same: [] },
  ]);
});

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDecisionAggregates } from '../../src/aggregates/count-coverage.ts';
import { refreshAggregates } from '../../src/aggregates/refresh-aggregates.ts';
import { DAY_MS } from '../../src/domain/durations.ts';
import { updateIssues } from '../../src/issues/update-issues.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { startEmbeddedEngine } from '../../src/store/embedded/engine.ts';
import { storeOptions, testStore, type TestStore } from '../support/store/store-rows.ts';
import { makeFailures, makeTraces, type History } from './many-scores.ts';

/** Issues of each agent, and runs with one: one of so many. */
const FAILURES = { issues: 50, failingOf: 50 };

/** History that a folder keeps, with the number of traces that it has by now. */
interface KeptHistory extends History {
  readonly made: number;
}

/** Opens a store with a history until now: a new one, or that of a folder, which is kept for the next run and continued until now. */
export async function openHistory(
  folder: string | undefined,
  size: Omit<History, 'endMs'>,
): Promise<TestStore> {
  const opened = folder === undefined ? await testStore() : await openKept(folder);
  const file = folder === undefined ? undefined : join(folder, 'history.json');
  const kept =
    file !== undefined && existsSync(file)
      ? (JSON.parse(readFileSync(file, 'utf8')) as KeptHistory)
      : { ...size, endMs: Date.now(), made: 0 };
  if (kept.made === 0) {
    await recordRule(opened.store, kept);
  }
  let { made } = kept;
  // The second round continues the history over the time of the first.
  for (const round of [1, 2]) {
    const startedMs = performance.now();
    const nowMs = Date.now();
    const wanted = countUntil(kept, nowMs);
    await makeTraces(opened.options, kept, { from: made, to: wanted });
    const madeMs = performance.now();
    const hours = await computeAggregates(opened.store, nowMs);
    console.log(
      `${round}: ${wanted - made} traces made in ${seconds(madeMs - startedMs)}; aggregates of ${hours} hours in ${seconds(performance.now() - madeMs)}`,
    );
    made = wanted;
    if (file !== undefined) {
      writeFileSync(file, JSON.stringify({ ...kept, made } satisfies KeptHistory));
    }
  }
  if ((await opened.store.failures.issues(undefined)).length === 0) {
    await makeFailures(opened.options, FAILURES);
    await updateIssues(opened.store);
  }
  return opened;
}

async function openKept(folder: string): Promise<TestStore> {
  const started = await startEmbeddedEngine({ dataDir: folder });
  const { url, username, password } = started;
  const engine = { url, username, password, stop: () => started.stop() };
  const options = storeOptions(engine, 'history');
  const store = await openStore(options);
  return {
    engine,
    options,
    store,
    stop: async () => {
      await store.close();
      await started.stop();
    },
  };
}

async function recordRule(store: Store, { scorers, days, endMs }: KeptHistory): Promise<void> {
  await store.ruleVersions.record({
    rule: 'production',
    version: '1',
    activeFromMs: endMs - (days + 1) * DAY_MS,
    probability: 0.8,
    definition: { scorers: Array.from({ length: scorers }, (_, index) => `scorer-${index}`) },
  });
}

function countUntil({ traces, days, endMs }: History, atMs: number): number {
  return traces + Math.floor(((atMs - endMs) * traces) / (days * DAY_MS));
}

/** Rows have the time of their traces as the time of writing. So the aggregates are done up to the end of the history only. Their duty merges them each hour. */
async function computeAggregates(store: Store, untilMs: number): Promise<number> {
  const decisions = createDecisionAggregates(store);
  const hours = await refreshAggregates(store.aggregates);
  await refreshAggregates(decisions);
  await refreshAggregates(store.runHours);
  await store.aggregates.markDone(untilMs);
  await decisions.markDone(untilMs);
  await store.runHours.markDone(untilMs);
  await store.mergeSums();
  return hours;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(0)} s`;
}

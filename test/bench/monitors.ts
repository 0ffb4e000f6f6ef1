/**
 * 10,000 series that receive scores in every bucket: how long closing a bucket takes (one statement), reading it back, and
 * folding it; and a whole look of the evaluator. `node test/bench/monitors.ts [series] [scores a series and bucket] [looks] [models]`;
 * with models a second rule splits each of the series by as many.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEvaluator } from '../../src/monitors/evaluator.ts';
import type { MonitorGroup, MonitorRule } from '../../src/monitors/rule.ts';
import type { SplitFacet } from '../../src/domain/series-facets.ts';
import type { BucketRange, Checkpoint, MonitorStore } from '../../src/monitors/monitor-store.ts';
import type { MonitorStatus } from '../../src/monitors/monitor-status.ts';
import { openDatabase } from '../../src/store/open-database.ts';
import { startEmbeddedEngine } from '../../src/store/embedded/engine.ts';
import { openStore } from '../../src/store/store.ts';
import { storeOptions } from '../support/store/store-rows.ts';
import { atMost, head, row, shown, sumUp, verdictOn } from './bench-table.ts';

const [seriesCount = 10_000, scoresPerBucket = 5, looks = 12, models = 0] = process.argv.slice(2).map(Number);
const INTERVAL_MS = 300_000;
const GOAL_MS = 1_000;
const TICK_MS = 10;
const START_MS = Math.floor((Date.now() - 86_400_000) / 3_600_000) * 3_600_000;

const DRIFT: MonitorRule = {
  alert: 'Drift',
  detection: {
    kind: 'drift',
    tolerance: 0.02,
    reference: { days: 14, minScores: 300, minDays: 3 },
    direction: 'down',
  },
  series: {},
  terms: { forMs: 0, keepFiringForMs: 0, noDataAfterMs: 86_400_000, intervalMs: INTERVAL_MS },
  paused: false,
  labels: {},
  annotations: {},
};

const GROUP: MonitorGroup = {
  name: 'bench',
  intervalMs: INTERVAL_MS,
  falseAlarmBudget: 1,
  rules: [
    DRIFT,
    ...(models > 0
      ? [{ ...DRIFT, alert: 'Part', split: { by: ['model'], minDailyScores: 1 } } as const]
      : []),
  ],
};

/** Time of each step of a look, milliseconds, and its count. */
const spent = new Map<string, { tookMs: number; times: number }>();

function note(step: string, tookMs: number): void {
  const before = spent.get(step) ?? { tookMs: 0, times: 0 };
  spent.set(step, { tookMs: before.tookMs + tookMs, times: before.times + 1 });
}

function timed<Arguments extends unknown[]>(
  step: string,
  work: (...args: Arguments) => Promise<void>,
): (...args: Arguments) => Promise<void> {
  return async (...args) => {
    const startedMs = performance.now();
    try {
      await work(...args);
    } finally {
      note(step, performance.now() - startedMs);
    }
  };
}

/** Processor time of this process and of the engine, milliseconds: what else the machine does adds nothing. */
function processorMs(): number {
  const fields = readFileSync(`/proc/${engine.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const own = process.cpuUsage();
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS + (own.user + own.system) / 1_000;
}

const dataDir = await mkdtemp(join(tmpdir(), 'spanscore-bench-'));
const engine = await startEmbeddedEngine({ dataDir });
const options = storeOptions({ ...engine, stop: () => engine.stop() });
const store = await openStore(options);
const { monitors: stored } = store;
const database = openDatabase(options);
let clockMs = START_MS;
const monitors: MonitorStore = {
  ...stored,
  nowMs: () => Promise.resolve(clockMs),
  close: timed('close: one INSERT … SELECT for each split', (range: BucketRange, by: readonly SplitFacet[]) =>
    stored.close(range, by),
  ),
  writeStatus: timed('write status', (statuses: readonly MonitorStatus[]) => stored.writeStatus(statuses)),
  writeCheckpoint: timed('write checkpoint (once an hour)', (ruleKey: string, checkpoint: Checkpoint) =>
    stored.writeCheckpoint(ruleKey, checkpoint),
  ),
};

async function arrive(bucketMs: number): Promise<void> {
  await database.insertSelected(
    `INSERT INTO score_arrivals (WrittenAt, ScoreId, Tenant, TraceId, Scorer, Fingerprint, Agent, Environment, ServiceName,
       ServiceVersion, Model, Score, HigherIsBetter, ScoreMin, ScoreMax, Stratum, Source, Revision, DelayMs) SELECT
       fromUnixTimestamp64Milli({from:Int64} + number % ${INTERVAL_MS - 1}), generateUUIDv4(number), '',
       lower(hex(number)), 'grounding', concat('judge-', toString(number % ${seriesCount})), 'agent', 'production',
       'shop', 'v1', concat('model-', toString(intDiv(number, ${seriesCount}) % ${Math.max(1, models)})), 0.8 + (cityHash64(number) % 200) / 1000, true, 0, 1, 'uniform', 'live', 1, 1000
     FROM numbers(${seriesCount * scoresPerBucket})`,
    { from: bucketMs },
  );
}

const evaluator = createEvaluator([GROUP], {
  store: monitors,
  turn: () => Promise.resolve(),
  warn: (message) => console.error(message),
});
await evaluator.advance();
spent.clear();
const tookMs: number[] = [];
let worked = 0;
for (let look = 0; look < looks; look += 1) {
  const bucketMs = START_MS + look * INTERVAL_MS;
  await arrive(bucketMs);
  clockMs = bucketMs + INTERVAL_MS + 60_000;
  const startedMs = performance.now();
  const workedMs = processorMs();
  await evaluator.advance();
  worked += processorMs() - workedMs;
  tookMs.push(performance.now() - startedMs);
}
const watched = evaluator.statuses().length;
await database.close();
await store.close();
await engine.stop();
await rm(dataDir, { recursive: true, force: true });

const sorted = [...tookMs].sort((a, b) => a - b);
const medianMs = sorted[Math.floor(sorted.length / 2)] ?? 0;
head(`${watched} series, ${scoresPerBucket} scores each a bucket`, 'step', 'mean, ms', 'times', 'goal');
for (const [step, { tookMs: total, times }] of spent) {
  row(step, total / times, times, '–');
}
row('a whole look, fastest', sorted[0] ?? 0, looks, '–');
row('a whole look, median', medianMs, looks, '–');
const goals = [atMost(worked / looks, GOAL_MS, 'ms')];
row(
  'a whole look, processor time of both processes',
  worked / looks,
  looks,
  verdictOn('a whole look', goals),
);
console.log(`\nLoad of the machine: ${loadavg().map(shown).join(', ')}.`);
sumUp();

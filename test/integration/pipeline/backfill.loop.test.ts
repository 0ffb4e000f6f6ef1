import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BACKFILL } from '../../../src/backfill/backfill-job.ts';
import { readTrace } from '../../../src/conventions/index.ts';
import { StoreUnavailableError } from '../../../src/domain/errors.ts';
import { followJob, openJob } from '../../../src/jobs/follow-job.ts';
import { startJobRunner, type JobRunner } from '../../../src/jobs/job-runner.ts';
import { createScoring } from '../../../src/scoring/scoring.ts';
import type { DutyStore } from '../../../src/store/contracts/duties.ts';
import type { Job, JobStatus } from '../../../src/store/contracts/jobs.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { testLong } from '../../support/loops.ts';
import { buildBackfillSpec, createBackfillKind } from '../../support/scoring/backfill-runs.ts';
import { buildRule, judged, type CountingScorer } from '../../support/scoring/scoring-world.ts';
import { agentRunSpans, store as ingest } from '../../support/store/stored-agent.ts';
import { newTraceId, openEmptied, testStore, type TestStore } from '../../support/store/store-rows.ts';
import { until } from '../../support/until.ts';

/** Times of leases for tests: a lost process is found after six seconds, which is longer than a busy machine hesitates. */
const FAST = {
  lookEveryMs: 50,
  firstRetryMs: 10,
  lease: { settleMs: 100, lookEveryMs: 50, beatEveryMs: 100, ttlMs: 6_000 },
};
const TRACES = 12;

let base: TestStore;
let store: TestStore['store'];
const runners: JobRunner[] = [];

beforeAll(async () => {
  base = await testStore();
});
afterAll(() => base.stop());
beforeEach(async () => {
  store = await openEmptied(base.options);
  const dayAgo = Date.now() - 24 * 3_600_000;
  await Promise.all(
    Array.from({ length: TRACES }, (_, n) => ingest(store, agentRunSpans(newTraceId(), dayAgo + n))),
  );
  // The traces are ready.
  await new Promise((resolve) => setTimeout(resolve, 5));
});
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  await store.close();
});

const ask = (scorer: CountingScorer) => ({
  fromMs: Date.now() - 48 * 3_600_000,
  toMs: Date.now(),
  rules: [buildRule([scorer], { name: 'live' })],
});

/** Starts a process that runs backfills with this scorer. */
function startProcess(scorer: CountingScorer, duties: DutyStore = store.duties): JobRunner {
  const scoring = createScoring(
    { stores: store, readTrace, log: silentLog },
    { decisionWaitMs: 1, judgeAttempts: 1, judgeConcurrency: 2 },
  );
  const kinds = [createBackfillKind(scoring, ask(scorer))];
  const runner = startJobRunner(
    { jobs: store.jobs, duties, nowMs: () => store.spans.nowMs(), kinds, log: silentLog },
    FAST,
  );
  runners.push(runner);
  return runner;
}

const open = async (scorer: CountingScorer): Promise<string> => {
  const spec = { ...buildBackfillSpec(ask(scorer)) };
  return (await openJob(store.jobs, { kind: BACKFILL, tenant: '', spec })).id;
};

const end = (id: string): Promise<Job> =>
  followJob(store.jobs, id, { onChange: () => undefined, signal: new AbortController().signal });

const readScores = () => store.scores.list({ limit: 100 });
const untilStatus = (id: string, status: JobStatus) =>
  until(async () => (await store.jobs.find(id))?.status === status && runsNowhere(id));
const runsNowhere = async (id: string) => (await store.duties.readMembers([`job ${id}`], 6_000)).length === 0;

/** Creates a scorer whose judge answers some questions, and hangs at the next one until it is woken. */
function hangingScorer(answers: number) {
  const hangs = Promise.withResolvers<void>();
  const woken = Promise.withResolvers<void>();
  const scorer = judged('a', async () => {
    if (scorer.inputs.length > answers) {
      hangs.resolve();
      await woken.promise;
    }
    return { score: 0.1 };
  });
  return { scorer, hangs: hangs.promise, wake: () => woken.resolve() };
}

describe('a backfill job on the engine', () => {
  test('is done by one of two processes, with a score for each trace and exact counts', async () => {
    const [first, second] = [judged('a'), judged('a')];
    startProcess(first);
    startProcess(second);
    const job = await end(await open(first));
    expect(job).toMatchObject({
      status: 'done',
      report: { matched: TRACES, scored: TRACES, skipped: {}, failed: {}, remaining: 0 },
    });
    expect(await readScores()).toHaveLength(TRACES);
    expect([first.inputs.length, second.inputs.length].toSorted((a, b) => a - b)).toEqual([0, TRACES]);
  });

  test('stops at a pause in the middle of a batch, and continues from there', async () => {
    const { scorer, hangs, wake } = hangingScorer(4);
    startProcess(scorer);
    const id = await open(scorer);
    await hangs;
    await store.jobs.order(id, 'pause');
    await untilStatus(id, 'paused');
    const before = (await readScores()).length;
    expect(before).toBeLessThan(TRACES);
    wake();
    await store.jobs.order(id, 'resume');
    expect(await end(id)).toMatchObject({
      status: 'done',
      report: { matched: TRACES, scored: TRACES, skipped: {}, remaining: 0 },
    });
    expect(await readScores()).toHaveLength(TRACES);
    expect(scorer.inputs.length).toBeLessThanOrEqual(TRACES + 2);
  });

  test('is left by a process with another configuration, which says why, and done by one with the right one', async () => {
    const [changed, right] = [judged('a'), judged('a')];
    Object.assign(changed, { version: '2' });
    startProcess(changed);
    const id = await open(right);
    await until(async () => (await store.jobs.find(id))?.left !== '');
    expect((await store.jobs.find(id))?.left).toMatch(
      /left the job: .*scorer a \(rule live\) is another one/,
    );
    startProcess(right);
    expect(await end(id)).toMatchObject({ status: 'done', report: { scored: TRACES } });
    expect(changed.inputs).toHaveLength(0);
  });

  testLong(
    'is finished by another process with exact counts, which judges again only what was under way',
    async () => {
      let isAway = false;
      const failing = async () => {
        throw new StoreUnavailableError('the store is away');
      };
      const { duties } = store;
      const lossy: DutyStore = {
        ...duties,
        beat: (beats) => (isAway ? failing() : duties.beat(beats)),
        readMembers: (names, ttlMs) => (isAway ? failing() : duties.readMembers(names, ttlMs)),
      };
      const { scorer: first, hangs, wake } = hangingScorer(4);
      startProcess(first, lossy);
      const id = await open(first);
      await hangs;
      // The calls that were answered are stored. Two are under way.
      await until(async () => (await readScores()).length === 4);
      isAway = true;
      const second = judged('a', () => ({ score: 0.9 }));
      startProcess(second);
      const job = await end(id);
      wake();
      await Promise.all(runners.splice(0).map((runner) => runner.stop()));
      expect(job).toMatchObject({
        status: 'done',
        report: { matched: TRACES, scored: TRACES, skipped: {}, remaining: 0 },
      });
      expect([first.inputs.length, second.inputs.length]).toEqual([6, TRACES - 4]);
      const scores = await readScores();
      expect(scores.filter(({ score }) => score === 0.1)).toHaveLength(4);
      expect(scores).toHaveLength(TRACES);
    },
  );

  testLong('that is cancelled while another process takes it over stays cancelled', async () => {
    let isAway = false;
    const { duties } = store;
    const lossy: DutyStore = {
      ...duties,
      beat: async (beats) =>
        isAway ? Promise.reject(new StoreUnavailableError('away')) : duties.beat(beats),
    };
    const { scorer: first, hangs, wake } = hangingScorer(2);
    startProcess(first, lossy);
    const id = await open(first);
    await hangs;
    isAway = true;
    const second = judged('a');
    startProcess(second);
    await store.jobs.order(id, 'cancel');
    await until(async () => (await store.jobs.find(id))?.finishedAtMs !== null, 30_000);
    wake();
    await Promise.all(runners.splice(0).map((runner) => runner.stop()));
    expect(await store.jobs.find(id)).toMatchObject({ status: 'cancelled' });
    expect(second.inputs).toHaveLength(0);
    expect((await readScores()).length).toBeLessThanOrEqual(4);
  });
});

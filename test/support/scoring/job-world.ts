import { afterAll, afterEach, beforeAll } from 'vitest';
import { readTrace } from '../../../src/conventions/index.ts';
import { followJob } from '../../../src/jobs/follow-job.ts';
import type { JobKind } from '../../../src/jobs/job-kind.ts';
import { startJobRunner, type JobRunner } from '../../../src/jobs/job-runner.ts';
import type { Scoring } from '../../../src/scoring/scoring.ts';
import { createScoring } from './bare-scoring.ts';
import type { DutyStore } from '../../../src/store/tables/members.ts';
import type { Job } from '../../../src/store/contracts/jobs.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { openEmptied, testStore, type TestStore } from '../store/store-rows.ts';

/** Times of leases for tests: a lost process is found after six seconds, which is longer than a busy machine hesitates. */
const FAST = {
  lookEveryMs: 200,
  firstRetryMs: 10,
  lease: { settleMs: 100, lookEveryMs: 200, beatEveryMs: 500, ttlMs: 6_000 },
};

/** A store, and the processes of one test that run jobs on it. */
export interface JobWorld {
  readonly store: TestStore['store'];
  /** Empties the store. Call it at the begin of each test. */
  readonly empty: () => Promise<void>;
  readonly createScoring: () => Scoring;
  /** Starts a process that runs jobs of a kind. It stops with the test. */
  readonly startRunner: (kind: JobKind, duties?: DutyStore) => JobRunner;
  readonly stopRunners: () => Promise<void>;
  /** Waits for the end of a job. */
  readonly end: (id: string) => Promise<Job>;
}

/** Registers the hooks of a file of tests. */
export function describeJobs(): JobWorld {
  let base: TestStore;
  let store: TestStore['store'];
  const runners: JobRunner[] = [];
  const stopRunners = async () => {
    await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  };
  beforeAll(async () => {
    base = await testStore();
  });
  afterAll(() => base.stop());
  afterEach(async () => {
    await stopRunners();
    await store.close();
  });
  return {
    get store() {
      return store;
    },
    async empty() {
      store = await openEmptied(base.options);
    },
    createScoring: () =>
      createScoring(
        { stores: store, readTrace, log: silentLog },
        { decisionWaitMs: 1, judgeAttempts: 1, judgeConcurrency: 2 },
      ),
    startRunner(kind, duties = store.duties) {
      const nowMs = () => store.spans.nowMs();
      const runner = startJobRunner({ jobs: store.jobs, duties, nowMs, kinds: [kind], log: silentLog }, FAST);
      runners.push(runner);
      return runner;
    },
    stopRunners,
    end: (id) =>
      followJob(store.jobs, id, { onChange: () => undefined, signal: new AbortController().signal }),
  };
}

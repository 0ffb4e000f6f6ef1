import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { jobJson } from '../../../../src/api/json/rows.ts';
import { InvalidInputError, StoreUnavailableError } from '../../../../src/domain/errors.ts';
import { sha256Hex } from '../../../../src/domain/identity.ts';
import { followJob, openJob } from '../../../../src/jobs/follow-job.ts';
import type { JobKind, JobRun } from '../../../../src/jobs/job-kind.ts';
import { startJobRunner, type JobRunner } from '../../../../src/jobs/job-runner.ts';
import { createOutput } from '../../../../src/cli/show/output.ts';
import { runAttached } from '../../../../src/cli/jobs/run-job.ts';
import type { DutyStore } from '../../../../src/store/tables/members.ts';
import type { Job, JobProgress } from '../../../../src/store/contracts/jobs.ts';
import type { JobStore } from '../../../../src/store/jobs/jobs.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { testStore, type TestStore } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

const FAST = { lookEveryMs: 200, firstRetryMs: 10 };
const FAST_LEASE = { settleMs: 100, lookEveryMs: 200, beatEveryMs: 200 };

/** Age of the last beat of a lost process, milliseconds. A slow machine may be silent for longer: only for the test that loses one. */
const SHORT_TTL_MS = 1_000;

let it: TestStore;
const runners: JobRunner[] = [];

beforeAll(async () => {
  it = await testStore();
});
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
});
afterAll(async () => {
  await it.stop();
});

function startRunner(
  kinds: readonly JobKind[],
  {
    duties = it.store.duties,
    ttlMs,
    lookEveryMs = FAST.lookEveryMs,
  }: { duties?: DutyStore; ttlMs?: number; lookEveryMs?: number } = {},
): JobRunner {
  const { jobs, spans } = it.store;
  const deps = { jobs, duties, nowMs: () => spans.nowMs(), kinds, log: silentLog };
  const lease = { ...FAST_LEASE, ...(ttlMs === undefined ? {} : { ttlMs }) };
  const runner = startJobRunner(deps, { ...FAST, lookEveryMs, lease });
  runners.push(runner);
  return runner;
}

const open = (kind: string, spec = {}, jobs = it.store.jobs) =>
  openJob(jobs, { kind, tenant: '', spec }, sha256Hex);

async function readJob(id: string): Promise<Job> {
  const job = await it.store.jobs.find(id);
  if (job === undefined) {
    throw new Error(`there is no job ${id}`);
  }
  return job;
}

const progress = (step: number): JobProgress => ({
  checkpoint: { step },
  report: { steps: step },
  costUsd: 0,
});

/** Waits until the job is interrupted. */
async function hang(run: JobRun): Promise<never> {
  await new Promise<void>((resolve) => run.signal.addEventListener('abort', () => resolve()));
  await run.check();
  throw new Error('a run that was interrupted went on');
}

test('a job runs once to its end, with its progress, while two processes look for work', async () => {
  let runs = 0;
  const kind: JobKind = {
    name: 'count',
    run: async (_job, run) => {
      runs += 1;
      await run.save(progress(1));
      return { ...progress(2), costUsd: 0.5 };
    },
  };
  startRunner([kind]);
  startRunner([kind]);
  const id = await open('count', { upTo: 2 });
  const seen: string[] = [];
  const ended = await followJob(it.store.jobs, id, {
    onChange: ({ status }) => seen.push(status),
    signal: new AbortController().signal,
  });

  expect(jobJson(ended)).toMatchObject({
    id,
    kind: 'count',
    status: 'done',
    spec: { upTo: 2 },
    steps: 2,
    costUsd: 0.5,
    error: null,
  });
  expect(ended.finishedAtMs).toBeGreaterThanOrEqual(ended.startedAtMs ?? Infinity);
  expect(seen[0]).toBe('queued');
  expect(runs).toBe(1);
  expect(await it.store.jobs.listOpen()).toEqual([]);
});

test('a command that is alone does not wait until its membership is old', async () => {
  const { store } = it;
  const { duties } = store;
  const withoutTime: DutyStore = {
    ...duties,
    readMembers: async (names, ttlMs) =>
      (await duties.readMembers(names, ttlMs)).map((member) => ({ ...member, nowMs: member.joinedAtMs })),
  };
  const kind: JobKind = { name: 'alone', run: async () => progress(1) };
  const id = await open('alone');
  const out = createOutput({ json: true, stdout: new PassThrough(), stderr: new PassThrough() });
  const context = { out, log: silentLog, signal: new AbortController().signal };

  const ended = await runAttached(context, {
    store: { ...store, duties: withoutTime },
    id,
    kinds: [kind],
    show: ({ status }) => status,
  });

  expect(ended).toMatchObject({ status: 'done', report: { steps: 1 } });
});

test('a command leaves its job to a live scorer process, and runs it when none takes it', async () => {
  const { store } = it;
  const out = createOutput({ json: true, stdout: new PassThrough(), stderr: new PassThrough() });
  const context = { out, log: silentLog, signal: new AbortController().signal };
  const runHere = async (spec: Record<string, unknown>): Promise<Job> =>
    runAttached(context, {
      store,
      id: await open('left', spec),
      kinds: [{ name: 'left', run: async () => progress(1) }],
      isLeft: true,
      show: ({ status }) => status,
    });
  const scorer = startRunner([{ name: 'left', run: async () => progress(2) }]);

  expect((await runHere({ nth: 1 })).report).toMatchObject({ steps: 2 });

  await scorer.stop();
  startRunner([{ name: 'left', refuse: async () => 'it has other scorers', run: async () => progress(2) }]);
  expect((await runHere({ nth: 2 })).report).toMatchObject({ steps: 1 });
});

test('a job that is cancelled while no process runs has its end', async () => {
  const id = await open('unknown');

  await it.store.jobs.order(id, 'cancel');

  const { status, finishedAtMs, createdAtMs } = await readJob(id);
  expect(status).toBe('cancelled');
  expect(finishedAtMs).toBeGreaterThanOrEqual(createdAtMs);
});

test('a lost process is replaced from the checkpoint, and writes nothing after its return', async () => {
  let isAway = false;
  const failing = async () => {
    throw new StoreUnavailableError('the store is away');
  };
  const { duties } = it.store;
  const lossy: DutyStore = {
    ...duties,
    beat: (beats) => (isAway ? failing() : duties.beat(beats)),
    readMembers: (names, ttlMs) => (isAway ? failing() : duties.readMembers(names, ttlMs)),
  };
  const stalled = Promise.withResolvers<JobRun>();
  const woken = Promise.withResolvers<unknown>();
  const first: JobKind = {
    name: 'relay',
    run: async (_job, run) => {
      await run.save(progress(1));
      stalled.resolve(run);
      await until(async () => !isAway && (await readJob(id)).status === 'done');
      woken.resolve(await run.save(progress(99)).catch((error: unknown) => error));
      return progress(99);
    },
  };
  startRunner([first], { duties: lossy, ttlMs: SHORT_TTL_MS });
  const id = await open('relay');
  await stalled.promise;
  const second: JobKind = {
    name: 'relay',
    run: async (job) => ({ ...progress(2), report: { from: job.checkpoint } }),
  };
  startRunner([second], { ttlMs: SHORT_TTL_MS });
  isAway = true;
  setTimeout(() => (isAway = false), 2_000);

  expect(await woken.promise).toMatchObject({ code: 'cancelled' });
  expect(await readJob(id)).toMatchObject({
    status: 'done',
    report: { from: { step: 1 } },
    checkpoint: { step: 2 },
  });
});

test('a paused job stops and continues where it was; a cancelled one ends', async () => {
  const starts: unknown[] = [];
  const kind: JobKind = {
    name: 'long',
    run: async (job, run) => {
      starts.push(job.checkpoint);
      await run.save(progress(starts.length));
      return hang(run);
    },
  };
  startRunner([kind]);
  const { jobs } = it.store;
  const id = await open('long');
  await until(async () => (await readJob(id)).checkpoint !== null);
  await jobs.order(id, 'pause');
  expect(await readJob(id)).toMatchObject({ status: 'paused' });
  await until(async () =>
    (await jobs.listOpen()).some((job) => job.id === id && job.version % 2 ** 20 === 3),
  );
  await jobs.order(id, 'resume');
  await until(() => starts.length === 2);
  await jobs.order(id, 'cancel');
  await until(async () => (await jobs.listOpen()).length === 0);

  expect(starts).toEqual([null, { step: 1 }]);
  expect((await readJob(id)).finishedAtMs).not.toBeNull();
  expect(await readJob(id)).toMatchObject({ status: 'cancelled' });
});

test('a cancelled job keeps what its runner stores until that hears of the order, beside a free process', async () => {
  let steps = 0;
  const kind: JobKind = {
    name: 'counted',
    run: async (_job, run) => {
      while (!run.signal.aborted) {
        await run.save(progress(steps + 1));
        steps += 1;
        await sleep(50);
      }
      await run.check();
      return progress(steps);
    },
  };
  startRunner([kind], { lookEveryMs: 1_500 });
  const id = await open('counted');
  await until(() => steps > 0);
  startRunner([kind]);
  await it.store.jobs.order(id, 'cancel');
  await until(async () => (await it.store.jobs.listOpen()).length === 0);

  expect(await readJob(id)).toMatchObject({ status: 'cancelled', report: { steps } });
});

test('an error that may pass is tried again; another one ends the job and is stored', async () => {
  let tries = 0;
  const flaky: JobKind = {
    name: 'flaky',
    run: async () => {
      tries += 1;
      if (tries < 3) {
        throw new StoreUnavailableError('the store is away');
      }
      return progress(tries);
    },
  };
  const broken: JobKind = {
    name: 'broken',
    run: async () => {
      throw new InvalidInputError('the range is empty: name a later --to');
    },
  };
  startRunner([flaky, broken]);
  const ids = [await open('flaky'), await open('broken')];
  await until(async () => (await it.store.jobs.listOpen()).length === 0);
  const [first, second] = await Promise.all(ids.map(readJob));

  expect(first).toMatchObject({ status: 'done', report: { steps: 3 }, error: '' });
  expect(second).toMatchObject({ status: 'failed', error: 'the range is empty: name a later --to' });
});

test('work that is interrupted or fails keeps its progress for the next attempt, and for the next process', async () => {
  const starts: unknown[] = [];
  const kind: JobKind = {
    name: 'keeper',
    run: async (job, run) => {
      starts.push(job.checkpoint);
      run.keep({ ...progress(starts.length), costUsd: starts.length });
      if (starts.length === 1) {
        throw new StoreUnavailableError('the store is away');
      }
      return starts.length === 2 ? hang(run) : progress(9);
    },
  };
  const runner = startRunner([kind]);
  const id = await open('keeper');
  await until(() => starts.length === 2);
  await runner.stop();
  expect(await readJob(id)).toMatchObject({ status: 'queued', checkpoint: { step: 2 }, costUsd: 2 });

  startRunner([kind]);
  await until(async () => (await readJob(id)).status === 'done');
  expect(starts).toEqual([null, { step: 1 }, { step: 2 }]);
});

test('a process leaves a job that it cannot run, and the job says why; another process runs it', async () => {
  const run = async () => progress(1);
  startRunner([{ name: 'chosen', refuse: () => 'the scorer tone has another fingerprint here', run }]);
  const id = await open('chosen');
  await until(async () => (await readJob(id)).left !== '');
  expect(await readJob(id)).toMatchObject({ status: 'queued' });
  expect((await readJob(id)).left).toContain('the scorer tone has another fingerprint here');

  startRunner([{ name: 'chosen', run }]);
  await until(async () => (await readJob(id)).status === 'done');
  expect((await it.store.jobs.list({ kind: 'chosen' }, { limit: 5 })).items).toHaveLength(1);
});

test('a process that stops leaves its job at once, and the same command finds the open job', async () => {
  const running = Promise.withResolvers<void>();
  const kind: JobKind = {
    name: 'stopped',
    run: (_job, run) => {
      running.resolve();
      return hang(run);
    },
  };
  const runner = startRunner([kind]);
  const id = await open('stopped', { b: 1, a: [2] });
  await running.promise;
  await runner.stop();

  expect(await readJob(id)).toMatchObject({ status: 'queued' });
  expect(await open('stopped', { a: [2], b: 1 })).toBe(id);
  expect(await open('stopped', { a: [3], b: 1 })).not.toBe(id);
});

/** Store of jobs whose lists of equal jobs are given to several commands only when all of them have asked. */
function meetAtList(commands: number): JobStore {
  const { jobs } = it.store;
  const met = Promise.withResolvers<void>();
  let asked = 0;
  return {
    ...jobs,
    listEqual: async (task) => {
      const same = await jobs.listEqual(task);
      asked += 1;
      if (asked === commands) {
        met.resolve();
      }
      await met.promise;
      return same;
    },
  };
}

test('equal commands at the same moment make one job, and each round after its end another one', async () => {
  const { jobs } = it.store;
  const ids: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const meeting = meetAtList(5);
    const opened = await Promise.all(Array.from({ length: 5 }, () => open('twin', { a: [1] }, meeting)));
    expect(new Set(opened).size).toBe(1);
    const [id = ''] = opened;
    ids.push(id);
    await jobs.order(id, 'cancel');
  }
  expect(new Set(ids).size).toBe(3);
  expect((await jobs.list({ kind: 'twin' }, { limit: 100 })).items).toHaveLength(3);
});

test('a command that stores its job late leaves what another command has made of it', async () => {
  const { jobs } = it.store;
  const late: JobStore = {
    ...jobs,
    create: async (job) => {
      await open('late');
      startRunner([{ name: 'late', run: async () => progress(7) }]);
      await until(async () => (await readJob(job.id)).status === 'done');
      await jobs.create(job);
    },
  };
  const id = await open('late', {}, late);
  expect(await readJob(id)).toMatchObject({ status: 'done', report: { steps: 7 } });
});

test('commands without a serve that open a job at the same moment run it once', async () => {
  const { store } = it;
  let runs = 0;
  const kind: JobKind = {
    name: 'rivals',
    run: async () => {
      runs += 1;
      return progress(runs);
    },
  };
  const out = createOutput({ json: true, stdout: new PassThrough(), stderr: new PassThrough() });
  const context = { out, log: silentLog, signal: new AbortController().signal };
  const meeting = meetAtList(3);
  const runHere = async (): Promise<Job> =>
    runAttached(context, {
      store,
      id: await open('rivals', {}, meeting),
      kinds: [kind],
      show: ({ status }) => status,
    });

  const ended = await Promise.all([runHere(), runHere(), runHere()]);

  expect(ended.map(({ status }) => status)).toEqual(['done', 'done', 'done']);
  expect(runs).toBe(1);
});

test('a command makes a new job when a purge has removed an id from the conditions of the former one', async () => {
  const { jobs, purges } = it.store;
  const spec = { where: { attributes: { 'user.id': ['ann'] } } };
  const purged = await open('erased', spec);
  await jobs.order(purged, 'cancel');
  await purges.replaceSpec(purged, { where: { attributes: { 'user.id': ['hmac:1'] } } });

  const id = await open('erased', spec);

  expect(id).not.toBe(purged);
  expect(await readJob(id)).toMatchObject({ status: 'queued', spec });
  expect(await open('erased', spec)).toBe(id);
});

test('the id of a job follows from the secret of purges, so that nobody can try ids of people', async () => {
  const { jobs, purges } = it.store;
  const id = await open('hidden');
  await purges.removeJob(id);
  const task = { kind: 'hidden', tenant: '', spec: {} };
  expect(await openJob(jobs, task, (text) => sha256Hex(`another secret ${text}`))).not.toBe(id);
});

import { beforeEach, describe, expect, test } from 'vitest';
import { BACKFILL } from '../../../../src/jobs/stored-job.ts';
import { StoreUnavailableError } from '../../../../src/domain/errors.ts';
import { sha256Hex } from '../../../../src/domain/identity.ts';
import { openJob } from '../../../../src/jobs/follow-job.ts';
import type { JobRunner } from '../../../../src/jobs/job-runner.ts';
import type { DutyStore } from '../../../../src/store/tables/members.ts';
import type { JobStatus } from '../../../../src/store/contracts/jobs.ts';
import { buildBackfillSpec, createBackfillKind } from '../../../support/scoring/backfill-runs.ts';
import { describeJobs } from '../../../support/scoring/job-world.ts';
import { buildRule, judged, type CountingScorer } from '../../../support/scoring/scoring-world.ts';
import { agentRunSpans, store as ingest } from '../../../support/store/stored-agent.ts';
import { newTraceId } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

const TRACES = 12;

const world = describeJobs();
const { end } = world;

beforeEach(async () => {
  await world.empty();
  const dayAgo = Date.now() - 24 * 3_600_000;
  await Promise.all(
    Array.from({ length: TRACES }, (_, n) => ingest(world.store, agentRunSpans(newTraceId(), dayAgo + n))),
  );
  // The traces are ready.
  await new Promise((resolve) => setTimeout(resolve, 5));
});

const ask = (scorer: CountingScorer) => ({
  fromMs: Date.now() - 48 * 3_600_000,
  toMs: Date.now(),
  rules: [buildRule([scorer], { name: 'live' })],
});

/** Starts a process that runs backfills with this scorer. */
function startProcess(scorer: CountingScorer, duties?: DutyStore): JobRunner {
  return world.startRunner(createBackfillKind(world.createScoring(), ask(scorer)), duties);
}

const open = async (scorer: CountingScorer): Promise<string> => {
  const spec = { ...buildBackfillSpec(ask(scorer)) };
  return openJob(world.store.jobs, { kind: BACKFILL, tenant: '', spec }, sha256Hex);
};

const readScores = async () => (await world.store.lists.scores({}, { limit: 100 })).items;
const untilStatus = (id: string, status: JobStatus) =>
  until(async () => (await world.store.jobs.find(id))?.status === status && runsNowhere(id));
const runsNowhere = async (id: string) =>
  (await world.store.duties.readMembers([`job ${id}`], 6_000)).length === 0;

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
    await world.store.jobs.order(id, 'pause');
    await untilStatus(id, 'paused');
    const before = (await readScores()).length;
    expect(before).toBeLessThan(TRACES);
    wake();
    await world.store.jobs.order(id, 'resume');
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
    await until(async () => (await world.store.jobs.find(id))?.left !== '');
    expect((await world.store.jobs.find(id))?.left).toMatch(
      /left the job: .*scorer a \(rule live\) is another one/,
    );
    startProcess(right);
    expect(await end(id)).toMatchObject({ status: 'done', report: { scored: TRACES } });
    expect(changed.inputs).toHaveLength(0);
  });

  test('is finished by another process with exact counts, which judges again only what was under way', async () => {
    let isAway = false;
    const failing = async () => {
      throw new StoreUnavailableError('the store is away');
    };
    const { duties } = world.store;
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
    await world.stopRunners();
    expect(job).toMatchObject({
      status: 'done',
      report: { matched: TRACES, scored: TRACES, skipped: {}, remaining: 0 },
    });
    expect([first.inputs.length, second.inputs.length]).toEqual([6, TRACES - 4]);
    const scores = await readScores();
    expect(scores.filter(({ score }) => score === 0.1)).toHaveLength(4);
    expect(scores).toHaveLength(TRACES);
  });

  test('that is cancelled while another process takes it over stays cancelled', async () => {
    let isAway = false;
    const { duties } = world.store;
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
    await world.store.jobs.order(id, 'cancel');
    await until(async () => (await world.store.jobs.find(id))?.finishedAtMs !== null, 30_000);
    wake();
    await world.stopRunners();
    expect(await world.store.jobs.find(id)).toMatchObject({ status: 'cancelled' });
    expect(second.inputs).toHaveLength(0);
    expect((await readScores()).length).toBeLessThanOrEqual(4);
  });
});

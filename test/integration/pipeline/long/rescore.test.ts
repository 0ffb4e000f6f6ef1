import { describe, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../src/domain/errors.ts';
import { openJob } from '../../../../src/jobs/follow-job.ts';
import type { JobRunner } from '../../../../src/jobs/job-runner.ts';
import { createPurgeKey } from '../../../../src/purge/purge-key.ts';
import { rescoreKind } from '../../../../src/jobs/rescore.ts';
import { buildRescoreSpec, RESCORE } from '../../../../src/jobs/stored-job.ts';
import { scoreTraces } from '../../../../src/scoring/score-traces.ts';
import { liveMode } from '../../../../src/scoring/scoring-mode.ts';
import { prepareRule, recordRules } from '../../../../src/scoring/select/rule.ts';
import { NO_SESSION_WAIT } from '../../../../src/scoring/sessions/score-session.ts';
import type { DutyStore } from '../../../../src/store/tables/members.ts';
import { describeJobs } from '../../../support/scoring/job-world.ts';
import { buildRule, judged, type CountingScorer } from '../../../support/scoring/scoring-world.ts';
import { agentRunSpans, store as ingest } from '../../../support/store/stored-agent.ts';
import { newTraceId } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

const TRACES = 12;
const KEY = createPurgeKey('a secret of sixteen characters');

const world = describeJobs();
const { end } = world;

/** Stores traces and scores them live. */
async function scoredTraces(scorer: CountingScorer) {
  await world.empty();
  const rule = prepareRule(buildRule([scorer], { name: 'live', sample: { rate: 0.999, always: [] } }));
  const history = await recordRules(
    world.store.ruleVersions,
    [rule],
    (await world.store.spans.nowMs()) - 60_000,
  );
  const keys = Array.from({ length: TRACES }, () => ({ tenant: '', traceId: newTraceId() }));
  await Promise.all(keys.map(({ traceId }) => ingest(world.store, agentRunSpans(traceId))));
  await until(async () => {
    const outcomes = await scoreTraces(world.createScoring(), keys, liveMode([rule], history));
    return outcomes.every(({ waitUntilMs }) => waitUntilMs === null);
  });
  return { rule, keys };
}

/** Starts a process that runs rescores with this scorer. */
function startProcess(scorer: CountingScorer, duties?: DutyStore): JobRunner {
  const rules = [prepareRule(buildRule([scorer], { name: 'live' }))];
  const kind = rescoreKind({
    scoring: world.createScoring(),
    repairs: world.store.repairs,
    rules,
    sessions: NO_SESSION_WAIT,
    hide: KEY.hide,
    settleMs: 100,
  });
  return world.startRunner(kind, duties);
}

async function open(scorer: CountingScorer, asked: Parameters<typeof buildRescoreSpec>[1]): Promise<string> {
  const rules = [prepareRule(buildRule([scorer], { name: 'live' }))];
  const spec = { ...buildRescoreSpec(rules, asked) };
  return openJob(world.store.jobs, { kind: RESCORE, tenant: '', spec }, KEY.hide);
}

const readRevisions = async () =>
  (await world.store.lists.scores({}, { limit: 100 })).items.map(({ revision }) => revision);

describe('a rescore on the engine', () => {
  test('repairs failed decisions in their place, and nothing else', async () => {
    const scorer = judged('a', () => {
      throw new Error('no number');
    });
    const { keys } = await scoredTraces(scorer);
    const [traceId = ''] = keys.map((key) => key.traceId);
    const read = async () =>
      [...(await world.store.decisions.ofTraces([{ tenant: '', traceId }])).values()].flat();
    const [before] = await read();
    expect(before).toMatchObject({ status: 'failed', weight: expect.closeTo(1 / 0.999) });
    scorer.scores = () => ({ score: 0.5 });
    startProcess(scorer);
    const job = await end(await open(scorer, {}));
    expect(job).toMatchObject({ status: 'done', report: { matched: TRACES, scored: TRACES, remaining: 0 } });
    const [after] = await read();
    expect(after).toMatchObject({
      status: 'scored',
      weight: before?.weight,
      evidenceUntil: before?.evidenceUntil,
    });
    const { items: scores } = await world.store.lists.scores({}, { limit: 100 });
    expect(scores).toHaveLength(TRACES);
    expect(scores[0]).toMatchObject({
      source: 'live',
      stratum: 'uniform',
      weight: before?.weight,
      revision: 1,
    });
    expect((await end(await open(scorer, {}))).report).toMatchObject({ matched: 0, remaining: 0 });
  });

  test('is finished by another process, which judges again only what was under way', async () => {
    const scorer = judged('a');
    await scoredTraces(scorer);
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
    const stalled = Promise.withResolvers<void>();
    const woken = Promise.withResolvers<void>();
    const first = judged('a', async () => {
      if (first.inputs.length > 4) {
        stalled.resolve();
        await woken.promise;
      }
      return { score: 0.1 };
    });
    startProcess(first, lossy);
    const id = await open(first, { scorer: 'a' });
    await stalled.promise;
    // The calls that were answered are stored. Two are under way.
    await until(async () => (await readRevisions()).filter((revision) => revision === 2).length === 4);
    isAway = true;
    const second = judged('a', () => ({ score: 0.9 }));
    startProcess(second);
    const job = await end(id);
    const answered = (await world.store.lists.scores({}, { limit: 100 })).items.filter(
      ({ score }) => score === 0.1,
    ).length;
    woken.resolve();
    await world.stopRunners();
    isAway = false;

    expect(job).toMatchObject({ status: 'done', report: { remaining: 0 } });
    expect(answered).toBe(4);
    expect(second.inputs).toHaveLength(TRACES - answered);
    expect(first.inputs).toHaveLength(6);
    const { items: scores } = await world.store.lists.scores({}, { limit: 100 });
    expect(scores.map(({ revision }) => revision)).toEqual(Array.from({ length: TRACES }, () => 2));
    expect(scores.filter(({ score }) => score === 0.1)).toHaveLength(answered);
  });
});

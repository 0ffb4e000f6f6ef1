import { describe, expect, it } from 'vitest';
import { decisionVersion } from '../../../src/domain/decision.ts';
import { scoreVersion } from '../../../src/domain/score.ts';
import { JudgeError } from '../../../src/judge/judge-error.ts';
import { createPurgeKey } from '../../../src/purge/purge-key.ts';
import { rescoreKind } from '../../../src/jobs/rescore.ts';
import { buildRescoreSpec, RESCORE } from '../../../src/jobs/stored-job.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { prepareRule, type Rule } from '../../../src/scoring/select/rule.ts';
import { NO_SESSION_WAIT } from '../../../src/scoring/sessions/score-session.ts';
import type { JobProgress } from '../../../src/store/contracts/jobs.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import { buildJob, runJob } from '../../support/scoring/backfill-runs.ts';
import {
  agentSpan,
  buildLiveMode,
  buildRule,
  createTestScoring,
  judged,
  newTraceId,
} from '../../support/scoring/scoring-world.ts';

const MINUTE_MS = 60_000;
const HIDE = createPurgeKey('a secret of sixteen characters').hide;
const broken = () => {
  throw new Error('no number');
};

/** Scores traces live, and rescores them as a job that can be killed. */
async function world(...rules: Rule[]) {
  const store = new MemoryStore();
  const scoring = createTestScoring(store, { judgeAttempts: 1 });
  const mode = await buildLiveMode(store, ...rules);
  const traces: string[] = [];
  const say = async (count = 1) => {
    const ids = Array.from({ length: count }, newTraceId);
    traces.push(...ids);
    store.ingest(ids.map((traceId) => agentSpan(traceId, 'a', { says: 'x' })));
    store.clockMs += MINUTE_MS;
    await scoreTraces(
      scoring,
      ids.map((traceId) => ({ tenant: '', traceId })),
      mode,
    );
    store.clockMs += MINUTE_MS;
    return ids;
  };
  type Asked = Parameters<typeof buildRescoreSpec>[1];
  const jobOf = (ofRules: readonly Rule[], asked: Asked, from?: JobProgress) =>
    buildJob(RESCORE, buildRescoreSpec(ofRules.map(prepareRule), asked), from);
  const kindOf = (inForce: readonly Rule[]) =>
    rescoreKind({
      scoring,
      repairs: store.repairs,
      rules: inForce.map(prepareRule),
      sessions: NO_SESSION_WAIT,
      hide: HIDE,
      settleMs: 0,
    });
  const run = async (
    asked: Asked,
    {
      inForce = rules,
      from,
      checks = Infinity,
    }: { inForce?: readonly Rule[]; from?: JobProgress | undefined; checks?: number } = {},
  ) => {
    store.clockMs += MINUTE_MS;
    const { progress, saved, error } = await runJob(kindOf(inForce), jobOf(inForce, asked, from), { checks });
    return { report: progress?.report, saved, error };
  };
  const refuse = (ofRules: readonly Rule[], inForce: readonly Rule[]) =>
    kindOf(inForce).refuse?.(jobOf(ofRules, {}));
  return { store, scoring, mode, say, run, refuse };
}

describe('a rescore of failed decisions', () => {
  it('runs the failed scorer only, and its score counts like its decision', async () => {
    const [bad, good] = [judged('bad', broken), judged('good')];
    const rule = buildRule([bad, good], { sample: { rate: 0.999_999, always: [] } });
    const { store, say, run } = await world(rule);
    await say(2);
    const before = store.decisions().find(({ scorer }) => scorer === 'bad');
    expect(before).toMatchObject({ status: 'failed', stratum: 'uniform' });
    bad.scores = () => ({ score: 0.5 });

    const { report } = await run({});

    expect(report).toMatchObject({ matched: 2, scored: 2, failed: {}, skipped: {}, remaining: 0 });
    expect([bad.inputs.length, good.inputs.length]).toEqual([4, 2]);
    const after = store.decisions().find((row) => row.scorer === 'bad' && row.traceId === before?.traceId);
    expect(after).toMatchObject({
      status: 'scored',
      evidenceUntil: before?.evidenceUntil,
      stratum: 'uniform',
    });
    expect(decisionVersion(after!)).toBeGreaterThan(decisionVersion(before!));
    const scores = store.scores().filter(({ scorer }) => scorer === 'bad');
    expect(scores).toHaveLength(2);
    expect(scores[0]).toMatchObject({
      source: 'live',
      revision: 1,
      stratum: 'uniform',
      weight: before?.weight,
    });
  });

  it('says what it cannot repair, and why', async () => {
    const bad = judged('bad', broken);
    const rule = buildRule([bad]);
    const { store, say, run } = await world(rule, buildRule([bad], { name: 'removed' }));
    const [gone, late] = await say(3);
    store.spanRows.splice(
      0,
      store.spanRows.length,
      ...store.spanRows.filter(({ span }) => span.traceId !== gone),
    );
    store.clockMs += MINUTE_MS - 1;
    store.ingest([agentSpan(late ?? '', 'b', { parent: 'a' })]);
    store.clockMs -= MINUTE_MS - 1;
    const { report } = await run({}, { inForce: [rule] });
    expect(report).toMatchObject({
      matched: 3,
      scored: 0,
      failed: { scorer_failed: 1 },
      skipped: { evidence_gone: 1, rule_removed: 3, arriving: 1 },
      remaining: 0,
    });
  });

  it('repairs what a budget or a reader failed, as a whole rule', async () => {
    const scorer = judged('a');
    const { store, say, run } = await world(buildRule([scorer]));
    const [traceId = ''] = await say();
    const [row] = store.decisions();
    const failed = { ...row!, status: 'failed' as const, attempts: row!.attempts + 1, fingerprint: '' };
    await store.stores.decisions.write([
      { ...failed, scorer: '*', reason: 'reading_failed: a defect' },
      { ...failed, reason: 'budget_exhausted: no money within 3 days' },
    ]);
    store.clockMs += MINUTE_MS;
    expect((await run({})).report).toMatchObject({ matched: 1, remaining: 0, failed: {} });
    const rows = store.decisions().filter((each) => each.traceId === traceId);
    expect(rows.map(({ scorer: name, status }) => `${name} ${status}`).toSorted()).toEqual([
      '* scored',
      'a scored',
    ]);
  });

  it('leaves what the judge cannot answer now to live scoring', async () => {
    const bad = judged('bad', broken);
    const { store, say, run } = await world(buildRule([bad]));
    await say();
    bad.scores = () => {
      throw new JudgeError('judge_unavailable', 'away');
    };
    const { report, error } = await run({});
    expect(error).toBeNull();
    expect(report).toMatchObject({ deferred: { judge_unavailable: 1 }, remaining: 0 });
    expect(store.decisions()).toMatchObject([{ status: 'deferred' }]);
  });
});

describe('a rescore of a scorer', () => {
  it('asks its judge again about the same evidence, and replaces the score in its place', async () => {
    const scorer = judged('a', () => ({ score: 0.2 }));
    const { store, say, run } = await world(buildRule([scorer, judged('other')]));
    await say(2);
    const before = store.scores().filter(({ scorer: name }) => name === 'a');
    scorer.scores = () => ({ score: 0.9 });
    const { report } = await run({ scorer: 'a' });
    expect(report).toMatchObject({ matched: 2, scored: 2, remaining: 0 });
    expect(scorer.inputs).toHaveLength(4);
    const after = store.scores().filter(({ scorer: name }) => name === 'a');
    expect(after.map(({ scoreId }) => scoreId).toSorted()).toEqual(
      before.map(({ scoreId }) => scoreId).toSorted(),
    );
    for (const score of after) {
      const former = before.find(({ scoreId }) => scoreId === score.scoreId)!;
      expect(score).toMatchObject({
        score: 0.9,
        revision: 2,
        source: 'live',
        stratum: former.stratum,
        weight: former.weight,
        day: former.day,
        evidenceUntil: former.evidenceUntil,
      });
      expect(scoreVersion(score)).toBeGreaterThan(scoreVersion(former));
    }
    expect((await run({ scorer: 'a' })).report).toMatchObject({ scored: 2 });
    expect(store.scores().find(({ scorer: name }) => name === 'a')?.revision).toBe(3);
  });

  it('withdraws the score of a former configuration', async () => {
    const [former, present] = [judged('a'), judged('a', () => ({ score: 0.3 }))];
    Object.assign(present, { version: '2' });
    const { store, say, run } = await world(buildRule([former]));
    await say();
    const [old] = store.scores();
    await run({ scorer: 'a' }, { inForce: [buildRule([present])] });
    expect(store.scores()).toMatchObject([
      { score: 0.3, scorerVersion: '2', source: 'live', stratum: 'uniform', revision: 1 },
    ]);
    expect(store.scores()[0]?.scoreId).not.toBe(old?.scoreId);
    expect(store.decisions()).toMatchObject([
      { status: 'scored', fingerprint: store.scores()[0]?.fingerprint },
    ]);
  });

  it('keeps the score and its decision when the scorer fails', async () => {
    const scorer = judged('a');
    const { store, say, run } = await world(buildRule([scorer]));
    await say();
    const [before] = store.decisions();
    scorer.scores = broken;
    expect((await run({ scorer: 'a' })).report).toMatchObject({
      scored: 0,
      failed: { scorer_failed: 1 },
      remaining: 0,
    });
    expect(store.decisions()).toEqual([before]);
    expect(store.scores()).toHaveLength(1);
  });

  it('waits while the judge is away, and asks about no trace twice', async () => {
    const scorer = judged('a');
    const { store, say, run } = await world(buildRule([scorer]));
    await say(3);
    let answers = 2;
    scorer.scores = () => {
      if (answers === 0) {
        throw new JudgeError('judge_unavailable', 'away');
      }
      answers -= 1;
      return { score: 0.7 };
    };
    const first = await run({ scorer: 'a' });
    expect(first.error).toMatchObject({ retryable: true });
    expect(first.report).toMatchObject({ scored: 2, remaining: 1 });
    answers = Infinity;
    const second = await run({ scorer: 'a' }, { from: first.saved });
    expect(second.report).toMatchObject({ scored: 3, uncounted: 0, remaining: 0 });
    expect(store.scores().map(({ score }) => score)).toEqual([0.7, 0.7, 0.7]);
    expect(scorer.inputs).toHaveLength(3 + 3 + 1);
  });

  it('continues after a kill, also between a score and its decision', async () => {
    const scorer = judged('a');
    const { store, say, run } = await world(buildRule([scorer]));
    await say(2);
    scorer.scores = () => ({ score: 0.6 });
    store.failing = (what) => what === 'decisions';
    const first = await run({ scorer: 'a' });
    expect(first.error).toMatchObject({ code: 'store_unavailable' });
    store.failing = () => false;
    await say();
    expect(scorer.inputs).toHaveLength(2 + 2 + 1);
    // Live scoring reads the traces again after a restart, and writes their decisions anew.
    await store.stores.decisions.write(
      store.decisions().map((row) => ({ ...row, attempts: row.attempts + 1, decidedAt: store.clockMs })),
    );
    const second = await run({ scorer: 'a' }, { from: first.saved });
    // The third trace was scored after the begin.
    expect(second.report).toMatchObject({ matched: 3, scored: 3, remaining: 0 });
    expect(scorer.inputs).toHaveLength(5);
    expect(store.scores().map(({ revision }) => revision)).toEqual([2, 2, 1]);
    expect(store.decisions().map(({ status }) => status)).toEqual(['scored', 'scored', 'scored']);
  });

  it('writes nothing after its lease is lost', async () => {
    const scorer = judged('a');
    const { store, say, run } = await world(buildRule([scorer]));
    await say();
    const written = [store.scoreLog.length, store.decisionLog.length];
    const { error } = await run({ scorer: 'a' }, { checks: 2 });
    expect(error).toMatchObject({ code: 'cancelled' });
    expect([store.scoreLog.length, store.decisionLog.length]).toEqual(written);
  });

  it('lets newer evidence win, whichever process writes last', async () => {
    const scorer = judged('a');
    const { store, scoring, mode, say, run } = await world(buildRule([scorer]));
    const [traceId = ''] = await say();
    scorer.scores = async () => {
      scorer.scores = () => ({ score: 0.9 });
      store.ingest([agentSpan(traceId, 'b', { parent: 'a', tool: { name: 't', result: 'late' } })]);
      store.clockMs += MINUTE_MS;
      await scoreTraces(scoring, [{ tenant: '', traceId }], mode);
      return { score: 0.1 };
    };
    await run({ scorer: 'a' });
    expect(store.scores()).toMatchObject([{ score: 0.9 }]);
    expect(store.decisions()).toMatchObject([
      { status: 'scored', evidenceHash: store.scores()[0]?.evidenceHash },
    ]);
  });
});

it('a process with another configuration leaves the job', async () => {
  const rule = buildRule([judged('a')]);
  const { refuse } = await world(rule);
  expect(refuse([rule], [rule])).toBeUndefined();
  expect(refuse([rule], [])).toBe('its configuration has no scorer a in the rule r');
  const other = judged('a');
  Object.assign(other, { version: '2' });
  expect(refuse([rule], [buildRule([other])])).toMatch(/scorer a \(rule r\) is another one/);
});

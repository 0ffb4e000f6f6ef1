import { describe, expect, it } from 'vitest';
import { JudgeError } from '../../../../src/judge/judge-error.ts';
import { createLoopWorld, listStatuses, type LoopWorld } from '../../../support/scoring/loop-world.ts';
import {
  agentSpan,
  buildRule,
  CountingScorer,
  judged,
  newTraceId,
} from '../../../support/scoring/scoring-world.ts';

const HOUR_MS = 3_600_000;

/** A scorer with another judge: the same name, another fingerprint. */
const rejudged = (id: string, scores?: ConstructorParameters<typeof CountingScorer>[1]) =>
  new CountingScorer(id, scores, 'test/other-judge');

const unavailable = () => {
  throw new JudgeError('judge_unavailable', 'gone');
};

function ingestTraces({ store }: LoopWorld, count: number): string[] {
  const ids = Array.from({ length: count }, newTraceId);
  ids.forEach((traceId) => store.ingest([agentSpan(traceId, 'a', { says: 'x' })]));
  return ids;
}

describe('a changed judge over a restart', () => {
  it.each([
    ['judge', judged('j'), rejudged('j')],
    ['scorer by code', judged('j'), new CountingScorer('j')],
  ])('does not score the same evidence again with another %s', async (_, former, changed) => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    const first = await start([buildRule([former])]);
    await timers.advance(1_000);
    ingestTraces(world, 10);
    await timers.advance(10_000);
    await first.stop();
    const second = await start([buildRule([changed])]);
    await timers.advance(60_000);

    expect(store.reads.length).toBeGreaterThan(1);
    expect(changed.inputs).toEqual([]);
    expect(store.scores()).toHaveLength(10);
    const fingerprints = new Set(store.scores().map(({ fingerprint }) => fingerprint));
    expect(fingerprints.size).toBe(1);
    expect(new Set(store.decisions().map(({ fingerprint }) => fingerprint))).toEqual(fingerprints);
    await second.stop();
  });

  it('judges changed evidence with the new judge and withdraws the former score', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    const first = await start([buildRule([judged('j')])]);
    await timers.advance(1_000);
    const [traceId] = ingestTraces(world, 1);
    await timers.advance(10_000);
    await first.stop();
    const second = await start([buildRule([rejudged('j', () => ({ score: 0.5 }))])]);
    store.ingest([agentSpan(traceId!, 'b', { parent: 'a', tool: { name: 't', result: 'rain' } })]);
    await timers.advance(60_000);

    expect(store.scores()).toMatchObject([{ score: 0.5, revision: 2, judgeModel: '' }]);
    expect(store.decisions()).toMatchObject([{ fingerprint: store.scores()[0]!.fingerprint }]);
    await second.stop();
  });

  it('does not judge what another process has judged with the former judge meanwhile', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    const answers: (() => void)[] = [];
    const slow = () => new Promise<{ score: number }>((resolve) => answers.push(() => resolve({ score: 1 })));
    const one = await start([buildRule([judged('gate', slow), judged('j', slow)])]);
    await timers.advance(1_000);
    ingestTraces(world, 1);
    await timers.advance(8_000);
    const changed = rejudged('j');
    const two = await start([buildRule([judged('gate', slow), changed])], {
      scoring: { judgeConcurrency: 1 },
    });
    await timers.advance(2_000);
    expect(answers).toHaveLength(3);
    for (const answer of answers) {
      answer();
      await timers.advance(2_000);
    }

    expect(changed.inputs).toEqual([]);
    expect(store.scores().map(({ scorer }) => scorer)).toEqual(['gate', 'j']);
    await Promise.all([one.stop(), two.stop()]);
  });
});

describe('two processes with different rules', () => {
  it('leave no trace undecided when one of them has a scorer more', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    const old = await start([buildRule([new CountingScorer('a')])], { member: 'old' });
    await timers.advance(1_000);
    const added = new CountingScorer('b');
    const next = await start([buildRule([new CountingScorer('a'), added])], { member: 'new' });
    await timers.advance(1_000);
    const ids = ingestTraces(world, 40);
    await timers.advance(60_000);

    expect(ids.filter((id) => listStatuses(store, id).join() !== 'a scored,b scored')).toEqual([]);
    expect(added.inputs).toHaveLength(40);
    await Promise.all([old.stop(), next.stop()]);
  });

  it('find by the sweep the scorer that was missing when the rest was decided', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    const rule = buildRule([new CountingScorer('a'), new CountingScorer('b')]);
    const whole = await start([rule]);
    await timers.advance(1_000);
    await whole.stop();
    const part = await start([buildRule([new CountingScorer('a')])]);
    await timers.advance(1_000);
    const [traceId] = ingestTraces(world, 1);
    await timers.advance(10_000);
    expect(listStatuses(store, traceId!)).toEqual(['a scored']);
    await part.stop();
    store.clockMs += HOUR_MS;
    const again = await start([rule]);
    await timers.advance(3_000);

    expect(listStatuses(store, traceId!)).toEqual(['a scored', 'b scored']);
    await again.stop();
  });

  it('leave to each other the scorers that only the other has', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    const [a, b] = [new CountingScorer('a'), new CountingScorer('b')];
    const one = await start([buildRule([a], { name: 'one' })], { member: 'one' });
    const two = await start([buildRule([b], { name: 'two' })], { member: 'two' });
    await timers.advance(1_000);
    ingestTraces(world, 30);
    await timers.advance(60_000);

    expect([a.inputs.length, b.inputs.length]).toEqual([30, 30]);
    expect(store.decisions()).toHaveLength(60);
    await Promise.all([one.stop(), two.stop()]);
  });

  it('leave nothing open when one ends while the other runs its own scorer on the trace', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    const answers: (() => void)[] = [];
    const slow = () => new Promise<{ score: number }>((resolve) => answers.push(() => resolve({ score: 1 })));
    const hanging = new CountingScorer('a', () => new Promise(() => undefined));
    const one = await start([buildRule([hanging])], { member: 'one' });
    await timers.advance(1_000);
    const both = [new CountingScorer('a'), judged('j', slow)];
    const two = await start([buildRule(both)], { member: 'two' });
    await timers.advance(8_000);
    const ids = ingestTraces(world, 20);
    await timers.advance(8_000);
    expect(hanging.inputs.length).toBeGreaterThan(3);
    const stopping = one.stop();
    await timers.advance(20_000);
    await stopping;
    answers.splice(0).forEach((answer) => answer());
    await timers.advance(40_000);
    answers.splice(0).forEach((answer) => answer());
    await timers.advance(10_000);

    expect(ids.filter((id) => listStatuses(store, id).join() !== 'a scored,j scored')).toEqual([]);
    await two.stop();
  });

  it('judge each trace once while a process joins a busy one', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    const answers: (() => void)[] = [];
    const slow = () => judged('j', () => new Promise((resolve) => answers.push(() => resolve({ score: 1 }))));
    const [before, after] = [slow(), slow()];
    const one = await start([buildRule([before])], { member: 'one' });
    await timers.advance(1_000);
    ingestTraces(world, 12);
    await timers.advance(8_000);
    expect(before.inputs).toHaveLength(12);
    const two = await start([buildRule([after])], { member: 'two' });
    await timers.advance(5_000);
    answers.splice(0).forEach((answer) => answer());
    await timers.advance(60_000);

    expect(store.scores()).toHaveLength(12);
    expect(after.inputs).toEqual([]);
    await Promise.all([one.stop(), two.stop()]);
  });
});

describe('a deferred decision', () => {
  async function deferOne(world: LoopWorld, rules = [buildRule([judged('j', unavailable)])]) {
    const loop = await world.start(rules);
    await world.timers.advance(1_000);
    const [traceId] = ingestTraces(world, 1);
    await world.timers.advance(7_000);
    expect(listStatuses(world.store, traceId!)).toContain('j deferred');
    const stopping = loop.stop();
    await world.timers.advance(1_000);
    await stopping;
    return traceId!;
  }

  it('is tried at its time however old its trace is', async () => {
    const world = createLoopWorld();
    const traceId = await deferOne(world);
    world.store.clockMs += 72 * HOUR_MS;
    const loop = await world.start([buildRule([judged('j')])]);
    await world.timers.advance(3_000);

    expect(listStatuses(world.store, traceId)).toEqual(['j scored']);
    await loop.stop();
  });

  it('that is due a minute after a restart is tried then', async () => {
    const world = createLoopWorld();
    const traceId = await deferOne(world);
    world.store.clockMs += HOUR_MS;
    const [row] = world.store.decisions();
    await world.store.stores.decisions.write([
      { ...row!, attempts: row!.attempts + 1, nextAttemptAt: world.store.clockMs + 60_000 },
    ]);
    const scorer = judged('j');
    const loop = await world.start([buildRule([scorer])]);
    await world.timers.advance(55_000);
    expect(listStatuses(world.store, traceId)).toEqual(['j deferred']);
    await world.timers.advance(10_000);

    expect(listStatuses(world.store, traceId)).toEqual(['j scored']);
    await loop.stop();
  });

  it('that another process deferred again is tried at its new time', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    const loop = await start([buildRule([judged('j', unavailable)])]);
    await timers.advance(1_000);
    const [traceId] = ingestTraces(world, 1);
    await timers.advance(8_000);
    const [row] = store.decisions();
    await store.stores.decisions.write([
      { ...row!, attempts: row!.attempts + 1, nextAttemptAt: row!.nextAttemptAt! + 20_000 },
    ]);
    await timers.advance(15_000);
    expect(store.decisions()[0]?.attempts).toBe(row!.attempts + 1);
    await timers.advance(20_000);

    expect(store.decisions()).toMatchObject([{ traceId, attempts: row!.attempts + 2 }]);
    await loop.stop();
  });

  it('that a former owner writes during the handover is tried by the new owner', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    const failures: (() => void)[] = [];
    const slow = judged(
      'j',
      () => new Promise((_, fail) => failures.push(() => fail(new JudgeError('judge_unavailable', 'gone')))),
    );
    const one = await start([buildRule([slow])], { member: 'one' });
    await timers.advance(1_000);
    const ids = ingestTraces(world, 12);
    await timers.advance(8_000);
    expect(slow.inputs).toHaveLength(12);
    slow.scores = () => ({ score: 1 });
    const two = await start([buildRule([judged('j')])], { member: 'two' });
    await timers.advance(5_000);
    failures.forEach((fail) => fail());
    await timers.advance(60_000);

    expect(ids.filter((id) => listStatuses(store, id).join() !== 'j scored')).toEqual([]);
    await Promise.all([one.stop(), two.stop()]);
  });

  it('is tried at its time beside another of the same trace that is due earlier', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    let failures = 0;
    const failing = (retryAfterMs: number) => () => {
      failures += 1;
      if (failures > 2) {
        return { score: 1 };
      }
      throw new JudgeError('judge_rate_limited', 'later', { retryAfterMs });
    };
    const rules = [buildRule([judged('j', failing(20_000)), judged('k', failing(60_000))])];
    const loop = await start(rules);
    await timers.advance(1_000);
    const [traceId] = ingestTraces(world, 1);
    await timers.advance(30_000);
    expect(listStatuses(store, traceId!)).toEqual(['j scored', 'k deferred']);
    await timers.advance(45_000);

    expect(listStatuses(store, traceId!)).toEqual(['j scored', 'k scored']);
    await loop.stop();
  });

  it('of a removed rule or scorer becomes filtered, with the reason', async () => {
    const world = createLoopWorld();
    const rules = [
      buildRule([judged('j', unavailable)]),
      buildRule([judged('k', unavailable), new CountingScorer('a')], { name: 'other' }),
    ];
    const traceId = await deferOne(world, rules);
    world.store.clockMs += HOUR_MS;
    const loop = await world.start([buildRule([new CountingScorer('a')], { name: 'other' })]);
    await world.timers.advance(3_000);

    expect(listStatuses(world.store, traceId)).toEqual(['a scored', 'j filtered', 'k filtered']);
    const reasons = world.store
      .decisions()
      .flatMap(({ status, reason }) => (status === 'filtered' ? reason : []));
    expect(reasons.map((reason) => reason.split(':')[0])).toEqual(['rule_removed', 'rule_removed']);
    await loop.stop();
  });

  it('of a rule that only an ended process had becomes filtered a minute or two later', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    const former = await start([buildRule([judged('j', unavailable)])], { member: 'former' });
    await timers.advance(1_000);
    const [traceId] = ingestTraces(world, 1);
    await timers.advance(7_000);
    const stopping = former.stop();
    await timers.advance(1_000);
    await stopping;
    const next = await start([buildRule([new CountingScorer('a')], { name: 'other' })], { member: 'next' });
    await timers.advance(30_000);
    expect(listStatuses(store, traceId!)).toEqual(['j deferred']);
    await timers.advance(100_000);

    expect(listStatuses(store, traceId!)).toContain('j filtered');
    await next.stop();
  });

  it('of a scorer that another process has stays deferred for it', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    const keeper = await start([buildRule([judged('j', unavailable)])], { member: 'keeper' });
    await timers.advance(1_000);
    const [traceId] = ingestTraces(world, 1);
    await timers.advance(7_000);
    const other = await start([buildRule([new CountingScorer('a')], { name: 'other' })], { member: 'other' });
    await timers.advance(120_000);

    expect(listStatuses(store, traceId!)).toContain('j deferred');
    await Promise.all([keeper.stop(), other.stop()]);
  });
});

describe('a store whose clock was ahead and went back', () => {
  it('scores the traces of before and after it, although rules and arrivals lie ahead', async () => {
    const world = createLoopWorld();
    const { store, timers, start } = world;
    store.skewMs = 2 * HOUR_MS;
    const loop = await start([buildRule([new CountingScorer('a')])], { member: 'one' });
    await timers.advance(2_000);
    const before = ingestTraces(world, 1);
    await timers.advance(1_000);
    store.skewMs = 0;
    await timers.advance(20_000);
    const after = ingestTraces(world, 1);
    await timers.advance(20_000);

    expect([...before, ...after].map((id) => listStatuses(store, id))).toEqual([['a scored'], ['a scored']]);
    await loop.stop();
  });
});

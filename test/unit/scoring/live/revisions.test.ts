import { describe, expect, it } from 'vitest';
import type { Rule } from '../../../../src/scoring/select/rule.ts';
import { createLoopWorld, listStatuses } from '../../../support/scoring/loop-world.ts';
import {
  agentSpan,
  buildRule,
  CountingScorer,
  createTestScoring,
  judged,
  newTraceId,
} from '../../../support/scoring/scoring-world.ts';

/** Starts a loop by some rules, and a time by which it has found nothing. */
async function startRevised(first: readonly Rule[]) {
  const { store, timers, start } = createLoopWorld();
  const loop = await start(first);
  await timers.advance(1_000);
  const retired: number[] = [];
  return {
    store,
    timers,
    loop,
    retired,
    ingest(): string {
      const traceId = newTraceId();
      store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
      return traceId;
    },
    async revise(rules: readonly Rule[]): Promise<void> {
      const count = retired.length;
      await loop.revise(createTestScoring(store, {}), rules, () => void retired.push(count));
    },
    statuses: (traceId: string) => listStatuses(store, traceId),
  };
}

/** Creates three scorers, named a, b and c. */
function createScorers() {
  return [new CountingScorer('a'), new CountingScorer('b'), new CountingScorer('c')] as const;
}

describe('a change of the rules of live scoring', () => {
  it('leaves traces that have arrived to the former rules, and is in force for the next ones', async () => {
    const [a, b, c] = createScorers();
    const world = await startRevised([buildRule([a, b])]);
    const early = world.ingest();
    await world.timers.advance(10);
    await world.revise([buildRule([a, c])]);
    await world.timers.advance(10);
    const late = world.ingest();
    await world.timers.advance(20_000);
    expect(world.statuses(early)).toEqual(['a scored', 'b scored']);
    expect(world.statuses(late)).toEqual(['a scored', 'c scored']);
    expect([a, b, c].map(({ inputs }) => inputs.length)).toEqual([2, 1, 1]);
    expect(world.retired).toHaveLength(1);
    await world.loop.stop();
  });

  it('scores nothing again when the former rules come back', async () => {
    const [a, b, c] = createScorers();
    const world = await startRevised([buildRule([a, b])]);
    await world.revise([buildRule([a, c])]);
    await world.timers.advance(10);
    const between = world.ingest();
    await world.timers.advance(20_000);
    await world.revise([buildRule([a, b])]);
    await world.timers.advance(700_000);
    expect(world.statuses(between)).toEqual(['a scored', 'c scored']);
    await world.loop.stop();
  });

  it('is in force from now on, also where the rules were in force before the process started', async () => {
    const [a, b, c] = createScorers();
    const { store, timers, start } = createLoopWorld();
    const past = await start([buildRule([a, c])]);
    await past.stop();
    await timers.advance(60_000);
    const loop = await start([buildRule([a, b])]);
    await timers.advance(60_000);
    const early = newTraceId();
    store.ingest([agentSpan(early, 'a', { says: 'x' })]);
    await timers.advance(1_000);
    await loop.revise(createTestScoring(store, {}), [buildRule([a, c])], () => undefined);
    await timers.advance(700_000, 5_000);
    expect(listStatuses(store, early)).toEqual(['a scored', 'b scored']);
    await loop.stop();
  });

  it('lets a run under way end under its rules, and retires them after it', async () => {
    const { promise, resolve } = Promise.withResolvers<{ score: number }>();
    const slow = judged('slow', () => promise);
    const world = await startRevised([buildRule([slow])]);
    const early = world.ingest();
    await world.timers.advance(8_000);
    await world.revise([]);
    await world.timers.advance(8_000);
    expect(world.retired).toHaveLength(0);
    resolve({ score: 1 });
    await world.timers.advance(40_000);
    expect(world.statuses(early)).toEqual(['slow scored']);
    expect(world.retired).toHaveLength(1);
    await world.loop.stop();
  });

  it('ends when there were no rules', async () => {
    const world = await startRevised([]);
    await world.revise([]);
    await world.timers.advance(15_000);
    expect(world.retired).toHaveLength(1);
    await world.loop.stop();
  });

  it('leaves a backlog to its rules, however long it lasts', async () => {
    const answers: (() => void)[] = [];
    const slow = judged(
      'slow',
      () => new Promise<{ score: number }>((resolve) => answers.push(() => resolve({ score: 1 }))),
    );
    const world = await startRevised([buildRule([slow])]);
    const early = Array.from({ length: 60 }, () => world.ingest());
    await world.timers.advance(8_000);
    await world.revise([buildRule([new CountingScorer('a')])]);
    await world.timers.advance(900_000, 5_000);
    expect(answers.length).toBeLessThan(60);
    for (let round = 0; round < 60; round += 1) {
      answers.splice(0).forEach((answer) => answer());
      await world.timers.advance(2_000);
    }
    expect(early.map((id) => world.statuses(id).join())).toEqual(early.map(() => 'slow scored'));
    await world.loop.stop();
  });

  it('decides a trace that comes while the store takes the rules by one revision', async () => {
    const [a, b, c] = createScorers();
    const world = await startRevised([buildRule([a, b])]);
    const { ruleVersions } = world.store.stores;
    const { record } = ruleVersions;
    const taken = Promise.withResolvers<void>();
    ruleVersions.record = async (version) => {
      await taken.promise;
      return record(version);
    };
    const revising = world.revise([buildRule([a, c])]);
    await world.timers.advance(10);
    const between = world.ingest();
    await world.timers.advance(20_000);
    taken.resolve();
    await revising;
    await world.timers.advance(700_000);
    expect(world.statuses(between)).toEqual(['a scored', 'c scored']);
    await world.loop.stop();
  });

  it('decides by the next rules what comes after the store’s clock went back, while a former run is under way', async () => {
    const [a, b, c] = createScorers();
    const { promise, resolve } = Promise.withResolvers<{ score: number }>();
    const world = await startRevised([buildRule([a, b])]);
    world.store.skewMs = 7_200_000;
    b.scores = () => promise;
    world.ingest();
    await world.timers.advance(10_000);
    await world.revise([buildRule([a, c])]);
    await world.timers.advance(5_000);
    world.store.skewMs = 0;
    await world.timers.advance(10_000);
    const late = world.ingest();
    await world.timers.advance(20_000);
    resolve({ score: 1 });
    await world.timers.advance(700_000, 10_000);
    expect(world.statuses(late)).toEqual(['a scored', 'c scored']);
    await world.loop.stop();
  });

  it('leaves the traces of a process that ends to the former rules of the others', async () => {
    const { store, timers, start } = createLoopWorld();
    const hanging = new CountingScorer('b', () => new Promise(() => undefined));
    const one = await start([buildRule([new CountingScorer('a'), hanging])], { member: 'one' });
    const two = await start([buildRule([new CountingScorer('a'), new CountingScorer('b')])], {
      member: 'two',
    });
    await timers.advance(40_000);
    const ids = Array.from({ length: 40 }, () => newTraceId());
    store.ingest(ids.map((traceId) => agentSpan(traceId, 'a', { says: 'x' })));
    await timers.advance(7_000);
    expect(hanging.inputs.length).toBeGreaterThan(3);
    const next = [buildRule([new CountingScorer('a'), new CountingScorer('c')])];
    await two.revise(createTestScoring(store, {}), next, () => undefined);
    const stopping = one.stop();
    await timers.advance(20_000);
    await stopping;
    await timers.advance(700_000, 5_000);
    expect(ids.filter((id) => listStatuses(store, id).join() !== 'a scored,b scored')).toEqual([]);
    await two.stop();
  });

  it.each([
    ['decides by new rules what comes', [['a', 'c']], ['a scored,c scored']],
    [
      'leaves nothing undecided that comes, when the former rules come back,',
      [
        ['a', 'c'],
        ['a', 'b'],
      ],
      ['a scored,b scored', 'a scored,c scored', 'a scored,b scored,c scored'],
    ],
  ])('%s between the changes of two processes', async (_name, changes, allowed) => {
    const { store, timers, start } = createLoopWorld();
    const rulesOf = (names: readonly string[]) => [buildRule(names.map((name) => new CountingScorer(name)))];
    const loops = [
      await start(rulesOf(['a', 'b']), { member: 'one' }),
      await start(rulesOf(['a', 'b']), { member: 'two' }),
    ];
    await timers.advance(40_000);
    const ids: string[] = [];
    for (const names of changes) {
      for (const loop of loops) {
        await loop.revise(createTestScoring(store, {}), rulesOf(names), () => undefined);
        for (let second = 0; second < 4; second += 1) {
          await timers.advance(1_000);
          const come = Array.from({ length: 10 }, () => newTraceId());
          store.ingest(come.map((traceId) => agentSpan(traceId, 'a', { says: 'x' })));
          ids.push(...come);
        }
      }
    }
    await timers.advance(700_000, 5_000);
    expect(ids.filter((id) => !allowed.includes(listStatuses(store, id).join()))).toEqual([]);
    await Promise.all(loops.map((loop) => loop.stop()));
  });

  it('changes nothing when the store does not take the rules', async () => {
    const world = await startRevised([buildRule([new CountingScorer('a')])]);
    const { record } = world.store.stores.ruleVersions;
    world.store.stores.ruleVersions.record = () => Promise.reject(new Error('away'));
    await expect(world.revise([buildRule([new CountingScorer('b')])])).rejects.toThrow('away');
    world.store.stores.ruleVersions.record = record;
    const trace = world.ingest();
    await world.timers.advance(20_000);
    expect(world.statuses(trace)).toEqual(['a scored']);
    await world.loop.stop();
  });
});

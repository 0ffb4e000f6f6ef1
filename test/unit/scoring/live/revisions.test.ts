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
    await world.timers.advance(8_000);
    expect(world.statuses(early)).toEqual(['slow scored']);
    expect(world.retired).toHaveLength(1);
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

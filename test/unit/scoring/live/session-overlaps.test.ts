import { describe, expect, it } from 'vitest';
import { JudgeError } from '../../../../src/judge/judge-error.ts';
import { createScorerOwnership, ScoringLoop } from '../../../../src/scoring/live/scoring-loop.ts';
import type { Rule } from '../../../../src/scoring/select/rule.ts';
import { SessionLoop } from '../../../../src/scoring/sessions/session-loop.ts';
import { createLoopWorld, type LoopWorld } from '../../../support/scoring/loop-world.ts';
import {
  agentSpan,
  buildRule,
  CountingScorer,
  createTestScoring,
  newTraceId,
} from '../../../support/scoring/scoring-world.ts';

const HOUR_MS = 3_600_000;
const SETTINGS = { idleMs: 10_000, maxAgeMs: HOUR_MS, rescores: 24 };

/** Starts both loops by some rules on sessions. With `member` they share the sessions with other members. */
async function startWorld(
  rules: readonly Rule[],
  { world = createLoopWorld(), member }: { world?: LoopWorld; member?: string } = {},
) {
  const { store, timers, start } = world;
  const members = member === undefined ? undefined : store.members;
  const scoring = createTestScoring(store);
  const ownership = createScorerOwnership(members, rules, {
    member: member ?? '',
    monotonicMs: () => store.clockMs,
  });
  const loop = new ScoringLoop(scoring, { rules, timers, ownership });
  await loop.start();
  const sessions = new SessionLoop(scoring, { rules, timers, ownership, settings: SETTINGS });
  await timers.advance(2_000);
  return {
    store,
    timers,
    start,
    /** Stores a turn of a session. */
    say(session: string): void {
      store.ingest([agentSpan(newTraceId(), 'a', { says: newTraceId(), attributes: { session } })]);
    },
    revise(next: readonly Rule[]): Promise<unknown> {
      const revised = { ...scoring };
      const begun = loop.revise(revised, next, () => undefined);
      return sessions.revise(revised, next, begun);
    },
    whenIdle: () => sessions.whenIdle(),
    rows: (session: string) =>
      store
        .decisions()
        .filter(({ targetId }) => targetId === session)
        .map(({ scorer, status }) => `${scorer} ${status}`)
        .sort(),
    stop: () => loop.stop(sessions.stop()),
  };
}

const onSessions = (...scorers: CountingScorer[]) => [buildRule(scorers, { target: 'session' })];

const createScorers = () =>
  [new CountingScorer('a'), new CountingScorer('b'), new CountingScorer('c')] as const;

describe('a change of the rules on sessions', () => {
  it('decides a session by one revision whose turn another process reads while the store takes the rules', async () => {
    const [a, b, c] = createScorers();
    const world = await startWorld(onSessions(a, b));
    const other = await world.start(onSessions(a, b));
    const { ruleVersions } = world.store.stores;
    const { record } = ruleVersions;
    const taken = Promise.withResolvers<void>();
    ruleVersions.record = async (version) => {
      await taken.promise;
      return record(version);
    };
    const revising = world.revise(onSessions(a, c));
    await world.timers.advance(10);
    world.say('s');
    await world.timers.advance(30_000);
    taken.resolve();
    await revising;
    await world.timers.advance(60_000);
    expect(world.rows('s')).toEqual(['a scored', 'c scored']);
    await Promise.all([world.stop(), other.stop()]);
  });

  it('leaves a new turn of a session to the next rules that waited for its place under the former ones', async () => {
    const [, b, c] = createScorers();
    const { promise, resolve } = Promise.withResolvers<{ score: number }>();
    const slow = new CountingScorer('a', () => promise);
    const world = await startWorld(onSessions(slow, b));
    for (let n = 1; n <= 9; n += 1) {
      world.say(`s${n}`);
      await world.timers.advance(1_000);
    }
    await world.timers.advance(20_000);
    expect(b.inputs).toHaveLength(8);
    await world.revise(onSessions(slow, c));
    await world.timers.advance(1_000);
    world.say('s9');
    await world.timers.advance(20_000);
    resolve({ score: 1 });
    await world.timers.advance(60_000);
    expect(world.rows('s8')).toEqual(['a scored', 'b scored']);
    expect(world.rows('s9')).toEqual(['a scored', 'c scored']);
    await world.stop();
  });

  it('ends when the sessions under way have ended, although further ones follow', async () => {
    const { promise, resolve } = Promise.withResolvers<{ score: number }>();
    const former = new CountingScorer('a', () => promise);
    const next = new CountingScorer('b', () => new Promise(() => undefined));
    const world = await startWorld(onSessions(former));
    world.say('s1');
    await world.timers.advance(15_000);
    await world.revise(onSessions(next));
    let isIdle = false;
    void world.whenIdle().then(() => (isIdle = true));
    world.say('s2');
    await world.timers.advance(15_000);
    expect([former.inputs.length, next.inputs.length, isIdle]).toEqual([1, 1, false]);
    resolve({ score: 1 });
    await world.timers.advance(1_000);
    expect(isIdle).toBe(true);
    const stopping = world.stop();
    await world.timers.advance(20_000);
    await stopping;
  });
});

describe('two processes', () => {
  /** Starts scorers whose answers the test gives. */
  function createSlow() {
    const answers: (() => void)[] = [];
    const slow = () =>
      new CountingScorer('a', () => new Promise((resolve) => answers.push(() => resolve({ score: 1 }))));
    return { one: slow(), two: slow(), answer: () => answers.splice(0).forEach((each) => each()) };
  }

  it('judge each session once while one of them stops', async () => {
    const scorers = createSlow();
    const world = createLoopWorld();
    const one = await startWorld(onSessions(scorers.one), { world, member: 'one' });
    const two = await startWorld(onSessions(scorers.two), { world, member: 'two' });
    await world.timers.advance(60_000);
    for (let n = 1; n <= 8; n += 1) {
      one.say(`s${n}`);
    }
    await world.timers.advance(20_000);
    expect(scorers.one.inputs.length).toBeGreaterThan(0);
    const stopping = one.stop();
    await world.timers.advance(6_000);
    scorers.answer();
    await world.timers.advance(60_000);
    await stopping;
    expect(scorers.one.inputs.length + scorers.two.inputs.length).toBe(8);
    expect(world.store.decisions().filter(({ status }) => status === 'scored')).toHaveLength(8);
    await two.stop();
  });

  it('judge each session once while one of them joins', async () => {
    const scorers = createSlow();
    const world = createLoopWorld();
    const one = await startWorld(onSessions(scorers.one), { world, member: 'one' });
    for (let n = 1; n <= 8; n += 1) {
      one.say(`s${n}`);
    }
    await world.timers.advance(20_000);
    expect(scorers.one.inputs).toHaveLength(8);
    const two = await startWorld(onSessions(scorers.two), { world, member: 'two' });
    await world.timers.advance(12_000);
    scorers.answer();
    await world.timers.advance(60_000);
    expect(scorers.two.inputs).toEqual([]);
    expect(world.store.decisions().filter(({ status }) => status === 'scored')).toHaveLength(8);
    await Promise.all([one.stop(), two.stop()]);
  });

  it('score soon after a restart beside the other what became ready meanwhile', async () => {
    const [a, b] = createScorers();
    const world = createLoopWorld();
    const other = await startWorld([buildRule([b], { name: 'other' })], { world, member: 'other' });
    const first = await startWorld(onSessions(a), { world, member: 'first' });
    await world.timers.advance(60_000);
    first.say('s');
    await world.timers.advance(8_000);
    const stopping = first.stop();
    await world.timers.advance(300_000);
    await stopping;
    const again = await startWorld(onSessions(a), { world, member: 'again' });
    await world.timers.advance(60_000);
    expect(again.rows('s')).toEqual(['a scored']);
    await Promise.all([other.stop(), again.stop()]);
  });
});

describe('a store whose clock was ahead and went back', () => {
  it('scores the sessions of before, although their turns lie ahead', async () => {
    const [a] = createScorers();
    const world = await startWorld(onSessions(a));
    world.store.skewMs = 2 * HOUR_MS;
    await world.timers.advance(20_000);
    world.say('s');
    await world.timers.advance(8_000);
    world.store.skewMs = 0;
    await world.timers.advance(60_000);
    expect(world.rows('s')).toEqual(['a scored']);
    await world.stop();
  });

  it('scores the sessions after it by the present rules, also when a reload lies ahead', async () => {
    const [a, b, c] = createScorers();
    const world = await startWorld(onSessions(a, b));
    world.store.skewMs = 2 * HOUR_MS;
    await world.timers.advance(20_000);
    await world.revise(onSessions(a, c));
    await world.timers.advance(20_000);
    world.store.skewMs = 0;
    await world.timers.advance(20_000);
    world.say('s');
    await world.timers.advance(900_000, 5_000);
    expect(world.rows('s')).toEqual(['a scored', 'c scored']);
    await world.stop();
  });
});

describe('a deferred decision on a session', () => {
  it('is tried again after longer and longer waits while its score cannot be stored, not at each search', async () => {
    const [a] = createScorers();
    const world = await startWorld(onSessions(a));
    a.scores = () => {
      throw new JudgeError('judge_unavailable', 'gone');
    };
    world.say('s');
    await world.timers.advance(18_000);
    expect(world.rows('s')).toEqual(['a deferred']);
    a.scores = () => ({ score: 1 });
    a.inputs.length = 0;
    world.store.failing = (what) => what === 'scores';
    await world.timers.advance(60_000);
    expect(a.inputs.length).toBeLessThan(5);
    world.store.failing = () => false;
    await world.timers.advance(60_000);
    expect(world.rows('s')).toEqual(['a scored']);
    await world.stop();
  });
});

import { describe, expect, it, vi } from 'vitest';
import { MIB } from '../../../../src/domain/byte-sizes.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../src/domain/durations.ts';
import { askForText } from '../../../../src/judge/judge.ts';
import { createJudgeRegistry } from '../../../../src/judge/judge-registry.ts';
import { JudgeError } from '../../../../src/judge/judge-error.ts';
import { ANY_PAIR } from '../../../../src/ownership/ownership.ts';
import { createScorerOwnership } from '../../../../src/scoring/live/scoring-loop.ts';
import { modelObject } from '../../../support/builders/model-object.ts';
import { createLoopWorld, listStatuses } from '../../../support/scoring/loop-world.ts';
import {
  agentSpan,
  CountingScorer,
  judged,
  newTraceId,
  buildRule,
} from '../../../support/scoring/scoring-world.ts';

/** Starts a loop with one judged scorer, which has scored one trace. */
async function startWithScoredTrace() {
  const { store, timers, start } = createLoopWorld();
  const scorer = judged('j');
  const loop = await start([buildRule([scorer])]);
  await timers.advance(1_000);
  const traceId = newTraceId();
  store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
  await timers.advance(10_000);
  return { store, timers, scorer, loop, traceId };
}

/** Number of a trace that is not of the backlog. */
const LATE = 99;

/** Starts a loop with one place for a judge that waits, and a backlog of 30 numbered traces. */
async function startWithBacklog(options: { newestShare?: number } = {}) {
  const { store, timers, start } = createLoopWorld();
  const gates: (() => void)[] = [];
  const asked: number[] = [];
  const slow = judged('j', async ({ output }) => {
    asked.push(Number(/early (\d+)/u.exec(JSON.stringify(output))?.[1] ?? LATE));
    await new Promise<void>((resolve) => void gates.push(resolve));
    return { score: 1 };
  });
  const loop = await start([buildRule([slow])], { scoring: { judgeConcurrency: 1, ...options } });
  await timers.advance(1_000);
  for (let index = 0; index < 30; index += 1) {
    store.ingest([agentSpan(newTraceId(), 'a', { says: `early ${index}` })]);
  }
  await timers.advance(7_000);
  return {
    store,
    timers,
    loop,
    /** Numbers of the traces in the order in which the judge was asked. */
    asked,
    /** Lets the judge answer so many questions. */
    answer: async (count: number) => {
      for (let answered = 0; answered < count; answered += 1) {
        gates.forEach((open) => open());
        await timers.advance(1_000);
      }
    },
    stop: async () => {
      const stopped = loop.stop();
      await timers.advance(11_000);
      await stopped;
    },
  };
}

describe('the scoring loop', () => {
  it('scores a trace one decision wait after its root and all its children have come', async () => {
    const { store, timers, start } = createLoopWorld();
    const loop = await start([buildRule([new CountingScorer('a')])]);
    const traceId = newTraceId();
    await timers.advance(1_000);
    store.ingest([agentSpan(traceId, 'b', { parent: 'a', tool: { name: 't', result: 'rain' } })]);
    await timers.advance(20_000);
    expect(store.decisions()).toEqual([]);
    store.ingest([agentSpan(traceId, 'a', { says: 'It rains.' })]);
    await timers.advance(4_000);
    expect(store.decisions()).toEqual([]);
    await timers.advance(2_000);
    expect(listStatuses(store, traceId)).toEqual(['a scored']);
    expect(loop.isIdle()).toBe(true);
    await loop.stop();
  });

  it('reads arrivals every second while a trace waits, and every two seconds while none does', async () => {
    const { store, timers, start } = createLoopWorld();
    const reads = vi.spyOn(store.stores.spans, 'arrivals');
    const loop = await start([buildRule([new CountingScorer('a')])]);
    const countReads = async (ms: number) => {
      reads.mockClear();
      await timers.advance(ms);
      return reads.mock.calls.length;
    };
    await timers.advance(4_000);
    expect(await countReads(20_000)).toBe(10);
    store.ingest([agentSpan(newTraceId(), 'b', { parent: 'a', says: 'x' })]);
    await timers.advance(2_000);
    expect(await countReads(10_000)).toBe(10);
    await loop.stop();
  });

  it('looks up many traces together every two seconds, and a single trace at once', async () => {
    const { store, timers, start } = createLoopWorld();
    const lookups = vi.spyOn(store.stores.spans, 'activity');
    const loop = await start([buildRule([new CountingScorer('a')])]);
    await timers.advance(1_000);
    const ingest = (count: number) =>
      Array.from({ length: count }, newTraceId).forEach((traceId) =>
        store.ingest([agentSpan(traceId, 'a', { says: 'x' })]),
      );
    for (let second = 0; second < 20; second += 1) {
      ingest(30);
      await timers.advance(1_000);
    }
    await timers.advance(10_000);
    expect(store.decisions()).toHaveLength(600);
    expect(lookups.mock.calls.length).toBeLessThanOrEqual(11);

    const before = lookups.mock.calls.length;
    ingest(1);
    await timers.advance(5_200);
    expect(lookups.mock.calls.length - before).toBe(1);
    expect(store.decisions()).toHaveLength(601);
    await loop.stop();
  });

  it('gathers no longer than until a hundred traces are ready', async () => {
    const { store, timers, start } = createLoopWorld();
    const lookups = vi.spyOn(store.stores.spans, 'activity');
    const loop = await start([buildRule([new CountingScorer('a')])]);
    await timers.advance(1_000);
    for (let step = 0; step < 10; step += 1) {
      const traces = Array.from({ length: 40 }, () => agentSpan(newTraceId(), 'a', { says: 'x' }));
      store.ingest(traces);
      await timers.advance(100, 100);
    }
    const readyMs = store.clockMs - 1_000 + 5_000;
    await timers.advance(readyMs + 900 - store.clockMs, 100);
    expect(lookups.mock.calls.map(([keys]) => keys.length)).toEqual([40, 120]);
    await timers.advance(3_000, 100);
    expect(store.decisions()).toHaveLength(400);
    await loop.stop();
  });

  it('scores a trace with a late span again, with the next revision', async () => {
    const { store, timers, scorer, loop, traceId } = await startWithScoredTrace();
    store.ingest([agentSpan(traceId, 'b', { parent: 'a', tool: { name: 't', result: 'rain' } })]);
    await timers.advance(30_000);
    expect(store.scores()).toMatchObject([{ revision: 2 }]);
    store.ingest([agentSpan(traceId, 'b', { parent: 'a', tool: { name: 't', result: 'rain' } })]);
    await timers.advance(60_000);
    expect(scorer.inputs).toHaveLength(2);
    expect(store.decisions()).toMatchObject([{ status: 'scored', revision: 2 }]);
    await loop.stop();
  });

  it('sees inserts that commit half a minute late and out of order', async () => {
    const { store, timers, start } = createLoopWorld();
    const loop = await start([buildRule([new CountingScorer('a')])]);
    await timers.advance(1_000);
    const [held, other] = [newTraceId(), newTraceId()];
    store.ingest([agentSpan(held, 'a', { says: 'held back' })], { heldBackMs: 30_000 });
    store.clockMs += 1;
    store.ingest([agentSpan(other, 'a', { says: 'at once' })]);
    const late = newTraceId();
    store.ingest([agentSpan(late, 'b', { parent: 'a', tool: { name: 't', result: 'r' } })], {
      heldBackMs: 30_000,
    });
    store.clockMs += 1;
    store.ingest([agentSpan(late, 'a', { says: 'in pieces' })]);
    await timers.advance(50_000);
    expect(listStatuses(store, held)).toEqual(['a scored']);
    expect(listStatuses(store, other)).toEqual(['a scored']);
    expect(store.scores().find((score) => score.traceId === late)).toMatchObject({ revision: 2 });
    await loop.stop();
  });

  it('decides a trace soon whose arrival shows before its activity, as while an insert commits', async () => {
    const { store, timers, start } = createLoopWorld();
    const { spans } = store.stores;
    const activity = spans.activity.bind(spans);
    let isHidden = true;
    spans.activity = async (keys) => (isHidden ? new Map() : activity(keys));
    const loop = await start([buildRule([new CountingScorer('a')])]);
    await timers.advance(1_000);
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
    await timers.advance(8_000);
    isHidden = false;
    await timers.advance(2_000);
    expect(listStatuses(store, traceId)).toEqual(['a scored']);
    await loop.stop();
  });

  it('leaves no trace undecided whose late span shows before its activity', async () => {
    const { store, timers, start } = createLoopWorld();
    const { spans } = store.stores;
    const activity = spans.activity.bind(spans);
    const loop = await start([buildRule([new CountingScorer('a')])]);
    await timers.advance(1_000);
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
    await timers.advance(10_000);
    const before = await activity([{ tenant: '', traceId }]);
    spans.activity = async () => before;
    store.ingest([agentSpan(traceId, 'b', { parent: 'a', tool: { name: 't', result: 'rain' } })]);
    const arrivedMs = store.clockMs;
    await timers.advance(20_000);
    spans.activity = activity;
    await timers.advance(2_000);
    expect(store.decisions()).toMatchObject([{ revision: 2, evidenceUntil: arrivedMs }]);
    await loop.stop();
  });

  it('does not wait for the activity of a trace that was erased', async () => {
    const { store, timers, start } = createLoopWorld();
    store.stores.spans.activity = async () => new Map();
    const loop = await start([buildRule([new CountingScorer('a')])]);
    await timers.advance(1_000);
    store.ingest([agentSpan(newTraceId(), 'a', { says: 'x' })]);
    await timers.advance(60_000);
    expect(loop.status()).toMatchObject({ waiting: 0, queued: 0, retries: 0 });
    await loop.stop();
  });

  it('accepts any clock of a sender: span times are data', async () => {
    const { store, timers, start } = createLoopWorld();
    const loop = await start([buildRule([new CountingScorer('a')])]);
    await timers.advance(1_000);
    const hour = 3_600_000;
    const times = [0, Date.UTC(2262, 0, 1), store.clockMs - hour, store.clockMs + hour];
    const traces = times.map((startMs) => ({ traceId: newTraceId(), startMs }));
    for (const { traceId, startMs } of traces) {
      store.ingest([agentSpan(traceId, 'a', { says: 'x', startMs })]);
    }
    await timers.advance(10_000);
    for (const { traceId } of traces) {
      expect(listStatuses(store, traceId)).toEqual(['a scored']);
    }
    await loop.stop();
  });

  it('never scores its own spans, nor lets them re-open a trace', async () => {
    const { store, timers, scorer, loop, traceId } = await startWithScoredTrace();
    store.ingest([agentSpan(traceId, 'e', { parent: 'a', says: 'evaluation', scope: 'spanscore' })]);
    await timers.advance(60_000);
    expect(scorer.inputs).toHaveLength(1);
    expect(store.decisionLog).toHaveLength(1);
    await loop.stop();
  });

  it('tries deferred traces again by itself', async () => {
    const { store, timers, start } = createLoopWorld();
    let isDead = true;
    const scorer = judged('j', () => {
      if (isDead) {
        throw new JudgeError('judge_unavailable', 'gone');
      }
      return { score: 1 };
    });
    const loop = await start([buildRule([scorer])]);
    await timers.advance(1_000);
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
    await timers.advance(7_000);
    expect(listStatuses(store, traceId)).toEqual(['j deferred']);
    isDead = false;
    await timers.advance(12_000);
    expect(listStatuses(store, traceId)).toEqual(['j scored']);
    await loop.stop();
  });

  it('finds by its sweep the undecided traces of a dead process', async () => {
    const { store, timers, start } = createLoopWorld();
    const scorer = judged('j');
    const first = await start([buildRule([scorer])]);
    await timers.advance(1_000);
    const lost = newTraceId();
    store.failing = (what) => what === 'decisions';
    store.ingest([agentSpan(lost, 'a', { says: 'x' })]);
    await timers.advance(8_000);
    await first.stop();
    expect(store.scores()).toHaveLength(1);
    const unseen = newTraceId();
    store.ingest([agentSpan(unseen, 'a', { says: 'y' })]);
    store.clockMs += 3_600_000;
    store.failing = () => false;
    const second = await start([buildRule([scorer])]);
    await timers.advance(2_000);
    expect(listStatuses(store, lost)).toEqual(['j scored']);
    expect(listStatuses(store, unseen)).toEqual(['j scored']);
    expect(scorer.inputs).toHaveLength(2);
    await second.stop();
  });

  it('decides the traces that came while no scorer ran for days, at the first sweep, and then looks back less', async () => {
    const { store, timers, start } = createLoopWorld();
    const rules = [buildRule([new CountingScorer('a')])];
    const before = newTraceId();
    store.ingest([agentSpan(before, 'a', { says: 'x' })]);
    store.clockMs += 1_000;
    const first = await start(rules);
    await first.stop();
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
    store.clockMs += 95 * HOUR_MS;
    const lookedBackHours: number[] = [];
    const undecided = store.stores.decisions.undecided.bind(store.stores.decisions);
    store.stores.decisions.undecided = (query) => {
      lookedBackHours.push(Math.round((query.nowMs - query.sinceMs) / HOUR_MS));
      return undecided(query);
    };
    const second = await start(rules);
    await timers.advance(2_000);
    expect(listStatuses(store, traceId)).toEqual(['a scored']);
    expect(listStatuses(store, before)).toEqual([]);
    // The second sweep learns that nothing is left, so the third looks at the near time only.
    await timers.advance(21 * MINUTE_MS);
    expect(lookedBackHours).toEqual([96, 95, 48]);
    await second.stop();
  });

  it.each([5, 20])(
    'counts the age of waiting traces over a restart, %i minutes after they came',
    async (minutes) => {
      const { store, timers, start } = createLoopWorld();
      const rules = [buildRule([judged('j', () => new Promise(() => undefined))])];
      await (await start(rules)).stop();
      for (let count = 0; count < 20; count += 1) {
        store.ingest([agentSpan(newTraceId(), 'a', { says: 'x' })]);
      }
      store.clockMs += minutes * MINUTE_MS;
      const loop = await start(rules, { scoring: { judgeConcurrency: 1 } });
      await timers.advance(2_000);
      expect(loop.status().oldestQueuedMs).toBeGreaterThan((minutes - 1) * MINUTE_MS);
      expect(loop.status().oldestQueuedMs).toBeLessThan((minutes + 1) * MINUTE_MS);
      const stopped = loop.stop();
      await timers.advance(15_000);
      await stopped;
    },
  );

  it('does not look for traces whose arrivals the store no longer keeps', async () => {
    const { store, timers, start } = createLoopWorld();
    const rules = [buildRule([new CountingScorer('a')])];
    await (await start(rules)).stop();
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
    store.clockMs += 25 * HOUR_MS;
    const loop = await start(rules, { scoring: { reachMs: DAY_MS } });
    await timers.advance(2_000);
    expect(listStatuses(store, traceId)).toEqual([]);
    await loop.stop();
  });

  it('finds a span that committed late, with an older stamp, while no process ran', async () => {
    const { store, timers, start } = createLoopWorld();
    const scorer = judged('j', (input) => ({ score: input.context!.length }));
    const first = await start([buildRule([scorer])]);
    await timers.advance(1_000);
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'b', { parent: 'a', tool: { name: 't', result: 'rain' } })], {
      heldBackMs: 20_000,
    });
    store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
    await timers.advance(10_000);
    expect(store.scores()).toMatchObject([{ score: 0 }]);
    await first.stop();
    store.clockMs += 300_000;
    const second = await start([buildRule([scorer])]);
    await timers.advance(5_000);
    expect(store.scores()).toMatchObject([{ score: 1, revision: 2 }]);
    await second.stop();
  });

  it('continues after an outage of the store', async () => {
    const { store, timers, start } = createLoopWorld();
    const loop = await start([buildRule([new CountingScorer('a')])]);
    await timers.advance(1_000);
    store.failing = () => true;
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
    await timers.advance(60_000);
    expect(loop.status().fault).toMatch(/the store is away/);
    store.failing = () => false;
    await timers.advance(10_000);
    expect(loop.status().fault).toBeNull();
    expect(listStatuses(store, traceId)).toEqual(['a scored']);
    await loop.stop();
  });

  it('scores no trace from before its rules were first loaded', async () => {
    const { store, timers, start } = createLoopWorld();
    const old = newTraceId();
    store.ingest([agentSpan(old, 'a', { says: 'x' })]);
    await timers.advance(1_000);
    const loop = await start([buildRule([new CountingScorer('a')])]);
    await timers.advance(120_000);
    expect(store.decisions()).toEqual([]);
    await loop.stop();
  });

  it('keeps scoring by code while every judge hangs', async () => {
    const { store, timers, start } = createLoopWorld();
    const hanging = judged('j', () => new Promise(() => undefined));
    const loop = await start([buildRule([new CountingScorer('a'), hanging])], {
      scoring: { judgeConcurrency: 2 },
    });
    await timers.advance(1_000);
    const traces = Array.from({ length: 20 }, newTraceId);
    for (const traceId of traces) {
      store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
    }
    await timers.advance(8_000);
    expect(store.scores()).toHaveLength(20);
    const { inFlight, waitingForRoom } = loop.status();
    expect(inFlight + waitingForRoom).toBe(20);
    expect(store.decisions().length).toBeGreaterThanOrEqual(waitingForRoom);
    expect(new Set(store.decisions().map((row) => `${row.scorer} ${row.status}`))).toEqual(
      new Set(['a scored']),
    );
    const stopped = loop.stop();
    await timers.advance(11_000);
    await stopped;
    expect(store.decisions().some((row) => row.status === 'failed')).toBe(false);
  });

  it('scores other traces while many traces wait for a judge', async () => {
    const { store, timers, start } = createLoopWorld();
    const hanging = judged('j', () => new Promise(() => undefined));
    const code = buildRule([new CountingScorer('a')], { name: 'code' });
    const loop = await start([code, buildRule([hanging])], {
      scoring: { judgeConcurrency: 1 },
    });
    await timers.advance(1_000);
    for (let second = 0; second < 15; second += 1) {
      store.ingest(Array.from({ length: 40 }, () => agentSpan(newTraceId(), 'a', { says: 'x' })));
      await timers.advance(1_000);
    }
    await timers.advance(7_000);
    expect(store.scores()).toHaveLength(600);
    expect(loop.status().inFlight).toBeLessThanOrEqual(9);
    const stopped = loop.stop();
    await timers.advance(11_000);
    await stopped;
  });

  it('asks the judge while the rows of code scorers wait for a common write', async () => {
    const { store, timers, start } = createLoopWorld();
    const gate = Promise.withResolvers<void>();
    const { scores } = store.stores;
    const write = scores.write.bind(scores);
    scores.write = async (rows) => {
      await gate.promise;
      await write(rows);
    };
    const slow = judged('j');
    const loop = await start([buildRule([new CountingScorer('c'), slow])]);
    await timers.advance(1_000);
    store.ingest([agentSpan(newTraceId(), 'a', { says: 'x' })]);
    await timers.advance(8_000);
    expect({ asked: slow.inputs.length, scores: store.scores().length }).toEqual({ asked: 1, scores: 0 });
    gate.resolve();
    await timers.advance(2_000);
    expect(store.decisions().map(({ scorer, status }) => `${scorer} ${status}`)).toEqual([
      'c scored',
      'j scored',
    ]);
    await loop.stop();
  });

  it('asks the judge for every trace as soon as places are free, none by a retry', async () => {
    const { store, timers, start } = createLoopWorld();
    const gate = Promise.withResolvers<void>();
    const slow = judged('j', async () => {
      await gate.promise;
      return { score: 1 };
    });
    const loop = await start([buildRule([slow])], { scoring: { judgeConcurrency: 1 } });
    await timers.advance(1_000);
    const traces = Array.from({ length: 40 }, newTraceId);
    store.ingest(traces.map((traceId) => agentSpan(traceId, 'a', { says: 'x' })));
    await timers.advance(8_000);
    const { inFlight, waitingForRoom, retries } = loop.status();
    expect({ traces: inFlight + waitingForRoom, retries }).toEqual({ traces: 40, retries: 0 });
    expect(inFlight).toBeLessThanOrEqual(9);
    expect(store.reads.flat()).toHaveLength(inFlight);
    gate.resolve();
    await timers.advance(5_000);
    expect(slow.inputs).toHaveLength(40);
    expect(store.decisions().filter((row) => row.status === 'scored')).toHaveLength(40);
    expect(loop.isIdle()).toBe(true);
    await loop.stop();
  });

  it('looks up no trace whose scorers all wait for a judge before its turn', async () => {
    const { store, timers, start } = createLoopWorld();
    const gate = Promise.withResolvers<{ score: number }>();
    const slow = judged('j', () => gate.promise);
    const lookUp = vi.spyOn(store.stores.decisions, 'ofTraces');
    const loop = await start([buildRule([slow])], { scoring: { judgeConcurrency: 1 } });
    const ingest = () =>
      store.ingest(Array.from({ length: 40 }, () => agentSpan(newTraceId(), 'a', { says: 'x' })));
    ingest();
    await timers.advance(8_000);
    lookUp.mockClear();
    ingest();
    await timers.advance(8_000);
    expect(lookUp.mock.calls.flat(2)).toEqual([]);
    expect(loop.status().inFlight + loop.status().waitingForRoom).toBe(80);
    gate.resolve({ score: 1 });
    await timers.advance(20_000);
    expect(slow.inputs).toHaveLength(80);
    expect(lookUp.mock.calls.flat(2).length).toBeLessThanOrEqual(80);
    expect(loop.isIdle()).toBe(true);
    await loop.stop();
  });

  it('scores code while large traces fill the memory of judged scorers, and asks the judge for all of them', async () => {
    const { store, timers, start } = createLoopWorld();
    store.traceSize = 30 * MIB;
    const gate = Promise.withResolvers<void>();
    const slow = judged('j', async () => {
      await gate.promise;
      return { score: 1 };
    });
    const loop = await start([buildRule([new CountingScorer('c'), slow])]);
    await timers.advance(1_000);
    const ingest = () => store.ingest([agentSpan(newTraceId(), 'a', { says: 'x' })]);
    const countScores = (name: string) => store.scores().filter(({ scorer }) => scorer === name).length;
    Array.from({ length: 30 }, ingest);
    await timers.advance(20_000);
    ingest();
    await timers.advance(20_000);
    const { inFlight, waitingForRoom } = loop.status();
    expect({ code: countScores('c'), judged: countScores('j'), traces: inFlight + waitingForRoom }).toEqual({
      code: 31,
      judged: 0,
      traces: 31,
    });
    expect(inFlight * store.traceSize).toBeLessThanOrEqual(96 * MIB + store.traceSize);

    gate.resolve();
    await timers.advance(20_000);
    expect(countScores('j')).toBe(31);
    expect(loop.isIdle()).toBe(true);
    await loop.stop();
  });

  it('asks judges while an own scorer hangs with large traces', async () => {
    const { store, timers, start } = createLoopWorld();
    store.traceSize = 30 * MIB;
    const gate = Promise.withResolvers<{ score: number }>();
    const hung = new CountingScorer('hung', () => gate.promise);
    const slots = { low: 16, high: 200, pending: () => 0 };
    const ofService = (service: string) => ({ name: service, where: { service: [service] } });
    const code = { name: 'c', scorer: new CountingScorer('c') };
    const loop = await start([
      buildRule([new CountingScorer('c'), judged('j')], ofService('judged')),
      { ...buildRule([], ofService('own')), scorers: [code, { name: 'hung', scorer: hung, own: slots }] },
    ]);
    await timers.advance(1_000);
    for (const service of Array.from({ length: 15 }, () => ['own', 'judged']).flat()) {
      store.ingest([agentSpan(newTraceId(), 'a', { says: 'x', service })]);
    }
    await timers.advance(20_000);
    const countScores = (name: string) => store.scores().filter(({ scorer }) => scorer === name).length;
    expect({ judged: countScores('j'), hung: countScores('hung') }).toEqual({ judged: 15, hung: 0 });
    expect(hung.inputs.length).toBeLessThan(10);

    gate.resolve({ score: 1 });
    await timers.advance(20_000);
    expect(countScores('hung')).toBe(15);
    expect(loop.isIdle()).toBe(true);
    await loop.stop();
  });

  it.each([
    ['slow scorers only', []],
    ['a scorer in code, too', [{ name: 'c', scorer: new CountingScorer('c') }]],
  ])('asks judges about traces that found no room for either, with %s', async (_, quick) => {
    const { store, timers, start } = createLoopWorld();
    const gate = Promise.withResolvers<{ score: number }>();
    let isFull = true;
    const slots = { low: 1, high: 2, pending: () => (isFull ? 2 : 0) };
    const own = { name: 'own', scorer: new CountingScorer('own'), own: slots };
    const rule = buildRule([judged('j', () => gate.promise)]);
    const loop = await start([{ ...rule, scorers: [...quick, own, ...rule.scorers] }], {
      scoring: { judgeConcurrency: 1 },
    });
    await timers.advance(1_000);
    Array.from({ length: 30 }, () => store.ingest([agentSpan(newTraceId(), 'a', { says: 'x' })]));
    await timers.advance(20_000);
    expect(loop.status().waitingForRoom).toBeGreaterThan(5);

    gate.resolve({ score: 1 });
    await timers.advance(60_000);
    const countScores = (name: string) => store.scores().filter(({ scorer }) => scorer === name).length;
    expect({ judged: countScores('j'), own: countScores('own') }).toEqual({ judged: 30, own: 0 });

    isFull = false;
    await timers.advance(60_000);
    expect(countScores('own')).toBe(30);
    expect(loop.isIdle()).toBe(true);
    await loop.stop();
  });

  it('gives places to new traces and to the oldest of a backlog', async () => {
    const { store, timers, loop, asked, answer, stop } = await startWithBacklog();
    await answer(8);
    store.ingest([agentSpan(newTraceId(), 'a', { says: 'late' })]);
    await timers.advance(7_000);
    const before = asked.length;
    await answer(6);
    const numbers = asked.slice(before);
    expect(numbers.slice(0, 3)).toContain(LATE);
    expect(numbers.filter((number) => number < 15).length).toBeGreaterThanOrEqual(2);
    expect(loop.status().waitingForRoom).toBeGreaterThan(5);
    await stop();
  });

  it('judges a backlog in the order of its traces when no place is for the newest', async () => {
    const { asked, answer, stop } = await startWithBacklog({ newestShare: 0 });
    await answer(29);
    expect(asked).toEqual(Array.from({ length: 30 }, (_, index) => index));
    await stop();
  });

  it('judges after a restart what waited for room', async () => {
    const { store, timers, start } = createLoopWorld();
    const hanging = judged('j', () => new Promise(() => undefined));
    const first = await start([buildRule([new CountingScorer('a'), hanging])], {
      scoring: { judgeConcurrency: 1 },
    });
    await timers.advance(1_000);
    store.ingest(Array.from({ length: 30 }, () => agentSpan(newTraceId(), 'a', { says: 'x' })));
    await timers.advance(8_000);
    const stopped = first.stop();
    await timers.advance(14_000);
    await stopped;
    const code = new CountingScorer('a');
    const working = judged('j');
    const second = await start([buildRule([code, working])]);
    await timers.advance(60_000);
    expect(working.inputs).toHaveLength(30);
    expect(code.inputs).toHaveLength(0);
    expect(store.decisions().filter((row) => row.status === 'scored')).toHaveLength(60);
    await second.stop();
  });

  it('asks the judge at the time at which a trace is ready, not at the next read of arrivals', async () => {
    const { store, timers, start } = createLoopWorld();
    const askedAtMs: number[] = [];
    const scorer = judged('j', () => {
      askedAtMs.push(store.clockMs);
      return { score: 1 };
    });
    const loop = await start([buildRule([scorer])]);
    await timers.advance(1_250, 50);
    const arrivedMs = store.clockMs;
    store.ingest([agentSpan(newTraceId(), 'a', { says: 'x' })]);
    await timers.advance(7_000, 50);
    expect(askedAtMs).toHaveLength(1);
    expect((askedAtMs[0] ?? 0) - arrivedMs).toBeLessThanOrEqual(5_100);
    await loop.stop();
  });

  it('shares the work of two processes: one row each, one judge call each', async () => {
    const { store, timers, start } = createLoopWorld();
    const scorer = judged('j');
    const one = await start([buildRule([scorer])], { member: 'one' });
    const two = await start([buildRule([scorer])], { member: 'two' });
    await timers.advance(5_000);
    const traces = Array.from({ length: 60 }, newTraceId);
    for (const traceId of traces) {
      store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
    }
    await timers.advance(20_000);
    expect(store.decisions()).toHaveLength(60);
    expect(store.scores()).toHaveLength(60);
    expect(scorer.inputs).toHaveLength(60);
    await Promise.all([one.stop(), two.stop()]);
  });

  it('takes over the undecided traces of a process that stopped beating', async () => {
    const { store, timers, start } = createLoopWorld();
    const one = await start([buildRule([new CountingScorer('a')])], { member: 'one' });
    await store.members.beat('silent', { pairs: [ANY_PAIR] });
    await timers.advance(4_000);
    for (let count = 0; count < 40; count += 1) {
      store.ingest([agentSpan(newTraceId(), 'a', { says: 'x' })]);
    }
    await timers.advance(8_000);
    const before = store.decisions().length;
    expect(before).toBeLessThan(40);
    await timers.advance(60_000);
    expect(store.decisions()).toHaveLength(40);
    await one.stop();
  });

  it('finds by its sweep its own traces, however many older ones wait for another process', async () => {
    const { store, timers, start } = createLoopWorld();
    const rule = buildRule([new CountingScorer('a')]);
    const first = await start([rule], { member: 'one' });
    await first.stop();
    store.clockMs += 1_000;
    await store.members.beat('other', { pairs: [ANY_PAIR] });
    const one = createScorerOwnership(store.members, [rule], {
      member: 'one',
      monotonicMs: () => store.clockMs,
    });
    await one.beat();
    const ids = Array.from({ length: 400 }, newTraceId);
    const theirs = ids.filter((traceId) => one.claim({ tenant: '', traceId }) === null).slice(0, 30);
    const ours = ids.filter((traceId) => one.claim({ tenant: '', traceId }) !== null).slice(0, 15);
    for (const traceId of [...theirs, ...ours]) {
      store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
      store.clockMs += 1;
    }
    store.clockMs += 3_600_000;
    await store.members.beat('other', { pairs: [ANY_PAIR] });
    const undecided = store.stores.decisions.undecided.bind(store.stores.decisions);
    store.stores.decisions.undecided = (query) => undecided({ ...query, limit: 20 });
    const loop = await start([rule], { member: 'one' });
    for (let passed = 0; passed < 36_000; passed += 3_000) {
      await timers.advance(3_000);
      await store.members.beat('other', { pairs: [ANY_PAIR] });
    }
    expect(ours).toHaveLength(15);
    expect(new Set(store.decisions().map((row) => row.traceId))).toEqual(new Set(ours));
    await loop.stop();
  });

  it('leaves two loops without membership with one current row each', async () => {
    const { store, timers, start } = createLoopWorld();
    const one = await start([buildRule([judged('j')])]);
    const two = await start([buildRule([judged('j')])]);
    await timers.advance(1_000);
    for (let count = 0; count < 10; count += 1) {
      store.ingest([agentSpan(newTraceId(), 'a', { says: 'x' })]);
    }
    await timers.advance(10_000);
    expect(store.decisions()).toHaveLength(10);
    expect(store.scores()).toHaveLength(10);
    await Promise.all([one.stop(), two.stop()]);
  });

  it('stops although the store does not answer: it drops its open requests after the grace time', async () => {
    const { store, timers, start } = createLoopWorld();
    const loop = await start([buildRule([new CountingScorer('a')])], { member: 'one' });
    store.stores.spans.arrivals = () => new Promise(() => undefined);
    await timers.advance(2_000);
    let stopped = false;
    const stopping = loop.stop().then(() => (stopped = true));
    await timers.advance(11_000);
    expect(stopped).toBe(false);
    await timers.advance(1_000);
    await stopping;
    const { members } = await store.members.beat('two', { pairs: [] });
    expect(members.filter(({ isLeaving }) => !isLeaving).map(({ name }) => name)).toEqual(['two']);
  });

  it('stops although the store never confirms that it left', async () => {
    const { timers, store, start } = createLoopWorld();
    const loop = await start([], { member: 'one' });
    store.members.beat = () => new Promise(() => undefined);
    const stopping = loop.stop();
    await timers.advance(1_000);
    await expect(stopping).resolves.toBeUndefined();
  });

  it('reads only the members from the store while there are no rules', async () => {
    const { store, timers, start } = createLoopWorld();
    const asked: string[] = [];
    store.stores.spans.arrivals = async () => {
      asked.push('arrivals');
      return [];
    };
    const loop = await start([], { member: 'one' });
    await timers.advance(60_000);
    expect(asked).toEqual([]);
    const { members } = await store.members.beat('two', { pairs: [] });
    expect(members.map(({ name }) => name)).toEqual(['one', 'two']);
    await loop.stop();
  });
});

describe('the metrics of a score', () => {
  it('have the wait since its trace was ready, by kind of scorer, and the cost by scorer and rule', async () => {
    const { store, timers, start } = createLoopWorld();
    const recorded: (readonly [name: string, value: number, labels: object | undefined])[] = [];
    const note = (name: string, value: number, labels?: object) => {
      if (name === 'spanscore.scoring.delay' || name === 'spanscore.judge.cost') {
        recorded.push([name, value, labels]);
      }
    };
    const gate = Promise.withResolvers<void>();
    const model = modelObject(() => 'fine', {
      usage: { inputTokens: { total: 0 }, outputTokens: { total: 500 } },
    });
    const slow = judged('j', async () => {
      await gate.promise;
      await askForText(model, { instructions: 'Judge.', prompt: 'Is it fine?' });
      return { score: 1 };
    });
    const prices = { 'scripted/judge-1': { input: 0, output: 20 } };
    await start([buildRule([new CountingScorer('c'), slow], { name: 'answers' })], {
      ports: {
        judgeScope: { judges: createJudgeRegistry({ prices }) },
        metrics: { add: note, record: note },
      },
    });
    await timers.advance(1_000);
    store.ingest([agentSpan(newTraceId(), 'a', { says: 'x' })]);
    await timers.advance(47_000);
    gate.resolve();
    await timers.advance(1_000);
    expect(recorded).toEqual([
      ['spanscore.scoring.delay', 0, { kind: 'code' }],
      ['spanscore.judge.cost', 0.01, { model: 'scripted/judge-1', scorer: 'j', rule: 'answers' }],
      ['spanscore.scoring.delay', 42, { kind: 'judge' }],
    ]);
  });
});

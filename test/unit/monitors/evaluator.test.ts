import { describe, expect, test } from 'vitest';
import type { Detection } from '../../../src/monitors/rule.ts';
import { HOUR_MS, monitorGroup, monitorRule, QUICK_DRIFT } from '../../support/monitors/hourly-monitors.ts';
import { anAlert, budgetAlert } from '../../support/builders/an-alert.ts';
import {
  A_SERIES,
  closeHour,
  buildEvaluator,
  MEMORY_START_MS,
  MemoryMonitors,
  runHourly,
} from '../../support/fakes/memory-monitors.ts';

const GROUPS = [
  monitorGroup(monitorRule(QUICK_DRIFT), monitorRule({ kind: 'floor', minimum: 0.4 }, { alert: 'Low' })),
];

/** Thirty good hours, twelve bad ones, twenty good ones. */
const HOURS = 62;

function hourlyScores(hour: number): number[] {
  const isBad = hour >= 30 && hour < 42;
  return isBad ? [0.1, 0.2, 0.3, 0.25] : [0.8, 0.85, 0.9, 0.95];
}

function fill(store: MemoryMonitors, fromHour = 0, toHour = HOURS): void {
  for (let hour = fromHour; hour < toHour; hour += 1) {
    store.scored(MEMORY_START_MS + hour * HOUR_MS + 1_800_000, hourlyScores(hour));
  }
}

async function uninterrupted(): Promise<MemoryMonitors> {
  const store = new MemoryMonitors();
  fill(store);
  await runHourly(store, GROUPS, HOURS);
  return store;
}

describe('the evaluator', () => {
  test('reports the beginning and the end of each incident of each rule once', async () => {
    const told = (await uninterrupted()).writtenAlerts();
    expect(told.map(({ alert, status }) => `${alert} ${status}`).sort()).toEqual([
      'Low firing',
      'Low resolved',
      'Worse firing',
      'Worse resolved',
    ]);
  });

  test('reports the same events and ends in the same states after a stop at any write', async () => {
    const expected = await uninterrupted();
    for (let endsAfterWrite = 1; endsAfterWrite <= expected.writes; endsAfterWrite += 1) {
      const store = new MemoryMonitors();
      store.endsAfterWrite = endsAfterWrite;
      fill(store);
      expect(await runHourly(store, GROUPS, HOURS)).toBe(1);
      expect(store.writtenAlerts()).toEqual(expected.writtenAlerts());
      expect(store.changedEvents).toEqual([]);
      expect([...store.checkpoints]).toEqual([...expected.checkpoints]);
    }
  });

  test('tells a limit of a rule apart from a baseline that it has learned', async () => {
    const store = new MemoryMonitors();
    fill(store, 0, 30);
    closeHour(store, 30);
    const evaluator = buildEvaluator(store, GROUPS);
    await evaluator.advance();
    expect(evaluator.statuses()).toMatchObject([
      { alert: 'Worse', baseline: expect.closeTo(0.875, 2), limit: null },
      { alert: 'Low', baseline: null, limit: 0.4 },
    ]);
  });

  test('comes to the same end when it was away for days', async () => {
    const expected = await uninterrupted();
    const store = new MemoryMonitors();
    fill(store);
    await runHourly(store, GROUPS, 20);
    closeHour(store, HOURS);
    await buildEvaluator(store, GROUPS).advance();
    expect(store.writtenAlerts()).toEqual(expected.writtenAlerts());
    expect([...store.checkpoints]).toEqual([...expected.checkpoints]);
  });

  test('reaches the same states by a replay of the stored rows', async () => {
    const store = await uninterrupted();
    const before = [...store.checkpoints];
    const told = store.writtenAlerts();
    store.checkpoints.clear();
    await buildEvaluator(store, GROUPS).advance();
    expect([...store.checkpoints]).toEqual(before);
    expect(store.writtenAlerts()).toEqual(told);
  });

  test('reports no event twice when two processes evaluate at once', async () => {
    const expected = await uninterrupted();
    const store = new MemoryMonitors();
    fill(store);
    const [one, two] = [buildEvaluator(store, GROUPS), buildEvaluator(store, GROUPS)];
    for (let hour = 0; hour <= HOURS; hour += 1) {
      closeHour(store, hour);
      await Promise.all([one.advance(), hour % 3 === 0 ? two.advance() : undefined]);
    }
    expect(store.writtenAlerts()).toEqual(expected.writtenAlerts());
    expect([...store.checkpoints]).toEqual([...expected.checkpoints]);
  });

  test('does not end an incident that another evaluator, which is ahead, has just stored', async () => {
    const store = new MemoryMonitors();
    fill(store);
    closeHour(store, 0);
    await buildEvaluator(store, GROUPS).advance();
    closeHour(store, 29);
    await buildEvaluator(store, GROUPS).advance();
    closeHour(store, 35);
    // Its bucket is closed and told of, and not yet marked as done.
    store.endsAfterWrite = store.writes + 6;
    await expect(buildEvaluator(store, GROUPS).advance()).rejects.toThrow('ended here');
    const begun = store.writtenAlerts();
    expect(begun.map(({ status }) => status)).toEqual(['firing']);
    const behind = buildEvaluator(store, GROUPS);
    closeHour(store, 30);
    await behind.advance();
    expect(store.writtenAlerts()).toEqual(begun);
    closeHour(store, HOURS);
    await behind.advance();
    expect(store.writtenAlerts()).toEqual((await uninterrupted()).writtenAlerts());
    expect(store.changedEvents).toEqual([]);
  });

  test('reports one end of an incident whose rule is gone, from any process', async () => {
    const store = new MemoryMonitors();
    fill(store);
    await runHourly(store, GROUPS, 42);
    const open = store.open();
    const others = [monitorGroup(monitorRule({ kind: 'floor', minimum: 0.05 }, { alert: 'Other' }))];
    for (const seenAt of [40_000, 90_000]) {
      store.open = () => open;
      store.clockMs += seenAt;
      await buildEvaluator(store, others).advance();
    }
    expect(store.changedEvents).toEqual([]);
    const ends = store.writtenAlerts().filter(({ status }) => status === 'resolved');
    expect(ends.map(({ alert }) => alert).sort()).toEqual(['Low', 'Worse']);
    expect(ends.map(({ endsAtMs }) => endsAtMs)).toEqual(ends.map(() => MEMORY_START_MS + 42 * HOUR_MS));
  });

  test('reopens an open incident when its rule comes back, under one id wherever it was interrupted', async () => {
    const floor: Detection = { kind: 'floor', minimum: 0.5 };
    const low = [monitorGroup(monitorRule(floor, { alert: 'Low' }))];
    const away = [monitorGroup(monitorRule(floor, { alert: 'Low', paused: true }))];
    const lived = async (endsAfterWrite: number): Promise<MemoryMonitors> => {
      const store = new MemoryMonitors();
      for (let hour = 0; hour < 60; hour += 1) {
        store.scored(
          MEMORY_START_MS + hour * HOUR_MS + 1000,
          Array.from({ length: 30 }, () => (hour < 40 ? 0.1 : 0.9)),
        );
      }
      for (const [hour, groups] of [
        [0, low],
        [10, low],
        [11, away],
        [16, low],
        [60, low],
      ] as const) {
        closeHour(store, hour);
        store.endsAfterWrite = hour === 16 ? store.writes + endsAfterWrite : Number.POSITIVE_INFINITY;
        await buildEvaluator(store, groups)
          .advance()
          .catch(() => buildEvaluator(store, groups).advance());
      }
      return store;
    };
    const whole = await lived(Number.POSITIVE_INFINITY);
    const findTimes = (status: string, time: 'startsAtMs' | 'endsAtMs') =>
      whole.writtenAlerts().flatMap((event) => (event.status === status ? [event[time]] : []));
    const [began, wentOn] = findTimes('firing', 'startsAtMs');
    expect(began).toBeLessThan(MEMORY_START_MS + 10 * HOUR_MS);
    expect(wentOn).toBe(MEMORY_START_MS + 11 * HOUR_MS);
    const [ended, endedAtLast, ...more] = findTimes('resolved', 'endsAtMs');
    expect(ended).toBe(wentOn);
    expect(endedAtLast).toBeGreaterThan(MEMORY_START_MS + 40 * HOUR_MS);
    expect(more).toEqual([]);
    for (let write = 1; write <= 12; write += 1) {
      const store = await lived(write);
      expect(store.writtenAlerts()).toEqual(whole.writtenAlerts());
      expect(store.changedEvents).toEqual([]);
    }
  });

  test('reports it again each time its rule comes back', async () => {
    const store = new MemoryMonitors();
    const floor: Detection = { kind: 'floor', minimum: 0.5 };
    for (let hour = 0; hour < 20; hour += 1) {
      store.scored(
        MEMORY_START_MS + hour * HOUR_MS + 1000,
        Array.from({ length: 60 }, () => 0.05),
      );
    }
    const stand = async (hour: number, paused: boolean) => {
      closeHour(store, hour);
      await buildEvaluator(store, [monitorGroup(monitorRule(floor, { alert: 'Low', paused }))]).advance();
      return store.open().length;
    };
    expect(await stand(0, false)).toBe(0);
    expect(await stand(1, false)).toBe(1);
    // Twice without a bucket in between.
    expect(await stand(1, true)).toBe(0);
    expect(await stand(1, false)).toBe(0);
    expect(await stand(2, false)).toBe(1);
    expect(await stand(2, true)).toBe(0);
    expect(await stand(3, false)).toBe(1);
    expect(await stand(3, true)).toBe(0);
    expect(await stand(9, false)).toBe(1);
    expect(store.changedEvents).toEqual([]);
    expect(store.writtenAlerts().filter(({ status }) => status === 'firing')).toHaveLength(4);
  });

  test('ends open incidents when no rule is left', async () => {
    const store = new MemoryMonitors();
    fill(store);
    await runHourly(store, GROUPS, 42);
    await buildEvaluator(store, []).advance();
    expect(store.open()).toEqual([]);
    expect(store.writtenAlerts().filter(({ status }) => status === 'resolved')).toMatchObject([
      { endsAtMs: store.clockMs },
      { endsAtMs: store.clockMs },
    ]);
  });

  test('leaves open incidents of budgets to those who check budgets', async () => {
    const store = new MemoryMonitors();
    const spent = budgetAlert(80, 4.1);
    store.events.set(spent.id, spent);
    store.clockMs = spent.startsAtMs + 1;
    await buildEvaluator(store, []).advance();
    expect(store.open()).toEqual([spent]);
  });

  test('continues from the stored state after another evaluator did the work meanwhile', async () => {
    const expected = await uninterrupted();
    const store = new MemoryMonitors();
    fill(store);
    const [one, two] = [buildEvaluator(store, GROUPS), buildEvaluator(store, GROUPS)];
    for (let hour = 0; hour <= HOURS; hour += 1) {
      closeHour(store, hour);
      const [ours, theirs] = hour % 10 < 5 ? [one, two] : [two, one];
      theirs.forget();
      await ours.advance();
    }
    expect(store.writtenAlerts()).toEqual(expected.writtenAlerts());
  });

  test('reports a past incident of a new rule only when it is still open', async () => {
    const store = new MemoryMonitors();
    fill(store, 0, 40);
    closeHour(store, 40);
    await buildEvaluator(store, [
      monitorGroup(monitorRule({ kind: 'no_data', afterMs: 6 * HOUR_MS })),
    ]).advance();
    expect(store.writtenAlerts()).toEqual([]);
    await buildEvaluator(store, GROUPS).advance();
    expect(store.open().map(({ alert }) => alert)).toEqual(expect.arrayContaining(['Low', 'Worse']));
  });

  test('starts a new reference at the acknowledged change, and ends the incident', async () => {
    const store = new MemoryMonitors();
    for (let hour = 0; hour < 120; hour += 1) {
      store.scored(MEMORY_START_MS + hour * HOUR_MS + 1_800_000, hour < 48 ? [0.85, 0.9] : [0.55, 0.6]);
    }
    const evaluator = buildEvaluator(store, [monitorGroup(monitorRule(QUICK_DRIFT))]);
    closeHour(store, 0);
    await evaluator.advance();
    closeHour(store, 70);
    await evaluator.advance();
    const [incident] = store.open();
    store.acks.set(incident?.incidentId ?? '', store.clockMs);
    closeHour(store, 71);
    await evaluator.advance();
    expect(store.open()).toEqual([]);
    expect(evaluator.statuses()).toMatchObject([
      { phase: 'learning', incidentId: null, lacks: '0.9 of 1 days' },
    ]);
    closeHour(store, 120);
    await evaluator.advance();
    expect(evaluator.statuses()).toMatchObject([{ phase: 'ok', baseline: expect.closeTo(0.575, 3) }]);
    expect(store.writtenAlerts().map(({ status }) => status)).toEqual(['firing', 'resolved']);
  });

  test('starts a new reference for every series of a judge whose change is accepted, once', async () => {
    const store = new MemoryMonitors();
    for (let hour = 0; hour < 120; hour += 1) {
      store.scored(MEMORY_START_MS + hour * HOUR_MS + 1_800_000, hour < 48 ? [0.85, 0.9] : [0.55, 0.6]);
      store.scored(MEMORY_START_MS + hour * HOUR_MS + 1_800_000, [0.85, 0.9], { fingerprint: 'other' });
    }
    const evaluator = buildEvaluator(store, [monitorGroup(monitorRule(QUICK_DRIFT))]);
    closeHour(store, 0);
    await evaluator.advance();
    closeHour(store, 50);
    await evaluator.advance();
    const changeBeganMs = MEMORY_START_MS + 48 * HOUR_MS;
    const firing = anAlert({ detector: 'judge', series: A_SERIES, changeBeganMs });
    store.judgeDrifts = [{ firing, endedMs: null, acknowledgedMs: store.clockMs }];
    store.acks.set(firing.incidentId, store.clockMs);
    closeHour(store, 60);
    await evaluator.advance();
    const phases = () =>
      Object.fromEntries(evaluator.statuses().map(({ series, phase }) => [series.fingerprint, phase]));
    expect(phases()).toEqual({ [A_SERIES.fingerprint]: 'learning', other: 'ok' });
    closeHour(store, 120);
    await evaluator.advance();
    expect(phases()).toEqual({ [A_SERIES.fingerprint]: 'ok', other: 'ok' });
    expect(store.open()).toEqual([]);
    const replayed = buildEvaluator(store, [monitorGroup(monitorRule(QUICK_DRIFT))]);
    store.checkpoints.clear();
    await replayed.advance();
    expect(replayed.statuses()).toEqual(evaluator.statuses());
  });

  test('marks the incidents of an anchored judge, and those of a rule that requires a certificate', async () => {
    const store = new MemoryMonitors();
    fill(store);
    store.isAnchored = true;
    const rules = [
      monitorRule(QUICK_DRIFT),
      monitorRule({ kind: 'floor', minimum: 0.4 }, { alert: 'Low', requires: 'certified' }),
      monitorRule({ kind: 'no_data', afterMs: HOUR_MS }, { alert: 'Silent' }),
    ];
    const judges = () => ({ waitMs: 1_000, isCertified: async () => false });
    const evaluator = buildEvaluator(store, [monitorGroup(...rules)], judges);
    for (const hour of [0, 42, HOURS + 5]) {
      closeHour(store, hour);
      await evaluator.advance();
    }
    const marks = [...store.events.values()].map(({ alert, status, culprit, held }) => [
      alert,
      status,
      culprit?.who,
      held,
    ]);
    expect(marks).toEqual(
      expect.arrayContaining([
        ['Worse', 'firing', 'deciding', undefined],
        ['Worse', 'resolved', 'deciding', undefined],
        ['Low', 'firing', 'deciding', true],
        ['Low', 'resolved', 'deciding', true],
        ['Silent', 'firing', undefined, undefined],
      ]),
    );
    const { startsAtMs, culprit } = [...store.events.values()][0] ?? {};
    expect(culprit?.decideByMs).toBe((startsAtMs ?? 0) + 1_000);
  });

  test('comes to the same end by a replay over an acknowledgement', async () => {
    const store = new MemoryMonitors();
    fill(store, 0, 40);
    const groups = [monitorGroup(monitorRule(QUICK_DRIFT))];
    const evaluator = buildEvaluator(store, groups);
    closeHour(store, 0);
    await evaluator.advance();
    closeHour(store, 38);
    await evaluator.advance();
    store.acks.set(store.open()[0]?.incidentId ?? '', store.clockMs);
    closeHour(store, 80);
    await evaluator.advance();
    const before = [...store.checkpoints];
    store.checkpoints.clear();
    await buildEvaluator(store, groups).advance();
    expect([...store.checkpoints]).toEqual(before);
  });

  test('does not restart a floor, because it has no reference', async () => {
    const store = new MemoryMonitors();
    fill(store, 0, 42);
    const evaluator = buildEvaluator(store, GROUPS);
    closeHour(store, 0);
    await evaluator.advance();
    closeHour(store, 41);
    await evaluator.advance();
    const low = store.open().find(({ alert }) => alert === 'Low');
    store.acks.set(low?.incidentId ?? '', store.clockMs);
    closeHour(store, 42);
    await evaluator.advance();
    expect(store.open().map(({ incidentId }) => incidentId)).toContain(low?.incidentId);
  });

  test('shares the allowance of false alarms among the series that it finds', async () => {
    const store = new MemoryMonitors();
    const evaluator = buildEvaluator(store, [monitorGroup(monitorRule({ kind: 'floor', minimum: 0.5 }))]);
    closeHour(store, 0);
    await evaluator.advance();
    const scores = Array.from({ length: 18 }, () => 0.01);
    for (let index = 0; index < 1000; index += 1) {
      store.scored(MEMORY_START_MS + 1000, scores, { fingerprint: `judge-${index}` });
    }
    closeHour(store, 1);
    await evaluator.advance();
    expect(store.open()).toEqual([]);
    const alone = new MemoryMonitors();
    const single = buildEvaluator(alone, [monitorGroup(monitorRule({ kind: 'floor', minimum: 0.5 }))]);
    closeHour(alone, 0);
    await single.advance();
    alone.scored(MEMORY_START_MS + 1000, scores);
    closeHour(alone, 1);
    await single.advance();
    expect(alone.open()).toHaveLength(1);
  });

  test('watches only series that a rule selects', async () => {
    const store = new MemoryMonitors();
    const rule = monitorRule(
      { kind: 'floor', minimum: 0.5 },
      { series: { agent: 'weather', environment: 'production' } },
    );
    const evaluator = buildEvaluator(store, [monitorGroup(rule)]);
    closeHour(store, 0);
    await evaluator.advance();
    store.scored(MEMORY_START_MS + 1000, [0.9]);
    store.scored(MEMORY_START_MS + 1000, [0.9], { agent: 'other' });
    store.scored(MEMORY_START_MS + 1000, [0.9], { environment: 'staging' });
    closeHour(store, 1);
    await evaluator.advance();
    expect(evaluator.statuses().map(({ series }) => series)).toEqual([A_SERIES]);
  });
});

describe('no_data', () => {
  const SILENT = [monitorGroup(monitorRule({ kind: 'no_data', afterMs: 2 * HOUR_MS }, { alert: 'Silent' }))];
  const scoredIn = (store: MemoryMonitors, hours: readonly number[], fingerprint = 'f1') =>
    hours.forEach((hour) =>
      store.scored(MEMORY_START_MS + hour * HOUR_MS + 1_800_000, [0.9], { fingerprint }),
    );
  const ranIn = (...hours: readonly [from: number, to: number][]) =>
    hours.map(([from, to]) => ({
      fromMs: MEMORY_START_MS + from * HOUR_MS,
      toMs: MEMORY_START_MS + to * HOUR_MS,
    }));
  const told = (store: MemoryMonitors) =>
    store
      .writtenAlerts()
      .map(({ status, startsAtMs, endsAtMs }) => [
        status,
        ((endsAtMs ?? startsAtMs) - MEMORY_START_MS) / HOUR_MS,
      ]);

  test('is quiet for an agent whose judge or prompt changed', async () => {
    const store = new MemoryMonitors();
    scoredIn(store, [0, 1, 2]);
    scoredIn(store, [3, 4, 5, 6, 7, 8], 'f2');
    await runHourly(store, SILENT, 9);
    expect(told(store)).toEqual([]);
  });

  test('counts no time in which no process ran, and begins anew after it', async () => {
    const store = new MemoryMonitors();
    scoredIn(store, [0, 1, 8, 9]);
    store.processRuns = ranIn([0, 2], [7.4, 12]);
    await runHourly(store, SILENT, 10);
    expect(told(store)).toEqual([]);
  });

  test.each([
    ['that stays silent after the stop', ranIn([0, 2], [7.4, 20]), [['firing', 10]]],
    ['that was silent before the stop, without an end in between', ranIn([0, 5], [9.4, 20]), [['firing', 4]]],
    ['whose next process took over within seconds', ranIn([0, 3], [3.005, 20]), [['firing', 4]]],
  ])('is told of an agent %s', async (_what, runs, expected) => {
    const store = new MemoryMonitors();
    scoredIn(store, [0, 1]);
    store.processRuns = runs;
    await runHourly(store, SILENT, 14);
    expect(told(store)).toEqual(expected);
  });

  test('comes to the same states by a replay of the stored rows', async () => {
    const store = new MemoryMonitors();
    scoredIn(store, [0, 1]);
    store.processRuns = ranIn([0, 2], [7.4, 20]);
    await runHourly(store, SILENT, 14);
    const before = [...store.checkpoints];
    store.checkpoints.clear();
    await buildEvaluator(store, SILENT).advance();
    expect([...store.checkpoints]).toEqual(before);
  });
});

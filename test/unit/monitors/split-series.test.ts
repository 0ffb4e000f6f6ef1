import { describe, expect, test } from 'vitest';
import { HOUR_MS, monitorGroup, monitorRule, QUICK_DRIFT } from '../../support/monitors/hourly-monitors.ts';
import {
  closeHour,
  buildEvaluator,
  MEMORY_START_MS,
  MemoryMonitors,
  runHourly,
} from '../../support/fakes/memory-monitors.ts';

const PLAIN = monitorRule(QUICK_DRIFT);
const BY_MODEL = monitorRule(QUICK_DRIFT, {
  alert: 'WorseModel',
  split: { by: ['model'], minDailyScores: 20 },
});

const HOURS = 62;

/** Two busy models, of which one is bad from the 30th hour to the 42nd, and one of which little is heard. */
function filled(): MemoryMonitors {
  const store = new MemoryMonitors();
  for (let hour = 0; hour < HOURS; hour += 1) {
    const atMs = MEMORY_START_MS + hour * HOUR_MS + 1_800_000;
    const isBad = hour >= 30 && hour < 42;
    store.scored(atMs, [0.8, 0.85, 0.9, 0.95], { model: 'steady' });
    store.scored(atMs, isBad ? [0.1, 0.2, 0.3, 0.25] : [0.8, 0.85, 0.9, 0.95], { model: 'new' });
    if (hour % 4 === 0) {
      store.scored(atMs, [0.1], { model: 'rare' });
    }
  }
  return store;
}

function listFired(store: MemoryMonitors): string[] {
  return [...store.events.values()]
    .filter(({ status }) => status === 'firing')
    .map(({ alert, series }) => `${alert} ${series.model ?? '-'}`)
    .sort();
}

describe('series that a rule splits', () => {
  test('have alerts of their own if they have enough traffic', async () => {
    const store = filled();
    closeHour(store, 0);
    const evaluator = buildEvaluator(store, [monitorGroup(BY_MODEL)]);
    await evaluator.advance();
    closeHour(store, HOURS);
    await evaluator.advance();
    expect(listFired(store)).toEqual(['WorseModel new']);
    expect(evaluator.statuses().map(({ series }) => series.model)).toEqual(['steady', 'new']);
  });

  test('stand beside those of a rule that does not split', async () => {
    const store = filled();
    await runHourly(store, [monitorGroup(PLAIN, BY_MODEL)], HOURS);
    expect(listFired(store)).toEqual(['Worse -', 'WorseModel new']);
  });

  test('come to the same end whichever write the process ends at', async () => {
    const expected = filled();
    await runHourly(expected, [monitorGroup(PLAIN, BY_MODEL)], HOURS);
    // Seven is no divisor of the writes of an hour: each kind of them has its turn.
    for (let endsAfterWrite = 1; endsAfterWrite <= expected.writes; endsAfterWrite += 7) {
      const store = filled();
      store.endsAfterWrite = endsAfterWrite;
      await runHourly(store, [monitorGroup(PLAIN, BY_MODEL)], HOURS);
      expect(store.writtenAlerts()).toEqual(expected.writtenAlerts());
      expect([...store.checkpoints]).toEqual([...expected.checkpoints]);
    }
  });

  test('are folded from history when their rule is new, as if it had always been there', async () => {
    const always = filled();
    await runHourly(always, [monitorGroup(PLAIN, BY_MODEL)], HOURS);
    const late = filled();
    await runHourly(late, [monitorGroup(PLAIN)], HOURS);
    const evaluator = buildEvaluator(late, [monitorGroup(PLAIN, BY_MODEL)]);
    await evaluator.advance();
    const standsAt = (store: MemoryMonitors) =>
      [...store.statuses.values()].filter(({ alert }) => alert === 'WorseModel');
    expect(standsAt(late)).toEqual(standsAt(always));
    expect(standsAt(late)).toMatchObject([{ phase: 'ok' }, { phase: 'ok' }]);
  });

  test('miss no scores from the time in which no process split the series', async () => {
    const store = filled();
    closeHour(store, 28);
    await buildEvaluator(store, [monitorGroup(PLAIN, BY_MODEL)]).advance();
    closeHour(store, HOURS);
    await buildEvaluator(store, [monitorGroup(PLAIN)]).advance();
    const evaluator = buildEvaluator(store, [monitorGroup(PLAIN, BY_MODEL)]);
    await evaluator.advance();
    const scores = evaluator.statuses().map(({ series, scores: count }) => [series.model, count]);
    expect(scores).toContainEqual(['new', (HOURS - 4) * 4]);
  });
});

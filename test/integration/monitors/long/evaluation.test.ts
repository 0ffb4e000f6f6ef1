import { describe, expect, test } from 'vitest';
import { compareValues } from '../../../../src/domain/compare-values.ts';
import type { Score } from '../../../../src/domain/score.ts';
import type { AlertEvent } from '../../../../src/monitors/alert-event.ts';
import {
  DAY_MS,
  HOUR_MS,
  monitorGroup,
  monitorRule,
  QUICK_DRIFT,
} from '../../../support/monitors/hourly-monitors.ts';
import { worldsOfTests, WORLD_START_MS as START } from '../../../support/monitors/monitor-world.ts';
import { buildDecision, newTraceId } from '../../../support/store/store-rows.ts';

const its = worldsOfTests();

const GOOD: readonly Partial<Score>[] = [0.8, 0.85, 0.9, 0.95].map((score) => ({ score }));
const BAD: readonly Partial<Score>[] = [0.1, 0.2, 0.3].map((score) => ({ score }));
const FLOOR = monitorRule({ kind: 'floor', minimum: 0.5 });

/** Closes everything up to a time: buckets of an hour close a minute after it. */
function closed(untilMs: number): number {
  return untilMs + 61_000;
}

/** Stored bucket that begins at a time. */
async function bucketAt(atMs: number) {
  const found = [];
  for await (const rows of its.world.store.monitors.buckets({
    intervalMs: HOUR_MS,
    fromMs: atMs,
    toMs: atMs + HOUR_MS,
  })) {
    found.push(...rows);
  }
  return found;
}

function expectModelsToAddUp(cause: AlertEvent['cause']): void {
  const models = cause?.dimensions.find(({ dimension }) => dimension === 'model');
  // Runs before the change name no model.
  expect(models?.segments.map(({ value }) => value).sort()).toEqual(['', 'm0', 'm1']);
  expect((models?.within ?? 0) + (models?.mix ?? 0)).toBeCloseTo(cause?.change ?? 0, 9);
}

describe('monitors on the live store', () => {
  test('report a drift once with its evidence, and its end', async () => {
    const evaluator = its.world.evaluator([monitorGroup(monitorRule(QUICK_DRIFT))]);
    await evaluator.advance();
    const begun = START + 30 * HOUR_MS;
    const mended = begun + 12 * HOUR_MS;
    await its.world.scoredHourly(START, begun, GOOD);
    await its.world.scoredHourly(
      begun,
      mended,
      BAD.map((bad, index) => ({ ...bad, model: `m${index % 2}`, serviceVersion: 'v2', agentVersion: 'a2' })),
    );
    await its.world.scoredHourly(mended, mended + 30 * HOUR_MS, GOOD);
    its.world.clockMs = closed(mended + 30 * HOUR_MS);
    await evaluator.advance();
    const { items } = await its.world.store.alerts.list({}, { limit: 10 });
    const [resolved, firing, ...more] = items;
    expect(more).toEqual([]);
    expect(firing).toMatchObject({
      status: 'firing',
      alert: 'Worse',
      detector: 'drift',
      series: { tenant: '', scorer: 'keyword-coverage', agent: 'weather-agent' },
      changeBeganMs: begun,
      endsAtMs: null,
      labels: { severity: 'page' },
      serviceVersion: 'v2',
      agentVersion: 'a2',
    });
    expect(firing?.before).toBeCloseTo(0.875, 2);
    expect(firing?.after).toBeLessThan(0.3);
    expect(firing?.startsAtMs).toBeGreaterThan(begun);
    expect(firing?.startsAtMs).toBeLessThanOrEqual(begun + 6 * HOUR_MS);
    expect(firing?.worstTraces[0]).toMatchObject({ score: 0.1 });
    expect(firing?.worstTraces.length).toBeLessThanOrEqual(5);
    expectModelsToAddUp(firing?.cause);
    expect(resolved).toMatchObject({
      status: 'resolved',
      incidentId: firing?.incidentId,
      worstTraces: firing?.worstTraces,
    });
    expect(resolved?.endsAtMs).toBeGreaterThan(mended);
    expect(await its.world.store.alerts.open()).toEqual([]);
    expect(await its.world.store.alerts.incident(firing?.incidentId ?? '')).toEqual([firing, resolved]);
  });

  test('direct scores by range and direction', async () => {
    await its.world.scored(START + 1000, [
      { score: 4, scoreMin: 0, scoreMax: 5 },
      { score: 0.2, higherIsBetter: false },
      { score: 7, scoreMin: 0, scoreMax: 5 },
    ]);
    its.world.clockMs = closed(START + HOUR_MS);
    await its.world.evaluator([monitorGroup(FLOOR)]).advance();
    const [only] = await bucketAt(START);
    expect(only?.bucket.scores).toEqual({ values: [0.8, 1], counts: [2, 1] });
  });

  test('fold first live scores of the uniform draw only, and count the rest by its reason', async () => {
    const again = { scoreId: '11111111-1111-5111-8111-111111111111', traceId: newTraceId() };
    await its.world.scored(START + 1000, [
      { score: 1 },
      { ...again, score: 0.5 },
      { score: 0, source: 'backfill', stratum: 'backfill' },
      { score: 0, source: 'human' },
      { score: 0, source: 'api' },
      { score: 0, stratum: 'priority' },
      { score: 0, evidenceUntil: START - 2 * HOUR_MS },
      { score: 0, higherIsBetter: null },
    ]);
    await its.world.scored(START + 2000, [{ ...again, score: 0.5 }]);
    await its.world.scored(START + 3000, [
      { ...again, score: 0.1, revision: 2, evidenceUntil: START + 2500 },
    ]);
    its.world.clockMs = closed(START + HOUR_MS);
    await its.world.evaluator([monitorGroup(FLOOR)]).advance();
    const [only, ...others] = await bucketAt(START);
    expect(others).toEqual([]);
    expect(only?.bucket.scores).toEqual({ values: [0.5, 1], counts: [1, 1] });
    expect(only?.aside).toEqual({ refused: 1, repeated: 1, rescored: 1, late: 1, notUniform: 1, notLive: 3 });
  });

  test('leave out the measures of a new agent, whose range comes from no run of it', async () => {
    const cost = { scorer: 'behaviour-cost', score: 0.01, higherIsBetter: false };
    await its.world.scored(START + 1000, [
      { ...cost, scoreMax: 0.1 },
      { ...cost, scoreMax: 0.02 },
    ]);
    its.world.clockMs = closed(START + HOUR_MS);
    await its.world.evaluator([monitorGroup(FLOOR)]).advance();
    const [only] = await bucketAt(START);
    expect(only?.bucket.scores).toEqual({ values: [0.5], counts: [1] });
  });

  test('name a scorer without range or direction, once', async () => {
    const evaluator = its.world.evaluator([monitorGroup(FLOOR)]);
    await evaluator.advance();
    await its.world.scored(START + 1000, [{ scorer: 'nameless-range', scoreMax: null }]);
    await its.world.scored(START + HOUR_MS, [{ scorer: 'nameless-range', scoreMax: null }]);
    its.world.clockMs = closed(START + 2 * HOUR_MS);
    await evaluator.advance();
    expect(its.world.warnings).toEqual([
      {
        message: expect.stringMatching(/without a range and a direction/),
        fields: { scorer: 'nameless-range' },
      },
    ]);
    expect(evaluator.statuses()).toEqual([]);
  });

  test('fold a score that came again within the hour, in the next bucket, once', async () => {
    const same = { scoreId: '22222222-2222-5222-8222-222222222222', traceId: newTraceId(), score: 0.5 };
    await its.world.scored(START + HOUR_MS - 1000, [same]);
    await its.world.scored(START + HOUR_MS + 1000, [{ ...same, durationMs: 2 }]);
    its.world.clockMs = closed(START + 2 * HOUR_MS);
    await its.world.evaluator([monitorGroup(FLOOR)]).advance();
    expect((await bucketAt(START))[0]?.bucket.scores.counts).toEqual([1]);
    expect((await bucketAt(START + HOUR_MS))[0]?.bucket.scores.counts).toEqual([]);
    expect((await bucketAt(START + HOUR_MS))[0]?.aside.repeated).toBe(1);
  });

  test('fold a score once whose weight changes hours later, when a late span shows an error', async () => {
    const same = { scoreId: '33333333-3333-5333-8333-333333333333', traceId: newTraceId(), score: 0.5 };
    await its.world.scored(START + 1000, [same]);
    const scoredAt = START + 500;
    const lateMs = START + 3 * HOUR_MS;
    await its.world.scored(lateMs + 1000, [{ ...same, scoredAt, evidenceUntil: lateMs, weight: 1 }]);
    its.world.clockMs = closed(START + 4 * HOUR_MS);
    await its.world.evaluator([monitorGroup(FLOOR)]).advance();
    expect((await bucketAt(START))[0]?.bucket.scores.counts).toEqual([1]);
    expect((await bucketAt(lateMs))[0]?.bucket.scores.counts).toEqual([]);
    expect((await bucketAt(lateMs))[0]?.aside.repeated).toBe(1);
  });

  test('watch two judges of one scorer as two series', async () => {
    const evaluator = its.world.evaluator([monitorGroup(FLOOR)]);
    await evaluator.advance();
    const ofJudge = (fingerprint: string, score: number) =>
      Array.from({ length: 60 }, () => ({ fingerprint, score }));
    await its.world.scored(START + 1000, [...ofJudge('judge-a', 0.9), ...ofJudge('judge-b', 0.05)]);
    its.world.clockMs = closed(START + HOUR_MS);
    await evaluator.advance();
    const phases = evaluator.statuses().map(({ series, phase }) => [series.fingerprint, phase]);
    expect(Object.fromEntries(phases)).toEqual({ 'judge-a': 'ok', 'judge-b': 'firing' });
    expect(await its.world.store.alerts.open()).toHaveLength(1);
  });

  test('count the calls of one trace as one observation: their mean', async () => {
    const call = (traceId: string, score: number) => ({ target: 'model-call' as const, traceId, score });
    const [many, few] = [newTraceId(), newTraceId()];
    await its.world.scored(START + 1000, [
      ...Array.from({ length: 20 }, (_, index) => call(many, index < 15 ? 0 : 1)),
      call(few, 0.5),
      call(few, 0.601),
    ]);
    its.world.clockMs = closed(START + HOUR_MS);
    const evaluator = its.world.evaluator([monitorGroup(FLOOR)]);
    await evaluator.advance();
    const [only, ...others] = await bucketAt(START);
    expect(others).toEqual([]);
    expect(only?.bucket.scores).toEqual({ values: [0.25, 0.551], counts: [1, 1] });
    const past = [];
    for await (const batch of its.world.store.monitorView.pastScores({ fromMs: 0, toMs: Date.now() })) {
      past.push(...batch.map(({ step, series }) => `${step} ${series.target}`));
    }
    expect(past.toSorted(compareValues)).toEqual(['250 model-call', '551 model-call']);
  });

  test('count one outcome of the calls of a trace', async () => {
    its.world.clockMs = Date.now() - 3 * HOUR_MS;
    const evaluator = its.world.evaluator([monitorGroup(FLOOR)]);
    await evaluator.advance();
    const call = (traceId: string, index: number) =>
      buildDecision({ target: 'model-call', traceId, targetId: `${traceId}/${index}`, status: 'failed' });
    const traces = [newTraceId(), newTraceId()];
    const calls = traces.flatMap((traceId) => Array.from({ length: 20 }, (_, index) => call(traceId, index)));
    const session = (targetId: string) =>
      buildDecision({ target: 'session', traceId: '', targetId, status: 'deferred', nextAttemptAt: 1 });
    await its.world.store.decisions.write([
      ...calls,
      session('chat-1'),
      session('chat-2'),
      session('chat-3'),
    ]);
    its.world.clockMs = Date.now() + 2 * HOUR_MS;
    await evaluator.advance();
    const found = [];
    for await (const rows of its.world.store.monitors.buckets({
      intervalMs: HOUR_MS,
      fromMs: 0,
      toMs: Date.now(),
    })) {
      found.push(...rows.map(({ series, bucket }) => [series.target, bucket.outcomes]));
    }
    expect(Object.fromEntries(found)).toEqual({
      'model-call': { scored: 0, failed: 2, deferred: 0 },
      session: { scored: 0, failed: 0, deferred: 3 },
    });
  });

  test('watch runs, agents, model calls and sessions of one scorer as series of their own', async () => {
    const ofSessions = monitorRule(
      { kind: 'floor', minimum: 0.5 },
      { alert: 'Chats', series: { target: 'session' } },
    );
    const evaluator = its.world.evaluator([monitorGroup(FLOOR, ofSessions)]);
    await evaluator.advance();
    const of = (fields: Partial<Score>) => Array.from({ length: 60 }, () => fields);
    await its.world.scored(START + 1000, [
      ...of({ score: 0.9 }),
      ...of({ score: 0.9, target: 'agent' }),
      ...of({ score: 0.05, target: 'session', traceId: '' }),
    ]);
    its.world.clockMs = closed(START + HOUR_MS);
    await evaluator.advance();
    const phases = evaluator
      .statuses()
      .map(({ alert, series, phase }) => [alert, series.target ?? 'trace', phase].join(' '));
    expect(phases.toSorted(compareValues)).toEqual([
      'Chats session firing',
      'Worse agent ok',
      'Worse session firing',
      'Worse trace ok',
    ]);
    const open = await its.world.store.alerts.open();
    expect(open.map(({ series, worstTraces }) => [series.target, worstTraces])).toEqual([
      ['session', []],
      ['session', []],
    ]);
    expect(await its.world.store.monitorView.setAside({ intervalMs: HOUR_MS, sinceMs: START })).toMatchObject(
      [{ scorer: 'keyword-coverage', folded: 180 }],
    );
    const restored = its.world.evaluator([monitorGroup(FLOOR, ofSessions)]);
    await restored.advance();
    expect(restored.statuses()).toEqual(evaluator.statuses());
  });

  test('take an empty hour for no news, and a day of silence for no data, never for low scores', async () => {
    const evaluator = its.world.evaluator([monitorGroup(FLOOR)]);
    await evaluator.advance();
    await its.world.scored(START + 1000, GOOD);
    its.world.clockMs = closed(START + 2 * HOUR_MS);
    await evaluator.advance();
    expect(evaluator.statuses()[0]).toMatchObject({ phase: 'ok', mean: 0.875 });
    its.world.clockMs = closed(START + 2 * DAY_MS);
    await evaluator.advance();
    expect(evaluator.statuses()[0]).toMatchObject({ phase: 'no_data', scores: 4 });
    expect((await its.world.store.alerts.list({}, { limit: 10 })).items).toEqual([]);
  });

  test('say that a scorer fails, not that scores are low, when its attempts end in errors', async () => {
    const failing = monitorRule({ kind: 'scorer_errors', maxRate: 0.05 }, { alert: 'JudgeDown' });
    its.world.clockMs = Date.now() - 3 * HOUR_MS;
    const evaluator = its.world.evaluator([monitorGroup(FLOOR, failing)]);
    await evaluator.advance();
    await its.world.store.decisions.write(
      Array.from({ length: 200 }, () =>
        buildDecision({
          status: 'failed',
          scorer: 'judged',
          agent: 'weather-agent',
          environment: 'production',
        }),
      ),
    );
    await its.world.store.decisions.write([
      buildDecision({ status: 'deferred', scorer: 'judged', reason: 'in_progress: x' }),
    ]);
    its.world.clockMs = Date.now() + 2 * HOUR_MS;
    await evaluator.advance();
    expect(await its.world.store.alerts.open()).toMatchObject([
      {
        alert: 'JudgeDown',
        series: { scorer: 'judged', agent: 'weather-agent', environment: 'production' },
        after: 1,
        count: 200,
        worstTraces: [],
      },
    ]);
  });

  test('learn from earlier scores, and report no past incidents', async () => {
    await its.world.scoredHourly(START, START + 30 * HOUR_MS, GOOD);
    await its.world.scoredHourly(START + 30 * HOUR_MS, START + 42 * HOUR_MS, BAD);
    await its.world.scoredHourly(START + 42 * HOUR_MS, START + 72 * HOUR_MS, GOOD);
    its.world.clockMs = closed(START + 72 * HOUR_MS);
    const evaluator = its.world.evaluator([monitorGroup(monitorRule(QUICK_DRIFT))]);
    await evaluator.advance();
    expect(evaluator.statuses()[0]).toMatchObject({ phase: 'ok', lacks: null });
    expect((await its.world.store.alerts.list({}, { limit: 10 })).items).toEqual([]);
  });

  test('end the incidents of a rule that is no more', async () => {
    await its.world.scored(
      START + 1000,
      Array.from({ length: 60 }, () => ({ score: 0.05 })),
    );
    its.world.clockMs = closed(START + HOUR_MS);
    await its.world.evaluator([monitorGroup(FLOOR)]).advance();
    const [open] = await its.world.store.alerts.open();
    await its.world.evaluator([monitorGroup({ ...FLOOR, paused: true })]).advance();
    expect(await its.world.store.alerts.open()).toEqual([]);
    expect(await its.world.store.alerts.incident(open?.incidentId ?? '')).toMatchObject([
      { status: 'firing' },
      { status: 'resolved', endsAtMs: START + HOUR_MS + 1 },
    ]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AnchorRow } from '../../../src/domain/anchor.ts';
import type { Score } from '../../../src/domain/score.ts';
import { anAlert, resolvedEvent } from '../../support/builders/an-alert.ts';
import { buildScore, newTraceId, testStore, type TestStore } from '../../support/store/store-rows.ts';

let world: TestStore;

beforeAll(async () => {
  world = await testStore();
});
afterAll(() => world.stop());

const AT = Date.UTC(2026, 10, 20);
const OWN = { fingerprint: 'f-anchors', scorer: 'grounding-hallucination', higherIsBetter: false };

function scoreAt(minute: number, more: Partial<Score> = {}): Score {
  const traceId = more.traceId ?? newTraceId();
  const place = { traceId, targetId: traceId, scoredAt: AT + minute * 60_000, traceTimestamp: AT };
  return buildScore({ ...OWN, ...place, scoreMin: 0, scoreMax: 1, score: 0.25, ...more });
}

describe('the store of anchors', () => {
  it('offers the first live scores of uniformly sampled runs, labelled ones first, and none that is frozen', async () => {
    const [first, second, third, frozen] = [1, 2, 3, 0].map((minute) => scoreAt(minute));
    const traceId = second?.traceId ?? '';
    const labelled = third?.traceId ?? '';
    await world.store.scores.write([
      ...[first, second, third, frozen].flatMap((score) => score ?? []),
      scoreAt(2, { traceId, scorer: 'grounding-faithfulness', higherIsBetter: true }),
      scoreAt(0, { source: 'backfill' }),
      scoreAt(0, { stratum: 'priority' }),
      scoreAt(0, { fingerprint: 'other' }),
      scoreAt(0, { scoreMax: null }),
      scoreAt(9, { traceId: labelled, source: 'human', fingerprint: 'human', scoredBy: 'ann' }),
    ]);
    const row: AnchorRow = {
      tenant: '',
      scorer: OWN.scorer,
      fingerprint: OWN.fingerprint,
      traceId: frozen?.traceId ?? '',
      first: true,
      score: 0.75,
      atMs: AT,
      servedModel: '',
    };
    await world.store.anchors.write([row]);

    const { fingerprint } = OWN;
    const found = await world.store.anchors.candidates({ fingerprint, sinceMs: AT, limit: 10 });
    expect(found.map((each) => each.traceId)).toEqual([labelled, first?.traceId, traceId]);
    expect(found[2]?.scores.toSorted()).toEqual([
      ['grounding-faithfulness', 0.25],
      ['grounding-hallucination', 0.75],
    ]);
    const later = await world.store.anchors.candidates({ fingerprint, sinceMs: AT + 100_000, limit: 1 });
    expect(later.map((each) => each.traceId)).toEqual([labelled]);
    expect(await world.store.anchors.since(AT)).toEqual([row]);
    expect(await world.store.anchors.since(AT + 1)).toEqual([]);
    expect(await world.store.monitors.hasAnchors({ ...anAlert().series, ...OWN })).toBe(true);
    expect(await world.store.monitors.hasAnchors(anAlert().series)).toBe(false);
  });

  it('tells which anchors have labels', async () => {
    const [{ traceId } = { traceId: '' }] = await world.store.anchors.since(AT);
    expect(await world.store.anchors.labelled()).toEqual([]);
    await world.store.scores.write([
      scoreAt(9, { traceId, source: 'human', fingerprint: 'human', scoredBy: 'ann' }),
    ]);
    expect(await world.store.anchors.labelled()).toEqual([{ tenant: '', scorer: OWN.scorer, traceId }]);
  });

  it('counts the runs that judges were asked about, without anchors', async () => {
    const call = {
      tenant: '',
      traceId: newTraceId(),
      scoreId: 's1',
      scorer: 'grounding',
      step: 'ask',
      model: 'local/judge',
      servedModel: 'judge-2',
      status: 'success' as const,
      prompt: '',
      reply: '',
      error: '',
      inputTokens: 1,
      outputTokens: 1,
      costUsd: 0,
      durationMs: 1,
      calledAtMs: Date.now(),
    };
    await world.store.judgeCalls.write([call, { ...call, step: 'again' }, { ...call, scoreId: 's2' }]);
    await world.store.judgeCalls.write([{ ...call, scoreId: '' }]);
    expect(await world.store.anchors.judgedRuns(Date.now() - 60_000)).toEqual(new Map([['grounding', 2]]));
  });
});

describe('the store of alerts about judges', () => {
  it('reads incidents of judges with their ends and acknowledgements, and the events that wait for a verdict', async () => {
    const { alerts } = world.store;
    const decideByMs = Date.now();
    const drift = anAlert({ alert: 'JudgeDrift', detector: 'judge', labels: { judge: 'local/judge' } });
    const waiting = anAlert({ alert: 'Low', culprit: { who: 'deciding', judge: null, decideByMs } });
    await alerts.write([drift, waiting, resolvedEvent(waiting)]);
    expect(await alerts.judgeDrifts()).toEqual([{ firing: drift, endedMs: null, acknowledgedMs: null }]);
    const ids = async () => {
      const { drifts, deciding } = await alerts.judgeWork(decideByMs - 60_000);
      expect(drifts).toEqual(await alerts.judgeDrifts());
      return deciding.map(({ id }) => id).toSorted();
    };
    expect(await ids()).toEqual([waiting.id, resolvedEvent(waiting).id].toSorted());
    await alerts.write([{ ...waiting, culprit: { who: 'agent', judge: null, decideByMs } }]);
    expect(await ids()).toEqual([resolvedEvent(waiting).id]);
    await alerts.acknowledge(drift.incidentId, { tenant: '', by: 'ann' });
    await alerts.write([resolvedEvent(drift)]);
    const [ended] = await alerts.judgeDrifts();
    expect((await alerts.judgeWork(Date.now() + 60_000)).deciding).toEqual([]);
    expect(ended?.endedMs).toBe(resolvedEvent(drift).endsAtMs);
    expect(ended?.acknowledgedMs).toBeGreaterThan(0);
  });
});

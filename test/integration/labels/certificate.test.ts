import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Score } from '../../../src/domain/score.ts';
import { isCertified } from '../../../src/labels/read-agreement.ts';
import { anAlert, resolvedEvent } from '../../support/builders/an-alert.ts';
import { buildScore, newTraceId, testStore, type TestStore } from '../../support/store/store-rows.ts';

let base: TestStore;

beforeAll(async () => {
  base = await testStore();
});
afterAll(() => base.stop());

const SERIES = { tenant: '', scorer: 'honesty', fingerprint: 'v1', agent: '', environment: '' };

/** Scores of a scorer, with the label of a person that agrees. */
function labelledScores(count: number, score: number): Score[] {
  return Array.from({ length: count }, () => newTraceId()).flatMap((traceId) => {
    const place = { traceId, targetId: traceId, scorer: 'honesty', traceTimestamp: Date.now() - 60_000 };
    const range = { score, scoreMin: 0, scoreMax: 1, higherIsBetter: true };
    return [
      buildScore({ ...place, ...range, fingerprint: 'v1' }),
      buildScore({ ...place, ...range, fingerprint: 'human', source: 'human', scoredBy: 'ann' }),
    ];
  });
}

it('labels certify the judge of a series until it changes under the same name, and again when it is as before', async () => {
  const { labels, alerts, scores } = base.store;
  const required = { sensitivity: 0.8, specificity: 0.8 };
  const ask = (fingerprint = 'v1') =>
    isCertified(
      { labels, alerts, required, findPassLine: async () => 0.5 },
      { ...SERIES, fingerprint },
      Date.now(),
    );
  expect(await ask()).toBe(false);
  await scores.write([...labelledScores(60, 1), ...labelledScores(60, 0)]);
  expect(await ask()).toBe(true);
  expect(await ask('v2')).toBe(false);
  const drift = anAlert({ alert: 'JudgeDrift', detector: 'judge', series: SERIES });
  await alerts.write([drift]);
  expect(await ask()).toBe(false);
  await alerts.write([resolvedEvent(drift)]);
  expect(await ask()).toBe(true);
});

import { expect, it } from 'vitest';
import {
  describeDryRun,
  describeEstimate,
  describeVolume,
  listNotUnderstood,
  listVerdicts,
} from '../../../src/dashboard/view-models/estimate.ts';
import { aPreview, aSessionPreview } from '../../support/dashboard/reply-builders.ts';

it('an estimate says calls, cost with its interval, source and time', () => {
  expect(describeEstimate(aPreview().estimate)).toBe(
    '300 judge calls · about $0.42 ($0.38 to $0.46) (lengths of replies from stored calls, 50 prompts rendered) · 40 s at the configured limits',
  );
});

it('a judge without a price has no cost', () => {
  const { estimate } = aPreview();
  expect(describeEstimate({ ...estimate, costUsd: null, costLow: null, costHigh: null })).toContain(
    'an unknown cost: a judge has no price',
  );
});

it('a preview says its volume, its verdicts and what was not understood', () => {
  const preview = aPreview();
  expect(describeVolume(preview)).toBe(
    '100 of 400 traces would be scored (25 %), the others not: 300 sampled_out. A week has about 700 of them, for about $2.94 ($2.66 to $3.22).',
  );
  const rare = { ...preview, perWeek: { ...preview.perWeek, traces: 0.4 } };
  expect(describeVolume(rare)).toContain('A week has less than 1 of them');
  expect(listVerdicts(preview)).toMatchObject([
    { traceId: preview.traces[0]?.traceId, run: 'no run', scorer: 'hallucination', score: 0.5 },
  ]);
  expect(listNotUnderstood(preview)).toEqual([]);
});

it('a preview of a rule on sessions counts sessions, and names the session of each verdict', () => {
  const preview = aSessionPreview();
  expect(describeVolume(preview)).toContain('100 of 400 sessions would be scored (25 %)');
  expect(listVerdicts(preview)).toMatchObject([{ traceId: '', sessionId: 'sess-1', targetId: 'sess-1' }]);
});

it('a dry run without an estimate says its counts', () => {
  expect(describeDryRun({ matched: 3, remaining: 6 } as Parameters<typeof describeDryRun>[0])).toBe(
    '3 traces, 6 scores to make',
  );
});

import { expect, it } from 'vitest';
import {
  describeCost,
  describeState,
  describeWork,
  listActions,
  listReasons,
  readProgress,
} from '../../../src/dashboard/view-models/backfills.ts';
import { aBackfill } from '../../support/dashboard/reply-builders.ts';

it('a running backfill says what is done, what is left, how fast it is and what it costs', () => {
  const running = aBackfill({ status: 'running', remaining: 300, perSecond: 2.54, etaSeconds: 118 });
  expect(readProgress(running)).toEqual({
    done: 100,
    all: 400,
    text: '80 scored · 15 skipped · 5 failed · 300 left · 2.5 a second · 2 min to go',
  });
  expect(describeCost(running)).toBe('$0.5 of $5.00');
  expect(describeCost({ ...running, maxCostUsd: null })).toBe('$0.5');
  expect(listReasons(running)).toEqual(['15 already_scored', '5 timeout']);
  expect(describeWork(running)).toBe('production: hallucination');
});

it('a backfill that does not go on says why', () => {
  expect(describeState(aBackfill({ status: 'running', error: 'the judge is away' }))).toBe(
    '▶ running: the judge is away',
  );
  expect(describeState(aBackfill({ status: 'queued', left: 'host:1 left the job: another scorer' }))).toBe(
    '… waits for a process: host:1 left the job: another scorer',
  );
  expect(describeState(aBackfill())).toBe('✓ done');
});

it.each([
  ['queued', ['pause', 'cancel']],
  ['paused', ['resume', 'cancel']],
  ['done', []],
] as const)('a backfill that is %s offers %j', (status, actions) => {
  expect(listActions(aBackfill({ status }))).toEqual(actions);
});

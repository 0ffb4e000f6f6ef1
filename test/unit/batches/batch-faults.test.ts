import { expect, it } from 'vitest';
import { describeEnd, describeRefusal, describeWait, isRefusal } from '../../../src/batches/batch-faults.ts';
import { JudgeError } from '../../../src/judge/judge-error.ts';

const fault = (status?: number) =>
  new JudgeError('judge_unavailable', 'it failed', { details: { ...(status && { status }) } });

it.each([
  [401, /check judges\.providers\.openai\.apiKey/],
  [403, /check judges\.providers\.openai\.apiKey/],
  [429, /limits and the bills/],
  [500, /check judges\.providers\.openai\.baseURL/],
  [undefined, /check judges\.providers\.openai\.baseURL/],
])('a batch that waits after the status %s says what to check', (status, advice) => {
  expect(isRefusal(fault(status))).toBe(false);
  expect(describeWait(fault(status), 'openai')).toMatch(advice);
});

it('a provider without a Batch API is named', () => {
  expect(isRefusal(fault(404))).toBe(true);
  expect(describeRefusal(fault(404), 'openai')).toContain('no Batch API at judges.providers.openai.baseURL');
  expect(describeRefusal(fault(400), 'openai')).toBe('it failed');
});

it('a batch that has ended says how many questions have no reply, and nothing when all have one', () => {
  const end = { ending: 'completed', failure: '', all: 3, missing: 0, overloads: 0 };
  expect(describeEnd(end)).toBe('');
  expect(describeEnd({ ...end, missing: 2, overloads: 1 })).toBe(
    'the batch ended as completed; 2 of 3 questions have no reply; the provider was overloaded for 1; the questions go into another batch, up to three in all; if that fails, too: cancel the backfill, and start it without --batch',
  );
  expect(describeEnd({ ...end, ending: 'cancelled', missing: 1 })).toBe(
    'the batch ended as cancelled; 1 of 3 questions have no reply; the questions go into another batch',
  );
});

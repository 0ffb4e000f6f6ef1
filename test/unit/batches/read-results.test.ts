import { describe, expect, it } from 'vitest';
import { readResultLine } from '../../../src/batches/read-results.ts';

describe('a line of a file of results', () => {
  it('has the reply of a question', () => {
    const response = { status_code: 200, request_id: 'r', body: { choices: [] } };
    expect(readResultLine(JSON.stringify({ id: 'x', custom_id: 'a', response, error: null }))).toEqual({
      customId: 'a',
      status: 200,
      body: '{"choices":[]}',
    });
  });

  it('has the reason why a question was not asked', () => {
    const error = { code: 'batch_expired', message: 'too late' };
    expect(readResultLine(JSON.stringify({ custom_id: 'a', response: null, error }))).toEqual({
      customId: 'a',
      status: 0,
      body: 'batch_expired: too late',
    });
  });

  it.each([
    '{"custom_id":"a","respo',
    '[]',
    '{}',
    '{"custom_id":7}',
    '{"custom_id":"a"}',
    '{"custom_id":"a","response":{"status_code":"200","body":{}}}',
    '{"custom_id":"a","response":{"status_code":200,"body":"text"}}',
  ])('is none: %s', (line) => {
    expect(readResultLine(line)).toBeUndefined();
  });
});

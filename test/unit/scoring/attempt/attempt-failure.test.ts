import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/domain/errors.ts';
import { JudgeError, type JudgeErrorOptions } from '../../../../src/judge/judge-error.ts';
import { toFailure } from '../../../../src/scoring/attempt/attempt-failure.ts';

/** Wraps an error of a judge as a scorer throws it. */
function wrapped(code: 'budget_exhausted' | 'judge_unauthorised', options: JudgeErrorOptions): AppError {
  const cause = new JudgeError(code, 'why', options);
  return new AppError('Scorer "x" failed in analyze: why', { code, stage: 'judge', retryable: true, cause });
}

describe('the failure of a scorer', () => {
  it('has the kind of the judge error inside', () => {
    const failure = toFailure(wrapped('judge_unauthorised', { kind: 'HTTP 401' }));
    expect(failure).toMatchObject({ status: 'deferred', kind: 'HTTP 401' });
  });

  it('waits until exactly midnight when the budget error inside says so', () => {
    const failure = toFailure(wrapped('budget_exhausted', { details: { notBeforeMs: 86_400_000 } }));
    expect(failure).toMatchObject({ status: 'deferred', notBeforeMs: 86_400_000, kind: 'budget' });
  });
});

import { ClickHouseError } from '@clickhouse/client';
import { describe, expect, test } from 'vitest';
import { AppError, StoreRejectedError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import { toStoreError } from '../../../src/store/store-error.ts';

function answer(code: string, type: string): ClickHouseError {
  return new ClickHouseError({ message: 'it says so\nand more', code, type });
}

describe('an error of the store', () => {
  test.each([
    ['252', 'TOO_MANY_PARTS'],
    ['241', 'MEMORY_LIMIT_EXCEEDED'],
    ['159', 'TIMEOUT_EXCEEDED'],
    ['242', 'TABLE_IS_READ_ONLY'],
    ['60', 'UNKNOWN_TABLE'],
    ['516', 'AUTHENTICATION_FAILED'],
  ])('of code %s (%s) may pass: the rows are fine', (code, type) => {
    const error = toStoreError(answer(code, type), 'inserting');
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error).toMatchObject({ retryable: true, retryAfterMs: 1000 });
    expect(error.message).toContain(type);
  });

  test.each([
    ['117', 'INCORRECT_DATA'],
    ['62', 'SYNTAX_ERROR'],
    ['16', 'NO_SUCH_COLUMN_IN_TABLE'],
  ])('of code %s (%s) will come again', (code, type) => {
    const cause = answer(code, type);
    const error = toStoreError(cause, 'inserting');
    expect(error).toBeInstanceOf(StoreRejectedError);
    expect(error).toMatchObject({ retryable: false, cause, details: { clickhouseCode: Number(code) } });
    expect(error.message).not.toContain('and more');
  });

  test('that does not come from the server means that it was not reached', () => {
    const error = toStoreError(
      new AggregateError([new Error('refused on ::1'), new Error('refused')], ''),
      'reading',
    );
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error.message).toContain('refused on ::1; refused');
  });

  test('that is an AppError already stays unchanged', () => {
    const known = new AppError('x', { code: 'bug', stage: 'store', retryable: false });
    expect(toStoreError(known, 'reading')).toBe(known);
  });
});

import { ClickHouseError } from '@clickhouse/client';
import { describe, expect, it } from 'vitest';
import { retryState } from '../../../../src/store/cluster/retry-state.ts';

const refusal = (code: string) => new ClickHouseError({ message: 'refused', code, type: 'REFUSED' });

/** Statement that fails with each error once, then succeeds. */
function aStatement(errors: readonly Error[]) {
  const left = [...errors];
  let runs = 0;
  return {
    run: async () => {
      runs += 1;
      const error = left.shift();
      if (error !== undefined) {
        throw error;
      }
      return 'done';
    },
    countRuns: () => runs,
  };
}

describe('a statement on state', () => {
  it('is repeated while another insert waits for its majority, or the server lacks a row', async () => {
    const statement = aStatement([refusal('286'), refusal('289')]);

    await expect(retryState(statement.run)).resolves.toBe('done');
    expect(statement.countRuns()).toBe(3);
  });

  it.each([refusal('319'), refusal('285'), new Error('socket hang up')])(
    'is not repeated when it may have run, or cannot: %s',
    async (error) => {
      const statement = aStatement([error]);

      await expect(retryState(statement.run)).rejects.toBe(error);
      expect(statement.countRuns()).toBe(1);
    },
  );
});

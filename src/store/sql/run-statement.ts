import { AppError } from '../../domain/errors.ts';
import { MIB } from '../../domain/byte-sizes.ts';
import { SECOND_MS } from '../../domain/durations.ts';
import type { SqlRequest } from '../contracts/store.ts';
import type { Database } from '../database.ts';
import { createStatementCheck } from './check-statement.ts';

/** Statements of one process that run at a time. The embedded engine runs as many for other programs. */
const MAX_RUNNING = 2;

/** Limits of each statement. Two of them leave the engine a third of its smallest memory. */
const LIMITS = {
  max_memory_usage: String(256 * MIB),
  max_result_rows: '5000000',
  max_result_bytes: String(1024 * MIB),
  max_threads: 2,
} as const;

/** Time that a statement may wait for its turn and its reply, beside its own limit, milliseconds. */
const GRACE_MS = 30_000;

/** Statements of people: one SELECT over the documented tables, read-only and with limits. */
export function createSqlStatements(database: Database) {
  const check = createStatementCheck(database);
  let running = 0;

  return {
    /**
     * Streams the rows of a SELECT in its format. Fails before the first byte, or not at all. Throws a `RequestError` for a statement that
     * is refused, wrong, or reaches a limit.
     */
    async *run({ query, format, maxSeconds, signal }: SqlRequest): AsyncGenerator<Uint8Array> {
      if (running >= MAX_RUNNING) {
        throw new AppError(`${MAX_RUNNING} SQL statements run already; try again later`, {
          code: 'overloaded',
          stage: 'store',
          retryable: true,
        });
      }
      running += 1;
      try {
        const sql = await check(query);
        const settings = {
          ...LIMITS,
          max_execution_time: maxSeconds,
          output_format_pretty_color: 0,
          cancel_http_readonly_queries_on_client_close: 1,
          readonly: '1',
        } as const;
        const timeoutMs = maxSeconds * SECOND_MS + GRACE_MS;
        yield* database.guestBytes(`${sql} FORMAT ${format}`, { settings, timeoutMs, signal });
      } finally {
        running -= 1;
      }
    },
  };
}

import { AppError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import type { IngestTable, RowBlock } from '../../../src/store/contracts/rows.ts';
import type { SpanSink } from '../../../src/store/spans/span-sink.ts';
import { readRows, type Row } from '../store/row-binary-reader.ts';

interface Insert {
  readonly token: string;
  readonly table: IngestTable;
  readonly rows: readonly Row[];
}

/** Sink in memory. Records every attempt, deduplicates by token like the store, and fails when a test sets a fault. */
export interface RecordingSink extends SpanSink {
  /** Every call, also the failed ones. */
  readonly attempts: readonly Insert[];
  /** Returns the durable rows. */
  rows(table?: IngestTable): Row[];
  /** Called before a block is stored. Throwing makes the insert fail, and waiting delays it. */
  before: (attempt: Insert) => void | Promise<void>;
  /** Fault of all tables. */
  fault: AppError | undefined;
}

export function recordingSink(): RecordingSink {
  const attempts: Insert[] = [];
  const stored = new Map<string, Insert>();
  const sink: RecordingSink = {
    attempts,
    before: () => undefined,
    fault: undefined,
    check: () => (sink.fault === undefined ? Promise.resolve() : Promise.reject(sink.fault)),
    probe: () => (sink.fault === undefined ? Promise.resolve() : Promise.reject(sink.fault)),
    readFreeBytes: () => Promise.resolve(null),
    rows: (table = 'otel_traces') =>
      [...stored.values()].filter((insert) => insert.table === table).flatMap((insert) => insert.rows),
    async insert(block: RowBlock, token: string) {
      const rows = readRows(block.table, Buffer.concat(block.chunks));
      if (rows.length !== block.rows) {
        throw new AppError(`a block of ${block.rows} rows holds ${rows.length}`, {
          code: 'bug',
          stage: 'store',
          retryable: false,
        });
      }
      const attempt = { token, table: block.table, rows };
      attempts.push(attempt);
      await sink.before(attempt);
      if (!stored.has(token)) {
        stored.set(token, attempt);
      }
    },
  };
  return sink;
}

/** Returns a function for `before` that fails the first `count` attempts, like a store that is unavailable. */
export function unavailable(count: number): () => void {
  let left = count;
  return () => {
    if (left-- > 0) {
      throw new StoreUnavailableError('the store is down');
    }
  };
}

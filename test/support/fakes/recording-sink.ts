import { AppError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import type { IngestTable } from '../../../src/store/contracts/columns.ts';
import type { RowBlock, SpanSink } from '../../../src/store/contracts/span-sink.ts';
import { readRows, type Row } from '../store/row-binary-reader.ts';

interface Insert {
  readonly token: string;
  readonly table: IngestTable;
  readonly rows: readonly Row[];
}

/** A sink in memory that keeps every attempt, deduplicates by token like the store, and fails as told. */
export interface RecordingSink extends SpanSink {
  /** Every call, failed ones too. */
  readonly attempts: readonly Insert[];
  /** Rows that are durable. */
  rows(table?: IngestTable): Row[];
  /** Called before a block is stored: throw to fail it, wait to hold it. */
  before: (attempt: Insert) => void | Promise<void>;
  /** Fault of every table. */
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

/** For `before`: fails the first `count` attempts as a store that is down. */
export function unavailable(count: number): () => void {
  let left = count;
  return () => {
    if (left-- > 0) {
      throw new StoreUnavailableError('the store is down');
    }
  };
}

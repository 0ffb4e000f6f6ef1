import type { RunRecord } from '../../domain/run-record.ts';
import type { TraceKey } from './stores.ts';

export interface RunStore {
  /** Current rows of these traces, keyed by `joinTraceKey`. */
  ofTraces(keys: readonly TraceKey[]): Promise<Map<string, RunRecord[]>>;
  /** Last arrival up to which each trace was read from its content, Unix milliseconds, also without a run; keyed by `joinTraceKey`. */
  readUntil(keys: readonly TraceKey[]): Promise<Map<string, number>>;
  /** Inserts rows and deleted rows in one block, deduplicated by content on a retry. */
  write(records: readonly RunRecord[]): Promise<void>;
}

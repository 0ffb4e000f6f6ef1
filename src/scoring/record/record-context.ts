import type { Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import type { JudgeCallRecord, TraceKey } from '../../store/contracts/stores.ts';
import type { Log } from '../../telemetry/log.ts';
import type { GroupCommit } from './group-commit.ts';

/** Check that this process may still work on a trace. */
export interface Lease {
  /**
   * Called before judge calls and before writes. Throws an `AppError` with code `cancelled` when the trace belongs to another
   * process.
   */
  check(key: TraceKey): Promise<void>;
}

/** Needs of the writing of scores, decisions and judge calls. */
export interface RecordContext {
  readonly scoreWriter: GroupCommit<Score>;
  readonly decisionWriter: GroupCommit<Decision>;
  readonly callWriter: GroupCommit<JudgeCallRecord>;
  readonly lease: Lease;
  readonly log: Log;
}

import type { Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import type { JudgeCallRecord } from '../../store/contracts/stores.ts';
import type { Log } from '../../telemetry/log.ts';
import type { GroupCommit } from './group-commit.ts';

/** Needs of the writing of scores, decisions and judge calls. */
export interface RecordContext {
  readonly scoreWriter: GroupCommit<Score>;
  readonly decisionWriter: GroupCommit<Decision>;
  readonly callWriter: GroupCommit<JudgeCallRecord>;
  readonly log: Log;
}

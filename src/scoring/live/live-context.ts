import type { Decision } from '../../domain/decision.ts';
import type { SweepSettings } from '../../readiness/sweep.ts';
import type { Log } from '../../telemetry/log.ts';
import type { JudgeStock } from '../attempt/judge-stock.ts';
import type { GroupCommit } from '../record/group-commit.ts';
import type { ScoringStores } from '../scoring-stores.ts';

/** Needs of the scoring loop and its workers. */
export interface LiveContext {
  readonly stores: Pick<ScoringStores, 'spans' | 'decisions' | 'ruleVersions'>;
  readonly decisionWriter: GroupCommit<Decision>;
  readonly judgeStock: JudgeStock;
  /** Share of the places that take the newest traces under a backlog, 0 to 1. */
  readonly newestShare: number;
  /** Most traces under way. */
  readonly maxTracesInMemory: number;
  readonly readiness: SweepSettings;
  readonly log: Log;
  /** Returns a number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
}

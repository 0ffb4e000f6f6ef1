import type { Decision } from '../../domain/decision.ts';
import type { PriceTable } from '../../domain/money/model-prices.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import type { Score } from '../../domain/score.ts';
import type { JudgeCallRecord } from '../../store/contracts/stores.ts';
import type { Log } from '../../telemetry/log.ts';
import type { MetricWriter } from '../../telemetry/metrics.ts';
import type { GroupCommit } from './group-commit.ts';

/** Needs of the writing of scores, decisions, runs and judge calls. */
export interface RecordContext {
  readonly scoreWriter: GroupCommit<Score>;
  readonly decisionWriter: GroupCommit<Decision>;
  readonly runWriter: GroupCommit<RunRecord>;
  readonly callWriter: GroupCommit<JudgeCallRecord>;
  /** Ends the waits of the writers: the process stops. */
  readonly hurryWrites: () => void;
  /** Prices of models over the built-in ones, for the costs of runs. */
  readonly prices: PriceTable;
  /** Count of traces of which `costly` could not know the cost. */
  readonly unpriced: { count: number };
  readonly metrics: Pick<MetricWriter, 'add' | 'record'>;
  readonly log: Log;
}

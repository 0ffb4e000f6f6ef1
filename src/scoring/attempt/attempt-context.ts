import type { JudgeScope } from '../../judge/judge-scope.ts';
import type { RedactionOptions } from '../../judge/redaction/redaction.ts';
import type { ScoringStores } from '../scoring-stores.ts';
import type { RecordedAttempt } from './attempt-result.ts';
import type { Budget } from '../budget/budget.ts';
import type { AgentPasts } from './agent-pasts.ts';
import type { JudgeHealth } from './judge-health.ts';
import type { JudgeReuses } from './judge-reuses.ts';
import type { JudgeStock } from './judge-stock.ts';
import type { LaterScores } from './later-scores.ts';
import type { SingleFlight } from './single-flight.ts';

/** Judges and reply cache of the calls of all scorers. */
export type SharedJudgeScope = Omit<JudgeScope, 'redactor' | 'onReuse'>;

/** Needs of the runs of scorers. */
export interface AttemptContext {
  readonly stores: Pick<ScoringStores, 'scores'>;
  readonly judgeScope: SharedJudgeScope;
  readonly redaction: RedactionOptions;
  /** Time limit of one scorer on one run, milliseconds. */
  readonly scorerTimeoutMs: number;
  /** Number of attempts at a judge whose reply cannot be used. */
  readonly judgeAttempts: number;
  readonly budget: Budget;
  readonly judgeHealth: JudgeHealth;
  readonly reuses: JudgeReuses;
  readonly judgeStock: JudgeStock;
  readonly laterScores: LaterScores;
  readonly agentPasts: AgentPasts;
  readonly flights: SingleFlight<RecordedAttempt>;
  /** Aborts judge calls: the traces under way stay undecided. */
  readonly signal: AbortSignal | undefined;
  /** Returns a number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
}

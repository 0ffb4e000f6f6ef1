import type { TraceReading } from '../domain/agent-run.ts';
import type { Decision } from '../domain/decision.ts';
import type { Score } from '../domain/score.ts';
import type { TraceData } from '../domain/span.ts';
import type { JudgeScope } from '../judge/judge-scope.ts';
import { createRedactor, type RedactionOptions } from '../judge/redaction/redaction.ts';
import type {
  DecisionStore,
  JudgeCallRecord,
  JudgeCallStore,
  RuleVersionStore,
  ScoreStore,
  SpanSource,
  TraceKey,
} from '../store/contracts/stores.ts';
import type { Log } from '../telemetry/log.ts';
import { createBudget, type Budget } from './attempt/budget.ts';
import { createGroupCommit, type GroupCommit } from './record/group-commit.ts';
import { createJudgeHealth, type JudgeHealth } from './attempt/judge-health.ts';
import { createJudgePool, type JudgePool } from './attempt/judge-pool.ts';
import { createPieceCache, type PieceCache } from './read/piece-cache.ts';
import type { RecordedAttempt } from './attempt/attempt-result.ts';
import { createSingleFlight, type SingleFlight } from './attempt/single-flight.ts';
import type { TraceJoiner } from './read/trace-joiner.ts';

/** The stores that scoring reads and writes. */
export interface ScoringStores {
  readonly spans: SpanSource;
  readonly decisions: DecisionStore;
  readonly scores: ScoreStore;
  readonly ruleVersions: RuleVersionStore;
  readonly judgeCalls: JudgeCallStore;
}

/** Check that this process may still work on a trace. */
export interface Lease {
  /** Throws an `AppError` with code `cancelled` when the trace is no longer ours; called before judge calls and writes. */
  check(key: TraceKey): Promise<void>;
}

export interface ScoringPorts {
  readonly stores: ScoringStores;
  readonly readTrace: (data: TraceData) => TraceReading | Promise<TraceReading>;
  /** Puts together runs that come as several traces. Absent: every trace is read by itself. */
  readonly joiner?: TraceJoiner | undefined;
  readonly log: Log;
  /** Providers, reply cache: what every judge call of a scorer gets beside what scoring adds itself. */
  readonly judgeScope?: Omit<JudgeScope, 'redactor'> | undefined;
  /** Redaction before a judge. Default: the default patterns. */
  readonly redaction?: RedactionOptions | undefined;
  /** In [0, 1), for jitter only. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Milliseconds that never go back. Default `performance.now`. */
  readonly monotonicMs?: (() => number) | undefined;
}

export interface ScoringOptions {
  /** Quiet time before a trace is ready, milliseconds. Default 5 s. */
  readonly decisionWaitMs?: number | undefined;
  /** The longest that a trace is waited for, milliseconds. Default 15 min. */
  readonly maxWaitMs?: number | undefined;
  /** The longest that one scorer may take on one run, milliseconds. Default 2 min. */
  readonly scorerTimeoutMs?: number | undefined;
  /** Judged scorers that run at once: what the providers allow together. Default 16. */
  readonly judgeConcurrency?: number | undefined;
  /** Number of attempts at a judge whose reply cannot be used. Default 3. */
  readonly judgeAttempts?: number | undefined;
  /** Judged scorers that may wait in memory. Default 256. */
  readonly judgeBacklog?: number | undefined;
  /** Traces whose scorers run at once, their rows going to the store together. Default 256. */
  readonly traceConcurrency?: number | undefined;
}

/** Everything that `scoreTraces`, the scoring loop and backfills share in one process. */
export interface Scoring {
  readonly stores: ScoringStores;
  readonly readTrace: (data: TraceData) => TraceReading | Promise<TraceReading>;
  readonly joining: { readonly joiner: TraceJoiner; readonly cache: PieceCache } | null;
  readonly log: Log;
  readonly judgeScope: Omit<JudgeScope, 'redactor'>;
  readonly redaction: RedactionOptions;
  readonly random: () => number;
  readonly monotonicMs: () => number;
  readonly limits: { readonly [K in keyof ScoringOptions]-?: NonNullable<ScoringOptions[K]> };
  readonly budget: Budget;
  readonly judgeHealth: JudgeHealth;
  readonly judgePool: JudgePool;
  readonly flights: SingleFlight<RecordedAttempt>;
  readonly scoreWriter: GroupCommit<Score>;
  readonly decisionWriter: GroupCommit<Decision>;
  readonly callWriter: GroupCommit<JudgeCallRecord>;
  readonly lease: Lease;
  /** Aborts judge calls; traces under way are left undecided. */
  readonly signal: AbortSignal | undefined;
}

/**
 * One per process: single flight, budgets and the judges' queue are shared by all that use it. Throws `ConfigError` for a
 * redaction that cannot be applied.
 */
export function openScoring(ports: ScoringPorts, options: ScoringOptions = {}): Scoring {
  const { stores } = ports;
  createRedactor(ports.redaction);
  const judgeConcurrency = options.judgeConcurrency ?? 16;
  const judgeBacklog = options.judgeBacklog ?? 256;
  return {
    stores,
    readTrace: ports.readTrace,
    joining: ports.joiner === undefined ? null : { joiner: ports.joiner, cache: createPieceCache() },
    log: ports.log,
    judgeScope: ports.judgeScope ?? {},
    redaction: ports.redaction ?? {},
    random: ports.random ?? Math.random,
    monotonicMs: ports.monotonicMs ?? (() => performance.now()),
    limits: {
      decisionWaitMs: options.decisionWaitMs ?? 5_000,
      maxWaitMs: options.maxWaitMs ?? 15 * 60_000,
      scorerTimeoutMs: options.scorerTimeoutMs ?? 120_000,
      judgeConcurrency,
      judgeAttempts: options.judgeAttempts ?? 3,
      judgeBacklog,
      traceConcurrency: options.traceConcurrency ?? 256,
    },
    budget: createBudget(stores.judgeCalls),
    judgeHealth: createJudgeHealth({ log: ports.log }),
    judgePool: createJudgePool({ concurrency: judgeConcurrency, maxWaiting: judgeBacklog }),
    flights: createSingleFlight(),
    scoreWriter: createGroupCommit((scores) => stores.scores.write(scores)),
    decisionWriter: createGroupCommit((decisions) => stores.decisions.write(decisions)),
    callWriter: createGroupCommit((calls) => stores.judgeCalls.write(calls)),
    lease: { check: async () => undefined },
    signal: undefined,
  };
}

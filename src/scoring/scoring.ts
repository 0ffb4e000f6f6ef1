import PQueue from 'p-queue';
import type { Decision } from '../domain/decision.ts';
import { DAY_MS } from '../domain/durations.ts';
import type { SharedBudgets } from '../domain/money/budget.ts';
import type { PriceTable } from '../domain/money/model-prices.ts';
import type { RunRecord } from '../domain/run-record.ts';
import type { Score } from '../domain/score.ts';
import { createRedactor, type RedactionOptions } from '../judge/redaction/redaction.ts';
import { createTurns } from '../domain/waits.ts';
import { SOLE_CLAIMS, type Claims } from '../ownership/ownership.ts';
import type {
  JudgeCallRecord,
  DecisionStore,
  JudgeCallStore,
  RuleVersionStore,
  ScoreStore,
  SpanSource,
} from '../store/contracts/stores.ts';
import type { Log } from '../telemetry/log.ts';
import { NO_METRICS, type MetricWriter } from '../telemetry/metrics.ts';
import { createBudget, type Budget } from './budget/budget.ts';
import {
  createAgentPasts,
  createSingleFlight,
  createLaterScores,
  type AgentPasts,
  type SingleFlight,
  type LaterScores,
} from './read/lookups.ts';
import {
  createJudgeReuses,
  createJudgeHealth,
  type JudgeReuses,
  type JudgeHealth,
} from './attempt/judge-health.ts';
import { createJudgeStock, type JudgeStock } from './live/queue.ts';
import { createContentMemory, type ContentMemory } from './read/read-slices.ts';
import { createPieceCache, type PieceCache, type TraceJoiner } from './read/sibling-traces.ts';
import { createCommitRounds, type CommitPace, type GroupCommit } from './record/group-commit.ts';
import { NOTHING_PURGED, type PurgedTraces } from '../store/contracts/purge.ts';
import { createNewVersions, type NewVersions } from './select/new-versions.ts';
import type { AgentPastStore } from '../store/contracts/agent-pasts.ts';
import type { RunStore } from '../store/contracts/runs.ts';
import type { SessionStore } from '../store/contracts/sessions.ts';
import type { VersionSampleStore } from '../store/contracts/version-samples.ts';
import type { JudgeScope } from '../judge/judge-scope.ts';
import type { RecordedAttempt } from './attempt/attempt-failure.ts';
import type { SweepSettings } from '../readiness/readiness.ts';
import type { ReadingOptions, TraceReading } from '../domain/trace/agent-run.ts';
import type { TraceData } from '../domain/trace/span.ts';
import type { SessionContent } from './trace-task.ts';

/** Batches that are looked up and read at the same time: while one waits for the store, the others use the processor. */
const BATCHES_AT_ONCE = 3;

/** Time for which traces are started before other work may run, milliseconds: replies of judges wait for it. */
const START_TURN_MS = 2;

/** Needs of all rooms of scoring in one object. A function takes the context of its room instead. */
export interface Scoring extends SelectContext, ReadContext, AttemptContext, RecordContext, LiveContext {
  readonly stores: ScoringStores;
  /** Traces whose scorers run at the same time. */
  readonly traceConcurrency: number;
  /** Most traces of one batch, which is looked up together: at most `MAX_KEYS`. */
  readonly tracesPerBatch: number;
  /**
   * Turns of batches that are looked up and read. With few at a time, the first batch of a backlog is decided soon, and the others
   * are no later.
   */
  readonly readTurns: PQueue;
  /** Lets other work run when batches have started traces for `START_TURN_MS`, all together. */
  readonly giveTurns: () => Promise<void>;
}

/** Most traces of a batch of live scoring: a smaller one is decided earlier. */
const TRACES_PER_BATCH = 500;

export interface ScoringPorts {
  readonly stores: ScoringStores;
  readonly readTrace: TraceReader;
  /** Joins runs that come as several traces. Absent: every trace is read by itself. */
  readonly joiner?: TraceJoiner | undefined;
  readonly log: Log;
  /** Default: nothing is counted. */
  readonly metrics?: MetricWriter | undefined;
  /** Absent: judges of the scorers themselves, no reply cache. */
  readonly judgeScope?: SharedJudgeScope | undefined;
  /** Redaction of the texts that a judge gets. Default: the default patterns. */
  readonly redaction?: RedactionOptions | undefined;
  /** Prices of models over the built-in ones, for the costs of runs. */
  readonly prices?: PriceTable | undefined;
  /** Default: nothing is purged. */
  readonly purged?: PurgedTraces | undefined;
  /** Aborts judge calls: the traces under way stay undecided. */
  readonly signal?: AbortSignal | undefined;
  /** Returns a number in [0, 1), for jitter. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Milliseconds of a clock that never goes back. Default `performance.now`. */
  readonly monotonicMs?: (() => number) | undefined;
}

export interface ScoringOptions {
  /** Quiet time before a trace is ready, milliseconds. Default 5 s. */
  readonly decisionWaitMs?: number | undefined;
  /** Longest wait for the rest of a trace, milliseconds. Default 15 min. */
  readonly maxWaitMs?: number | undefined;
  /** Age of the oldest arrival that live scoring looks for, milliseconds. Default 4 days. */
  readonly reachMs?: number | undefined;
  /** Time limit of one scorer on one run, milliseconds. Default 2 min. */
  readonly scorerTimeoutMs?: number | undefined;
  /** Judged scorers that run at the same time: as many as all providers together allow. Default 16. */
  readonly judgeConcurrency?: number | undefined;
  /** Number of attempts at a judge whose reply cannot be used. Default 3. */
  readonly judgeAttempts?: number | undefined;
  /** Share of the places of judges that take the newest traces under a backlog; the rest take the oldest. Default 0.5. */
  readonly newestShare?: number | undefined;
  /** Most traces that live scoring has under way. Default 2,000. */
  readonly maxTracesInMemory?: number | undefined;
  /** Budgets beside those of rules. Default: none. */
  readonly budgets?: SharedBudgets | undefined;
  /** Waits in which rows gather before they are written together. Default: none. */
  readonly commitPace?: CommitPace | undefined;
  /** Time for which look-ups before judge calls wait for others, milliseconds. Default 0. */
  readonly lookupWaitMs?: number | undefined;
  /** Traces whose scorers run at the same time; their rows go to the store together. Default 256. */
  readonly traceConcurrency?: number | undefined;
}

/**
 * Creates the scoring of a process. All callers in the process share it, so that they share budgets, the queue of the judges and
 * runs of the same scorer. Throws `ConfigError` for a redaction that cannot be applied.
 */
export function createScoring(ports: ScoringPorts, options: ScoringOptions = {}): Scoring {
  const { stores, readTrace, log, redaction = {}, joiner } = ports;
  const monotonicMs = ports.monotonicMs ?? (() => performance.now());
  const limits = readLimits(options);
  createRedactor(redaction);
  return {
    stores,
    readTrace,
    ...createReadLimits(),
    giveTurns: createTurns(START_TURN_MS),
    joining: joiner === undefined ? null : { joiner, cache: createPieceCache() },
    log,
    judgeScope: ports.judgeScope ?? {},
    reuses: createJudgeReuses(),
    redaction,
    ...limits,
    budget: createBudget(stores.judgeCalls, options.budgets),
    judgeHealth: createJudgeHealth({ log }),
    judgeStock: createJudgeStock({
      concurrency: options.judgeConcurrency ?? 16,
      newestShare: limits.newestShare,
      monotonicMs,
    }),
    laterScores: createLaterScores(stores.scores, { monotonicMs, waitMs: options.lookupWaitMs ?? 0 }),
    agentPasts: createAgentPasts(stores.agentPasts, { monotonicMs, log }),
    flights: createSingleFlight(),
    ...createWriters(stores, options.commitPace),
    prices: ports.prices ?? {},
    unpriced: { count: 0 },
    metrics: ports.metrics ?? NO_METRICS,
    claims: SOLE_CLAIMS,
    purged: ports.purged ?? NOTHING_PURGED,
    newVersions: createNewVersions(stores.versionSamples, log),
    signal: ports.signal,
    random: ports.random ?? Math.random,
    monotonicMs,
  };
}

/**
 * Creates the limits of what is read at the same time. Each job has its own: its content that waits for judges must not stop
 * the reads of live scoring.
 */
export function createReadLimits(): Pick<Scoring, 'contentMemory' | 'readTurns'> {
  return {
    contentMemory: createContentMemory(),
    readTurns: new PQueue({ concurrency: BATCHES_AT_ONCE }),
  };
}

/** Creates the writers in the order in which the rows of a trace follow each other. */
function createWriters(stores: ScoringStores, pace: CommitPace | undefined) {
  const rounds = createCommitRounds(pace);
  return {
    callWriter: rounds.add<JudgeCallRecord>((calls) => stores.judgeCalls.write(calls), { isUrgent: true }),
    runWriter: rounds.add<RunRecord>((records) => stores.runs.write(records)),
    scoreWriter: rounds.add<Score>((scores) => stores.scores.write(scores)),
    decisionWriter: rounds.add<Decision>((decisions) => stores.decisions.write(decisions)),
    hurryWrites: () => rounds.hurry(),
  };
}

/** Completes the limits with their defaults. */
function readLimits(options: ScoringOptions) {
  return {
    readiness: {
      decisionWaitMs: options.decisionWaitMs ?? 5_000,
      maxWaitMs: options.maxWaitMs ?? 15 * 60_000,
      reachMs: options.reachMs ?? 4 * DAY_MS,
    },
    scorerTimeoutMs: options.scorerTimeoutMs ?? 120_000,
    judgeAttempts: options.judgeAttempts ?? 3,
    traceConcurrency: options.traceConcurrency ?? 256,
    tracesPerBatch: TRACES_PER_BATCH,
    newestShare: options.newestShare ?? 0.5,
    maxTracesInMemory: options.maxTracesInMemory ?? 2_000,
  };
}

/** Stores that scoring reads and writes. */
export interface ScoringStores {
  readonly spans: SpanSource;
  readonly decisions: DecisionStore;
  readonly scores: ScoreStore;
  readonly agentPasts: AgentPastStore;
  readonly runs: RunStore;
  readonly sessions: SessionStore;
  readonly ruleVersions: RuleVersionStore;
  readonly versionSamples: VersionSampleStore;
  readonly judgeCalls: JudgeCallStore;
}

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

/** Reads the agent runs of a trace. */
export type TraceReader = (data: TraceData, options?: ReadingOptions) => TraceReading | Promise<TraceReading>;

/** Needs of the reading of traces. */
export interface ReadContext {
  readonly stores: Pick<ScoringStores, 'spans'>;
  readonly readTrace: TraceReader;
  /** Called with each session that was read, before its scorers run. */
  readonly onSession?: ((content: SessionContent) => void) | undefined;
  /** Null: every trace is read by itself. */
  readonly joining: { readonly joiner: TraceJoiner; readonly cache: PieceCache } | null;
  readonly contentMemory: ContentMemory;
  readonly readiness: SweepSettings;
  readonly log: Log;
}

/** Needs of the selection of traces: their rows in the store, without their content. */
export interface SelectContext {
  readonly stores: Pick<ScoringStores, 'spans' | 'decisions' | 'scores' | 'runs'>;
  readonly readiness: SweepSettings;
  readonly claims: Claims;
  /** Traces and sessions that were purged meanwhile. */
  readonly purged: PurgedTraces;
  readonly newVersions: NewVersions;
}

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

import PQueue from 'p-queue';
import type { Decision } from '../domain/decision.ts';
import type { SharedBudgets } from '../domain/money/budget.ts';
import type { PriceTable } from '../domain/money/model-prices.ts';
import type { Failure, Feedback, FoundFailure, JudgedRun } from '../domain/failure.ts';
import type { RunRecord } from '../domain/run-record.ts';
import type { Score } from '../domain/score.ts';
import type { AgentRun, ReadingOptions, TraceReading } from '../domain/trace/agent-run.ts';
import type { TraceData } from '../domain/trace/span.ts';
import { createTurns } from '../domain/waits.ts';
import type { JudgeScope } from '../judge/judge-scope.ts';
import { createRedactor, type RedactionOptions } from '../judge/redaction/redaction.ts';
import { SOLE_CLAIMS, type Claims } from '../ownership/ownership.ts';
import type { SweepSettings } from '../readiness/readiness.ts';
import type { PurgedTraces } from '../store/contracts/purge.ts';
import type { Store } from '../store/store.ts';
import type { CatchUpOrder } from '../store/contracts/stores.ts';
import type { JudgeCallRecord } from '../domain/judge-call.ts';
import type { Log } from '../telemetry/log.ts';
import type { MetricWriter } from '../telemetry/metrics.ts';
import type { RecordedAttempt } from './attempt/attempt-failure.ts';
import { createJudgeHealth, JudgeReuses } from './attempt/judge-health.ts';
import { createBudget } from './budget/budget.ts';
import { createJudgeSlots } from './live/queue.ts';
import { AgentPasts, createLaterScores, ExampleRuns, createSingleFlight } from './read/lookups.ts';
import { ContentMemory } from './read/read-slices.ts';
import { PieceCache, type TraceJoiner } from './read/sibling-traces.ts';
import { CommitRounds, type CommitPace } from './record/group-commit.ts';
import { NewVersions } from './select/new-versions.ts';
import type { SessionContent } from './trace-task.ts';

/** Batches that are looked up and read at the same time: while one waits for the store, the others use the processor. */
const BATCHES_AT_ONCE = 3;

/** Time for which traces are started, or go on, before other work may run, milliseconds: replies of judges wait for it. */
const TURN_MS = 2;

/** Most traces of a batch of live scoring: a smaller one is decided earlier. */
const TRACES_PER_BATCH = 500;

/** Traces whose scorers run at the same time; their rows go to the store together. */
const TRACES_AT_ONCE = 256;

export type ScoringStores = Pick<
  Store,
  | 'spans'
  | 'decisions'
  | 'scores'
  | 'agentPasts'
  | 'runs'
  | 'sessions'
  | 'ruleVersions'
  | 'versionSamples'
  | 'judgeCalls'
> & { readonly failures: Pick<Store['failures'], 'ofTraces' | 'write'> };

export type TraceReader = (data: TraceData, options?: ReadingOptions) => TraceReading | Promise<TraceReading>;

/** Finds what went wrong in the runs of a trace. */
export interface FindFailures {
  (
    run: AgentRun,
    said: { readonly judged: readonly JudgedRun[]; readonly feedback: readonly Feedback[] },
  ): readonly FoundFailure[];
}

export interface ScoringPorts {
  readonly stores: ScoringStores;
  readonly readTrace: TraceReader;
  /** Finds what went wrong in a run, with what its scorers said. */
  readonly findFailures: FindFailures;
  /** Joins runs that come as several traces; null: every trace is read by itself. */
  readonly joiner: TraceJoiner | null;
  readonly log: Log;
  readonly metrics: Pick<MetricWriter, 'add' | 'record'>;
  /** Judges and reply cache of the calls of all scorers. */
  readonly judgeScope: Omit<JudgeScope, 'redactor' | 'onReuse'>;
  /** Redaction of the texts that a judge gets. */
  readonly redaction: RedactionOptions;
  /** Prices of models over the built-in ones, for the costs of runs. */
  readonly prices: PriceTable;
  /** Attributes of spans that are kept with each run. */
  readonly facets: readonly string[];
  /** Traces and sessions that were purged meanwhile. */
  readonly purged: PurgedTraces;
  /** Aborts judge calls: the traces under way stay undecided. */
  readonly signal: AbortSignal | undefined;
  /** Returns a number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
}

/** Terms of the catch-up of traces that a budget holds back. */
export interface CatchUpTerms {
  /** Age of a trace after which it is no longer caught up, milliseconds. */
  readonly maxAgeMs: number;
  readonly order: CatchUpOrder;
}

/** Limits of scoring. The schema of the configuration has their defaults. */
export interface ScoringLimits {
  readonly readiness: SweepSettings;
  /** Time limit of one scorer on one run, milliseconds. */
  readonly scorerTimeoutMs: number;
  /** Judged scorers that run at the same time: as many as all providers together allow. */
  readonly judgeConcurrency: number;
  /** Number of attempts at a judge whose reply cannot be used. */
  readonly judgeAttempts: number;
  /** Share of the slots of judges that take the newest traces under a backlog, 0 to 1; the other slots take the oldest. */
  readonly newestShare: number;
  /** Most traces that live scoring has under way. */
  readonly maxTracesInMemory: number;
  /** Budgets beside the budgets of rules. */
  readonly budgets: SharedBudgets | undefined;
  readonly catchUp: CatchUpTerms;
  /** Waits in which rows gather before they are written together. */
  readonly commitPace: CommitPace;
  /** The same waits for judge calls and the scores that they paid for. */
  readonly judgedPace: CommitPace;
  /** Time for which look-ups before judge calls wait for others, milliseconds. */
  readonly lookupWaitMs: number;
}

/** Everything that scoring needs. All callers in a process share it: budgets, slots of judges, and runs of the same scorer. */
export type Scoring = ReturnType<typeof createScoring>;

/** Creates the scoring of a process. Throws `ConfigError` for a redaction that cannot be applied. */
export function createScoring({ joiner, ...ports }: ScoringPorts, limits: ScoringLimits) {
  const { stores, log, monotonicMs } = ports;
  const { judgeConcurrency: concurrency, newestShare, lookupWaitMs: waitMs } = limits;
  createRedactor(ports.redaction);
  const claims: Claims = SOLE_CLAIMS;
  const giveTurns = createTurns(TURN_MS);
  return {
    ...ports,
    ...limits,
    ...createReadLimits(),
    joining: joiner === null ? null : { joiner, cache: new PieceCache() },
    /** Called with each session that was read, before its scorers run. */
    onSession: undefined as ((content: SessionContent) => void) | undefined,
    traceConcurrency: TRACES_AT_ONCE,
    /** Most traces of one batch, which is looked up together: at most `MAX_KEYS`. */
    tracesPerBatch: TRACES_PER_BATCH,
    /** Lets other work run when traces were started or went on for `TURN_MS`, all together. */
    giveTurns,
    /** Lets other work run before each question of a judge is prepared: replies that have come go first. */
    giveTurnToReplies: createTurns(0),
    claims,
    reuses: new JudgeReuses(),
    budget: createBudget(stores.judgeCalls, limits.budgets),
    judgeHealth: createJudgeHealth({ log }),
    judgeSlots: createJudgeSlots({ concurrency, newestShare, monotonicMs }),
    laterScores: createLaterScores(stores.scores, { monotonicMs, waitMs }),
    agentPasts: new AgentPasts(stores.agentPasts, { monotonicMs, log }),
    exampleRuns: new ExampleRuns(stores.spans, ports),
    flights: createSingleFlight<RecordedAttempt>(),
    newVersions: new NewVersions(stores.versionSamples, log),
    /** Count of traces of which `costly` could not know the cost. */
    unpriced: { count: 0 },
    ...createWriters(ports, { ...limits, giveTurns }),
  };
}

/** Creates the writers of rows, in the order in which the rows of a trace follow each other. They count what is stored. */
export function createWriters(
  { stores, metrics }: Pick<ScoringPorts, 'stores' | 'metrics'>,
  {
    commitPace,
    judgedPace,
    giveTurns,
  }: Pick<ScoringLimits, 'commitPace' | 'judgedPace'> & { readonly giveTurns: () => Promise<void> },
) {
  const rounds = new CommitRounds(commitPace, giveTurns);
  const judgedRounds = new CommitRounds(judgedPace, giveTurns);
  const writeScores = async (scores: readonly Score[]) => {
    await stores.scores.write(scores);
    const rows = scores.filter(({ isDeleted }) => !isDeleted);
    for (const [scorer, { length }] of Map.groupBy(rows, (score) => score.scorer)) {
      metrics.add('spanscore.scores.written', length, { scorer });
    }
  };
  const runWriter = rounds.add<RunRecord>((records) => stores.runs.write(records));
  const scoreWriter = rounds.add(writeScores);
  return {
    runWriter,
    scoreWriter,
    failureWriter: rounds.add<Failure>((failures) => stores.failures.write(failures)),
    decisionWriter: rounds.add<Decision>(async (decisions) => {
      await stores.decisions.write(decisions);
      for (const [status, { length }] of Map.groupBy(decisions, (decision) => decision.status)) {
        metrics.add('spanscore.decisions', length, { status });
      }
    }),
    callWriter: judgedRounds.add<JudgeCallRecord>(async (calls) => {
      await stores.judgeCalls.write(calls);
      calls.forEach((call) => countCall(call, metrics));
    }),
    judgedScoreWriter: judgedRounds.add(writeScores, scoreWriter),
    /** Ends the waits of the writers: the process stops. */
    hurryWrites: () => [rounds, judgedRounds].forEach((each) => each.hurry()),
  };
}

function countCall(
  { model, status, inputTokens, outputTokens, durationMs }: JudgeCallRecord,
  metrics: ScoringPorts['metrics'],
): void {
  metrics.add('spanscore.judge.calls', 1, { model, status });
  metrics.record('spanscore.judge.duration', durationMs / 1_000, { model });
  metrics.add('spanscore.judge.tokens', inputTokens ?? 0, { model, type: 'input' });
  metrics.add('spanscore.judge.tokens', outputTokens ?? 0, { model, type: 'output' });
}

/** Derives the scoring of a look from that of the process: its attempts count in no figures of judges, and join no other runs. */
export function createLookScoring(scoring: Scoring): Scoring {
  return {
    ...scoring,
    judgeHealth: { observe: () => undefined, states: () => [], stop: () => undefined },
    flights: createSingleFlight(),
    unpriced: { count: 0 },
  };
}

/**
 * Creates the limits of what is read at the same time. Each job has its own: its content that waits for judges must not stop
 * the reads of live scoring.
 * @param maxQuick characters of content that quick scorers have at a time; default 128 Mi
 */
export function createReadLimits(maxQuick?: number) {
  return {
    contentMemory: new ContentMemory(maxQuick),
    /** Turns of batches that are looked up and read. With few at a time, the first batch of a backlog is decided soon. */
    readTurns: new PQueue({ concurrency: BATCHES_AT_ONCE }),
  };
}

import { isDeepStrictEqual } from 'node:util';
import { durationDays, durationMs, type Config } from '../../configuration.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { MOST_CALLS } from '../../judge/judge-registry.ts';
import { createRedactor } from '../../judge/redaction/redaction.ts';
import { findFailures } from '../../issues/find-failures.ts';
import { createReplyCache } from '../../judge/judge-scope.ts';
import {
  createScoring,
  type FindFailures,
  type TraceReader,
  type Scoring,
  type ScoringStores,
} from '../scoring.ts';
import { PieceCache } from '../read/sibling-traces.ts';
import { shareLookups } from '../read/lookups.ts';
import type { CommitPace } from '../record/group-commit.ts';
import type { SessionSettings } from '../sessions/score-session.ts';
import type { WatchedTraces } from '../../purge/purged-traces.ts';
import { countArrivalDays } from '../../store/schema/table-settings.ts';
import type { Log } from '../../telemetry/log.ts';
import type { MetricWriter, Reading } from '../../telemetry/metrics.ts';
import { NOTHING_PURGED } from '../../store/contracts/purge.ts';
import { JOINER } from './read-traces.ts';
import { configureCatchUp, findScorerEntry, listConfiguredScorers } from './scorer-names.ts';
import { createJudgeSlots } from '../live/queue.ts';
import type { ScoringLoopStatus } from '../live/scoring-loop.ts';
import type { ScorerKit } from './scorer-kit.ts';

export interface ConfiguredScoringOptions {
  readonly config: Config;
  readonly kit: ScorerKit;
  readonly stores: ScoringStores;
  readonly readTrace: TraceReader;
  readonly log: Log;
  readonly metrics?: MetricWriter;
  /** Purges of this store: what is remembered of purged traces is forgotten. Absent: spans come from files. */
  readonly purged?: WatchedTraces;
  /** True for live scoring: its rows wait longer for others. */
  readonly isStream?: boolean;
  /** Attributes of spans that rules of monitors name. */
  readonly facets?: readonly string[];
  /** Aborts judge calls; attempts under way stay without a decision. */
  readonly signal?: AbortSignal;
}

/** Writer of a program that nobody scrapes. */
const NO_METRICS: MetricWriter = { add: () => undefined, record: () => undefined };

/** Limits of cached judge replies, so that a repeated question (a retry, a second rule) costs nothing. */
const REPLY_CACHE = { maxEntries: 10_000, maxChars: 32 * 1024 * 1024 };

/**
 * Time limit of a scorer, its questions to a slow local judge included. It is shorter than the time after which a budget takes a lease for
 * that of a dead process, and after which an unfinished decision is tried again (10 minutes).
 */
const SCORER_TIMEOUT_MS = 9 * 60_000;

/**
 * Judged runs at a time for each call that the providers allow: while some runs read and write rows, others use the calls. Each
 * provider limits its calls by itself.
 */
const RUNS_PER_CALL = 2;

/** Pace of a steady stream: a row is written when the last write is 2 s old, 100 rows after a second. */
const STEADY_PACE: CommitPace = {
  everyMs: 2_000,
  busyEveryMs: 1_000,
  manyItems: 100,
  gatherMs: 50,
};

/**
 * Pace of judge calls and their scores in a stream: a kill loses replies that were paid and not yet stored. Only a flood, with
 * more than a hundred replies a second, waits longer for larger inserts.
 */
const JUDGED_PACE: CommitPace = { everyMs: 150, busyEveryMs: 400, manyItems: 20, gatherMs: 20 };

/** Pace of a command, for which somebody waits. */
const COMMAND_PACE: CommitPace = {
  everyMs: 250,
  busyEveryMs: 0,
  manyItems: 900,
  gatherMs: 50,
};

/** Time for which look-ups before judge calls wait for others, milliseconds. */
const LOOKUP_WAIT_MS = 50;

/** Returns the number of judge calls at a time: the sum over all providers. */
function sumJudgeConcurrency(config: Config): number {
  const providers = Object.values(config.judges.providers);
  const sum = providers.reduce((total, provider) => total + (provider.concurrency ?? MOST_CALLS), 0);
  return sum === 0 ? MOST_CALLS : sum;
}

function computeJudgedRuns(config: Config): number {
  return Math.ceil(sumJudgeConcurrency(config) * RUNS_PER_CALL);
}

function createCache({ judges }: Config) {
  return judges.reuse ? createReplyCache(REPLY_CACHE) : undefined;
}

export function findProviderPace({ judges: { providers } }: Config, name: string) {
  const { concurrency, requestsPerMinute, tokensPerMinute } = Object.hasOwn(providers, name)
    ? (providers[name] ?? {})
    : {};
  return { concurrency: concurrency ?? MOST_CALLS, requestsPerMinute, tokensPerMinute };
}

/** Returns the times that sessions are waited for. */
export function sessionSettings({ readiness: { session } }: Config): SessionSettings {
  return {
    idleMs: durationMs(session.idle),
    maxAgeMs: durationMs(session.maxAge),
    rescores: session.rescores,
  };
}

/** Computes the age of the oldest arrival that live scoring looks for: as long as the store has arrivals and spans. */
function computeReachMs({ scoring, store }: Config): number {
  const days = countArrivalDays(durationDays(scoring.catchUp));
  return Math.min(days * DAY_MS, durationMs(store.retention.spans));
}

/** Beginnings of the names of prebuilt scorers of tool calls and of steps. */
const TOOL_SCORERS = /^(?:tool-call-accuracy|trajectory)/;

/** Creates the search for failures of a configuration; one that finds none when issues are off. */
function createFailureFinder(config: Config): FindFailures {
  if (!config.issues.enabled) {
    return () => [];
  }
  const terms = new Map(
    [...listConfiguredScorers(config)].map((name) => {
      const { entry, prebuilt } = findScorerEntry(name, config);
      return [name, { bar: entry?.failBelow, isOfTools: TOOL_SCORERS.test(prebuilt?.name ?? '') }] as const;
    }),
  );
  return (run, said) => findFailures(run, said, terms);
}

/** Creates scoring for a configuration: the same for `serve`, a command and a backfill. */
export function createConfiguredScoring(deps: ConfiguredScoringOptions): Scoring {
  const { config, stores, purged } = deps;
  const cache = createCache(config);
  const scoring = createScoring(
    {
      stores: shareLookups(stores),
      readTrace: deps.readTrace,
      findFailures: createFailureFinder(config),
      joiner: JOINER,
      log: deps.log,
      metrics: deps.metrics ?? NO_METRICS,
      judgeScope: { judges: deps.kit.judges, cache },
      redaction: config.redaction,
      prices: config.judges.prices,
      facets: deps.facets ?? [],
      purged: purged ?? NOTHING_PURGED,
      signal: deps.signal,
      random: Math.random,
      monotonicMs: () => performance.now(),
    },
    {
      readiness: {
        decisionWaitMs: durationMs(config.readiness.decisionWait),
        maxWaitMs: durationMs(config.readiness.maxWait),
        reachMs: computeReachMs(config),
      },
      scorerTimeoutMs: SCORER_TIMEOUT_MS,
      judgeConcurrency: computeJudgedRuns(config),
      newestShare: config.scoring.newestShare,
      maxTracesInMemory: config.scoring.maxTracesInMemory,
      commitPace: deps.isStream === true ? STEADY_PACE : COMMAND_PACE,
      judgedPace: deps.isStream === true ? JUDGED_PACE : COMMAND_PACE,
      lookupWaitMs: LOOKUP_WAIT_MS,
      judgeAttempts: config.judges.attempts,
      budgets: config.budgets,
      catchUp: configureCatchUp(config),
    },
  );
  forgetPurged(cache, scoring, purged);
  return scoring;
}

/** Parts that scoring takes over while it runs. */
interface RevisedParts extends Pick<ConfiguredScoringOptions, 'config' | 'kit' | 'facets'> {
  /** Configuration before. */
  readonly former: Config;
  /** Stores that read by other conventions. Absent: the conventions are the same. */
  readonly stores?: ScoringStores | undefined;
  readonly purged: WatchedTraces;
}

/**
 * Creates scoring by another configuration that shares with the former one what is of the whole process: writers, budgets, runs under
 * way, limits of memory, and the cached replies of unchanged judges. Throws `ConfigError` for a redaction that cannot be applied.
 */
export function reviseScoring(
  scoring: Scoring,
  { config, kit, facets = [], former, stores, purged }: RevisedParts,
): Scoring {
  const { judges, redaction } = config;
  const { newestShare, monotonicMs } = scoring;
  createRedactor(redaction);
  const concurrency = computeJudgedRuns(config);
  const keepsReplies = (['providers', 'options', 'reuse'] as const).every((key) =>
    isDeepStrictEqual(judges[key], former.judges[key]),
  );
  const cache = keepsReplies ? undefined : createCache(config);
  const revised: Scoring = {
    ...scoring,
    ...(stores === undefined
      ? {}
      : { stores: shareLookups(stores), joining: { joiner: JOINER, cache: new PieceCache() } }),
    judgeScope: { judges: kit.judges, cache: keepsReplies ? scoring.judgeScope.cache : cache },
    findFailures: createFailureFinder(config),
    redaction,
    prices: judges.prices,
    facets,
    judgeAttempts: judges.attempts,
    judgeConcurrency: concurrency,
    judgeSlots:
      concurrency === scoring.judgeConcurrency
        ? scoring.judgeSlots
        : createJudgeSlots({ concurrency, newestShare, monotonicMs }),
    budgets: config.budgets,
  };
  if (stores !== undefined || !keepsReplies) {
    forgetPurged(cache, revised, purged);
  }
  return revised;
}

function forgetPurged(
  cache: ReturnType<typeof createCache>,
  { joining }: Scoring,
  purged: WatchedTraces | undefined,
): void {
  purged?.onPurge(() => {
    cache?.clear();
    joining?.cache.clear();
  });
}

/** Label of a scorer without a judge. */
const NO_JUDGE = 'none';

/** Returns the metrics of live scoring in this process: queue, work and judges. */
export function scorerReadings(
  status: ScoringLoopStatus,
  { judgeSlots, judgeHealth, unpriced }: Scoring,
): Reading[] {
  const states = {
    waiting: status.waiting,
    queued: status.queued - status.waitingForRoom,
    waiting_for_judge: status.waitingForRoom,
    running: status.inFlight,
    retrying: status.retries,
  };
  const judges = judgeHealth.states().flatMap(({ judge, scorer, state, kinds }): Reading[] => {
    const labels = { judge: judge === '' ? NO_JUDGE : judge, scorer };
    return [
      { name: 'spanscore.judge.failing', value: state === 'failing' ? 1 : 0, labels },
      ...Object.entries(kinds).map(([kind, value]): Reading => ({
        name: 'spanscore.judge.failures',
        value,
        labels: { ...labels, kind },
      })),
    ];
  });
  return [
    ...Object.entries(states).map(([state, value]): Reading => ({
      name: 'spanscore.scoring.traces',
      value,
      labels: { state },
    })),
    { name: 'spanscore.scoring.traces.spilled', value: status.spilled },
    { name: 'spanscore.sampling.unpriced', value: unpriced.count },
    { name: 'spanscore.scoring.queue.age', value: (status.oldestQueuedMs ?? 0) / 1_000 },
    { name: 'spanscore.judge.queue', value: judgeSlots.pending() },
    { name: 'spanscore.judge.queue.wait', value: judgeSlots.waitMs() / 1_000 },
    ...judges,
  ];
}

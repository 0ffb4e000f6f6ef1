import type { AgentSignals } from '../domain/trace/agent-signals.ts';
import type { Log } from '../telemetry/log.ts';
import type { ReadLimits, TraceListFilter, UnknownWord } from './contracts/lists.ts';
import type { CoveredPair, SchemaStatus, TraceKey } from './contracts/stores.ts';
import { readAheadRows, readStorePace, readStoreSize } from './schema/describe-store.ts';
import type { Database } from './database.ts';
import { type DatabaseOptions, openDatabase } from './open-database.ts';
import { createAnchorStore } from './tables/anchors.ts';
import { createAuditStore, createCookieKeyStore } from './tables/access.ts';
import { createAggregateReads } from './sums/read-sums.ts';
import { createComparedScoreStore } from './sums/score-pairs.ts';
import { createDecisionHours } from './sums/decision-hours.ts';
import { createAggregateStore, mergeSums } from './sums/score-sums.ts';
import { createRunHours } from './sums/run-hours.ts';
import { createRunSums } from './sums/run-sums.ts';
import { createAlertFeed } from './monitors/alert-deliveries.ts';
import { backdateArrivals } from './monitors/backdate-arrivals.ts';
import { createAlertStore } from './monitors/alert-events.ts';
import { createDeadLetterStore } from './tables/dead-letters.ts';
import { createCoverageStore } from './sums/coverage.ts';
import { createFunnelStore } from './sums/funnel.ts';
import { createLabelStore } from './tables/labels.ts';
import { createDecisionStore, createRepairStore } from './tables/decisions.ts';
import { createMarkerStore } from './monitors/deploy-markers.ts';
import { createJudgeCallStore, createJudgeUseStore } from './tables/judge-calls.ts';
import { createCursorStore } from './tables/source-cursors.ts';
import { createMemberStores } from './tables/members.ts';
import { createScoreFeed } from './scores/exports.ts';
import { createJobStore } from './jobs/jobs.ts';
import { createPurgeStore, createTombstoneStore } from './purge/purge-store.ts';
import {
  applyFactKeys,
  createSchema,
  readDefinitions,
  readSchemaStatus,
  refuseForeign,
  refuseUnfinished,
} from './schema/schema.ts';
import { applyMergeSettings, applyRetention, type Retention } from './schema/table-settings.ts';
import { createMonitorView } from './monitors/monitor-view.ts';
import { createMonitorStore } from './monitors/monitors.ts';
import { createEngineFiles } from './foreign/engine-files.ts';
import { createForeignSpans } from './foreign/foreign-spans.ts';
import type { ForeignTables } from './foreign/foreign-schema.ts';
import { readClock, reopenTraces } from './spans/arrivals.ts';
import { readKnownSignals, recordSignals } from './spans/known-signals.ts';
import { createOwnSpans, rememberClock } from './spans/own-spans.ts';
import { createListStore } from './lists/list-store.ts';
import { createRuleVersionStore, createVersionSampleStore } from './tables/versions.ts';
import { createFailureStore } from './tables/failures.ts';
import { createRunStore } from './tables/runs.ts';
import { createSessionStore } from './tables/sessions.ts';
import { createSqlStatements } from './sql-statements.ts';
import { createScoreExport } from './scores/score-export.ts';
import { createAgentPastStore, createScoreStore, readScorerNames } from './tables/scores.ts';
import { createSpanSink } from './spans/span-sink.ts';
import { listTraces, ownListing } from './spans/traces-list.ts';

export interface StoreOptions extends DatabaseOptions {
  readonly retention: Retention;
  /** False keeps the schema and the retention unchanged; the tables must exist. */
  readonly migrate?: boolean;
  /** True opens a database that a restore or a move still fills. Only that command may do this. */
  readonly unfinished?: boolean;
  readonly log?: Log;
  /** Signals of agents. Default: the signals of every convention. */
  readonly agentSignals?: AgentSignals;
  /** Foreign tables to read spans from instead of the tables of spanscore. */
  readonly foreignSpans?: ForeignTables | undefined;
}

/**
 * Opens the store: creates the tables that it lacks and sets the retention, unless disabled. Throws `store_foreign` for a store that was
 * made with another schema, before anything is written, and a `StoreUnavailableError` when the server is not reachable.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const database = openDatabase(options);
  try {
    await prepare(database, options);
    await loadSignals(database, options);
  } catch (error) {
    await database.close();
    throw error;
  }
  return createStore(database, options.foreignSpans);
}

/** Reads the time from which each signal is known, and records new signals unless the schema stays unchanged. */
async function loadSignals(database: Database, options: StoreOptions): Promise<void> {
  const { agentSignals = database.signals, migrate: mayWrite = true } = options;
  database.agentSignals = await readKnownSignals(database, agentSignals, await readClock(database));
  if (mayWrite) {
    await recordSignals(database, database.agentSignals);
  }
}

/** Compares the schema of the store with the schema of this program. Changes nothing and creates no database. */
export async function readStoreSchema(options: DatabaseOptions): Promise<SchemaStatus> {
  const database = openDatabase(options);
  try {
    const status = await readSchemaStatus(database);
    await refuseUnfinished(database);
    return status;
  } finally {
    await database.close();
  }
}

async function prepare(database: Database, options: StoreOptions): Promise<void> {
  refuseForeign(await readSchemaStatus(database));
  if (options.unfinished !== true) {
    await refuseUnfinished(database);
  }
  if (options.migrate !== false) {
    await setUp(database, options);
  }
}

async function setUp(database: Database, options: StoreOptions): Promise<void> {
  const created = await createSchema(database);
  if (created > 0) {
    options.log?.debug('tables created', { created });
  }
  const definitions = await readDefinitions(database);
  await applyFactKeys(database, definitions);
  await applyRetention(database, definitions, options.retention, options.log);
  await applyMergeSettings(database, definitions, options.log);
}

function createSpans(database: Database, foreign: ForeignTables | undefined) {
  const source = foreign === undefined ? undefined : createForeignSpans(database, foreign);
  return {
    source,
    listing: source?.listing ?? ownListing(database),
    spans: rememberClock(source?.spans ?? createOwnSpans(database), () => performance.now()),
  };
}

function buildParts(database: Database, foreign: ForeignTables | undefined) {
  const { source, spans, listing } = createSpans(database, foreign);
  const alerts = createAlertStore(database);
  return {
    sink: createSpanSink(database),
    spans,
    decisions: createDecisionStore(database),
    scores: createScoreStore(database),
    scoreExport: createScoreExport(database),
    agentPasts: createAgentPastStore(database),
    runs: createRunStore(database),
    failures: createFailureStore(database),
    sessions: createSessionStore(database),
    lists: createListStore(database),
    coverage: createCoverageStore(database),
    funnel: createFunnelStore(database),
    aggregateReads: createAggregateReads(database),
    comparedScores: createComparedScoreStore(database),
    runSums: createRunSums(database),
    aggregates: createAggregateStore(database, () => spans.nowMs()),
    /** Creates the computation of the numbers of decisions by the hour. `listPairs` lists the scorers of each rule over time. */
    decisionHours: (listPairs: () => Promise<readonly CoveredPair[]>) =>
      createDecisionHours(database, () => spans.nowMs(), listPairs),
    runHours: createRunHours(database, () => spans.nowMs()),
    /** Merges the tables of sums, so that reads find one version of a row. */
    mergeSums: () => mergeSums(database),
    repairs: createRepairStore(database),
    /** Moves the arrivals of scores to the starts of their runs, for the demonstration. */
    backdateArrivals: (sinceMs: number) => backdateArrivals(database, sinceMs),
    scoreFeed: createScoreFeed(database),
    ruleVersions: createRuleVersionStore(database),
    versionSamples: createVersionSampleStore(database),
    judgeCalls: createJudgeCallStore(database),
    judgeUse: createJudgeUseStore(database),
    anchors: createAnchorStore(database),
    ...createMemberStores(database),
    sourceCursors: createCursorStore(database),
    engineFiles: createEngineFiles(database),
    jobs: createJobStore(database),
    tombstones: createTombstoneStore(database),
    purges: createPurgeStore(database),
    deadLetters: createDeadLetterStore(database),
    monitors: createMonitorStore(database, { alerts, nowMs: () => spans.nowMs() }),
    monitorView: createMonitorView(database),
    alerts,
    markers: createMarkerStore(database),
    alertFeed: createAlertFeed(database),
    labels: createLabelStore(database),
    audit: createAuditStore(database),
    cookieKeys: createCookieKeyStore(database),
    /**
     * Makes live scoring look at stored traces again: something about them changed that is no span. Does nothing with traces that are
     * not stored, or whose first arrival is before `sinceMs` (Unix milliseconds).
     */
    reopenTraces: (keys: readonly TraceKey[], sinceMs: number) => reopenTraces(database, keys, sinceMs),
    /** Newest traces with their runs and the state of their decisions. */
    listTraces: (filter: TraceListFilter) => listTraces(database, filter, listing),
    /** Names of scorers that have score rows, of one tenant or of all. */
    scorerNames: (tenant?: string) => readScorerNames(database, tenant),
    ...sourceReads(source),
    /** Finds the tables that have rows ahead of the store's clock. */
    aheadRows: () => readAheadRows(database),
    /** Reads the pace of one tenant, or of all. */
    pace: (tenant?: string) => readStorePace(database, tenant),
    size: () => readStoreSize(database),
    sql: createSqlStatements(database),
    /** Resolves when the server answers; throws `StoreUnavailableError`. */
    ping: () => database.ping(),
    close: () => database.close(),
  };
}

function sourceReads(source: ReturnType<typeof createSpans>['source']) {
  return {
    /**
     * Describes the source of spans in one line. Throws a `StoreUnavailableError` for foreign tables that are absent or not
     * readable, and a `ConfigError` for tables that lack columns.
     */
    describeSource: async () => (source === undefined ? 'our own tables' : source.describe()),
    /** Finds the words in foreign tables that say nothing to spanscore about a span. Throws like `describeSource`. */
    unknownWords: async (): Promise<UnknownWord[]> => source?.unknownWords() ?? [],
    /**
     * Marks the present content of foreign tables as past; must be called before rules become active. Throws like
     * `describeSource`.
     */
    watchSource: async () => source?.watch(),
  };
}

/** All stored data, in one ClickHouse database. */
export interface Store extends ReturnType<typeof buildParts> {
  /** Returns the same store with reads that have limits of their own and their own connections. It closes with this one. */
  limitReads(limits: ReadLimits): Store;
}

function createStore(database: Database, foreign: ForeignTables | undefined): Store {
  return {
    ...buildParts(database, foreign),
    limitReads: (limits) => createStore(database.limitReads(limits), foreign),
  };
}

import type { ExporterState } from './domain/delivery.ts';
import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { startAggregates } from './aggregates/refresh-aggregates.ts';
import type { ScorerParts, ServeApi } from './api/serve-api.ts';
import type { ScorerStatus } from './api/serve-status.ts';
import { createPostDeps, postScores, startPostedJoins } from './api/writes/posted-scores.ts';
import { CHANNELS, EXPORTERS, PREBUILT_SCORERS } from './components.ts';
import type { PreparedRevision } from './config/config-control.ts';
import type { LoadedParts } from './config/revision.ts';
import { configErrorOf, durationMs, readConfiguredMonitors, type Config } from './configuration.ts';
import type { CountsByReceiver } from './delivery/deliver.ts';
import { createChannels, createExporters, startAlerts, startExports } from './delivery/start.ts';
import { sleep } from './domain/waits.ts';
import { configureBackfillKind } from './jobs/configured-backfill.ts';
import type { JobKind } from './jobs/job-kind.ts';
import { startJobRunner } from './jobs/job-runner.ts';
import { rescoreKind } from './jobs/rescore.ts';
import { startIssueNames } from './issues/name-issues.ts';
import { startIssues } from './issues/update-issues.ts';
import { isCertified } from './labels/read-agreement.ts';
import { type GivenLabel, startLabelImport } from './labels/import-labels.ts';
import { startLabelAgreement } from './labels/start-label-agreement.ts';
import type { AlertJudges } from './monitors/build-alert-event.ts';
import { buildMonitorGroups, listFacets } from './monitors/live/configured-monitors.ts';
import { loggedAlerts, startMonitors } from './monitors/live/start-monitors.ts';
import { startJudgeWatch } from './monitors/live/watch-judges.ts';
import { startDuties } from './ownership/duties.ts';
import type { DutyDeps, StartedPart } from './process/parts.ts';
import { configurePurgeKind, loadPurgeKey, type PurgeAwareStore } from './purge/configured-purge.ts';
import { listJudgedScorers, startAnchors } from './scoring/anchors/keep-anchors.ts';
import { startBudgetAlerts } from './scoring/budget/budget-alerts.ts';
import { createBudgetWatch, budgetReadings } from './scoring/budget/budget-watch.ts';
import { explainTrace } from './scoring/explain.ts';
import { createScorerOwnership, ScoringLoop } from './scoring/live/scoring-loop.ts';
import type { Scoring } from './scoring/scoring.ts';
import { SessionLoop } from './scoring/sessions/session-loop.ts';
import {
  createConfiguredScoring,
  reviseScoring,
  scorerReadings,
  sessionSettings,
} from './scoring/setup/configured-scoring.ts';
import { createTurnReader } from './scoring/setup/read-traces.ts';
import { loadScorerKit, type ScorerKit } from './scoring/setup/scorer-kit.ts';
import { createPassLineFinder } from './scoring/setup/scorer-names.ts';
import { createLabelReaders } from './sources/start-sources.ts';
import type { Store } from './store/store.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';

/** Configuration of a process, with the content of the files that it names. */
export interface ServeParts extends LoadedParts {
  readonly config: Config;
}

/**
 * Reads the files that a configuration names, which a process that only receives does not need. Throws a `ConfigError` that lists every
 * fault.
 */
export async function loadParts(config: Config, roles: readonly string[]): Promise<ServeParts> {
  if (!roles.includes('scorer') && !roles.includes('api')) {
    return { config, groups: [], modules: {} };
  }
  const { groups, issues } = await readConfiguredMonitors(config, PREBUILT_SCORERS);
  if (issues.length > 0) {
    throw configErrorOf('the monitors', issues, () => ({ kind: 'default', where: '' }));
  }
  const modules = await Promise.all(
    Object.entries(config.scorers).map(async ([name, { module }]) => {
      // A missing file is a fault of the scorer that needs it.
      const text = module === undefined ? undefined : await readFile(module).catch(() => undefined);
      return text === undefined ? [] : [[name, createHash('sha256').update(text).digest('hex')] as const];
    }),
  );
  return { config, groups, modules: Object.fromEntries(modules.flat()) };
}

export interface ScorerDependencies {
  /** Parts to stop; the list grows during the start. */
  readonly started: StartedPart[];
  readonly log: Log;
  readonly metrics: Metrics;
  readonly api: Pick<ServeApi, 'waitFor'>;
}

/** Role `scorer` of a process. */
export interface ScorerRole {
  readonly forApi: ScorerParts;
  status(): ScorerStatus;
  /**
   * Makes everything for another configuration ready that can fail. Traces that arrived before it is in force keep the former one. Throws a
   * `ConfigError` for parts that cannot be used.
   * @param store reads by other conventions. Absent: the conventions are the same
   */
  prepare(parts: ServeParts, store?: Store): Promise<PreparedRevision & { readonly forApi: ScorerParts }>;
}

/** Configuration of live scoring, and the parts that are made from it. */
interface ScorerRevision {
  readonly parts: ServeParts;
  readonly kit: ScorerKit;
  readonly scoring: Scoring;
  readonly store: Store;
}

/** Starts the role `scorer`. Throws a `ConfigError` for parts that cannot be used, and when the store does. */
export async function startScorer(
  parts: ServeParts,
  { store, purged }: PurgeAwareStore,
  deps: ScorerDependencies,
): Promise<ScorerRole> {
  const { started, log, metrics, api } = deps;
  const { config } = parts;
  api.waitFor('the scorers');
  const kit = await loadScorerKit(config, { log, modules: parts.modules });
  const kits = new Set([kit]);
  const stopKits = () => Promise.all([...kits].map(({ ownScorers }) => ownScorers.stop()));
  started.push({ name: 'own scorers', stage: 'work', stop: async () => void (await stopKits()) });
  const scoring = createConfiguredScoring({
    config,
    kit,
    stores: store,
    purged,
    readTrace: createTurnReader(),
    log,
    metrics,
    isStream: true,
    facets: listFacets(parts.groups),
  });
  let current: ScorerRevision = { parts, kit, scoring, store };
  const work = await startWork(() => current, deps);
  started.push(...startConfiguredLabels(config, { store, purged }, { duties: work.duties, log }));

  async function prepare(next: ServeParts, reading?: Store) {
    const former = current;
    const revised = await reviseParts(former, next, { reading, purged, log });
    const commit = async () => {
      const retired = Promise.withResolvers<void>();
      const { rules } = revised.kit;
      const begun = work.loop.revise(revised.scoring, rules, () => retired.resolve());
      await work.sessions.revise(revised.scoring, rules, begun);
      kits.add(revised.kit);
      current = revised;
      const ended = [retired.promise, work.jobs.setKinds(listJobKinds(revised)), work.sessions.whenIdle()];
      await work.replace(former.parts, next);
      Promise.all(ended)
        .then(async () => {
          kits.delete(former.kit);
          await former.kit.ownScorers.stop();
        })
        .catch((error: unknown) => log.warn('processes of former scorers did not stop cleanly', { error }));
    };
    return { commit, drop: () => revised.kit.ownScorers.stop(), forApi: createForApi(revised) };
  }

  const status = (): ScorerStatus => ({
    scoring: { ...work.loop.status(), unpriced: scoring.unpriced.count },
    judges: scoring.judgeHealth.states(),
    exporters: work.readExports(),
  });
  return { forApi: createForApi(current), status, prepare };
}

/** Starts to read labels of other tools, where the configuration names some. */
function startConfiguredLabels(
  config: Config,
  { store, purged }: Pick<PurgeAwareStore, 'store' | 'purged'>,
  deps: DutyDeps,
): StartedPart[] {
  const readers = createLabelReaders(config);
  if (readers.length === 0) {
    return [];
  }
  const posts = createPostDeps(config, { store, purged });
  const post = (tenant: string, labels: readonly GivenLabel[]) =>
    postScores(posts, { tenant, name: '' }, labels);
  const everyMs = durationMs(config.labels.every);
  return [startLabelImport(readers, store, { ...deps, everyMs, post })];
}

/** Makes the parts of another revision. Throws a `ConfigError` for parts that cannot be used. */
async function reviseParts(
  former: ScorerRevision,
  next: ServeParts,
  { reading, purged, log }: ReviseTerms,
): Promise<ScorerRevision> {
  const { config, modules } = next;
  createExporters(config.exporters, EXPORTERS);
  createChannels(config, CHANNELS);
  const kit = await loadScorerKit(config, { log, modules, former: former.kit });
  try {
    const facets = listFacets(next.groups);
    const revised = { config, former: former.parts.config, kit, facets, stores: reading, purged };
    const scoring = reviseScoring(former.scoring, revised);
    return { parts: next, kit, scoring, store: reading ?? former.store };
  } catch (error) {
    await kit.ownScorers.stop();
    throw error;
  }
}

interface ReviseTerms extends Pick<ScorerDependencies, 'log'>, Pick<PurgeAwareStore, 'purged'> {
  readonly reading: Store | undefined;
}

/** Starts the work of a scorer process, which reads its present revision. */
async function startWork(current: () => ScorerRevision, { started, log, metrics }: ScorerDependencies) {
  const { parts, kit, scoring, store } = current();
  const { config } = parts;
  const monotonicMs = () => performance.now();
  const { rules } = kit;
  const ownership = createScorerOwnership(store.members, rules, { member: randomUUID(), monotonicMs });
  const duties = startDuties(store.duties, { onBeat: () => ownership.beatAlong() });
  let readExports = (): ExporterState[] => [];
  const onExports = (read: typeof readExports) => (readExports = read);
  const deps = { duties, log, metrics };
  started.push({ name: 'duties', stage: 'store', stop: async () => duties.stop() });
  // Before scoring begins: an exporter that is new to this store gets every score from here on.
  const exports = await startReplaceable(
    ({ exporters }, own) => startExports(exporters, EXPORTERS, store, { ...deps, onExports, ...own }),
    { config, store, log },
  );
  started.push({ name: 'exporters', stage: 'exporters', stop: () => exports.stop() });
  const loop = new ScoringLoop(scoring, { rules, ownership });
  await loop.start();
  const sessions = new SessionLoop(scoring, { rules, ownership, settings: sessionSettings(config) });
  started.push({ name: 'scorer', stage: 'work', stop: () => stopScoring(loop, sessions, scoring) });
  metrics.observe(() => scorerReadings(loop.status(), current().scoring));
  metrics.observe(() => current().kit.ownScorers.readings());
  const jobs = startJobs(current(), log);
  let findPassLine = createPassLineFinder(config, rules);
  const watching = startWatching(current, { ...deps, findPassLine: (row) => findPassLine(row) });
  const budgets = startBudgets(current, deps);
  const alerts = await startReplaceable(
    (given, own) => startAlerts(given, CHANNELS, store, { ...deps, ...own }),
    { config, store, log },
  );
  started.push(
    { name: 'judge log', stage: 'exporters', stop: async () => scoring.judgeHealth.stop() },
    { name: 'budgets', stage: 'exporters', stop: () => scoring.budget.giveBack() },
    { name: 'jobs', stage: 'work', stop: () => jobs.stop() },
    startAggregates(store, deps),
    ...startIssueWork(current, deps),
    startPostedJoins(store, deps),
    startLabelAgreement(store, { ...deps, findPassLine: (row) => findPassLine(row) }),
    ...watching.parts,
    budgets.part,
    { name: 'alerts', stage: 'exporters', stop: () => alerts.stop() },
  );

  /** Starts the parts again whose section has changed. */
  async function replace(before: ServeParts, after: ServeParts): Promise<void> {
    findPassLine = createPassLineFinder(after.config, current().kit.rules);
    scoring.budget.setShared(after.config.budgets);
    budgets.renew();
    const names = (each: ServeParts) => Object.keys(each.config.scorers);
    if (!isDeepStrictEqual([before.groups, names(before)], [after.groups, names(after)])) {
      watching.monitors.setGroups(buildMonitorGroups(after.groups, names(after)));
    }
    await Promise.all([
      isDeepStrictEqual(before.config.exporters, after.config.exporters) || exports.replace(after.config),
      isDeepStrictEqual(before.config.alerts, after.config.alerts) || alerts.replace(after.config),
    ]);
  }

  return { loop, sessions, jobs, duties, replace, readExports: () => readExports() };
}

/** Starts monitors, questions to judges about their anchors, and the watch that tells by the answers who changed. */
function startWatching(
  current: () => ScorerRevision,
  {
    findPassLine,
    ...deps
  }: Parameters<typeof startMonitors>[2] & {
    readonly log: Log;
    readonly findPassLine: (row: string) => Promise<number>;
  },
) {
  const { store, parts } = current();
  const { groups, config } = parts;
  const alerts = loggedAlerts(store.alerts, deps.log);
  const groupsAtStart = buildMonitorGroups(groups, Object.keys(config.scorers));
  const monitors = startMonitors(
    groupsAtStart,
    { ...store.monitors, alerts },
    { ...deps, judges: () => createAlertJudges(current(), findPassLine) },
  );
  const stores = { anchors: store.anchors, alerts: store.alerts, nowMs: () => store.spans.nowMs() };
  const anchors = startAnchors(
    () => {
      const { parts: own, scoring, kit } = current();
      const { judges, store: kept } = own.config;
      const settings = { ...judges.anchors, maxAgeMs: durationMs(kept.retention.spans) };
      return { scoring, rules: kit.rules, settings };
    },
    { ...stores, markers: store.markers },
    deps,
  );
  const watch = startJudgeWatch(
    () => {
      const { parts: own, kit } = current();
      const { size, onJudgeDrift } = own.config.judges.anchors;
      const scorers = size === 0 ? [] : listJudgedScorers(kit.rules);
      return {
        judges: scorers.map(({ bound }) => ({ fingerprint: bound.fingerprint, judge: bound.judgeModel })),
        startsNewSeries: onJudgeDrift === 'new-series',
      };
    },
    stores,
    deps,
  );
  return { monitors, parts: [monitors, anchors, watch] };
}

/** Returns what the alerts of monitors ask about judges. */
function createAlertJudges(
  { parts: { config }, store }: ScorerRevision,
  findPassLine: (row: string) => Promise<number>,
): AlertJudges {
  const { anchors, certificate } = config.judges;
  const { labels, alerts } = store;
  return {
    waitMs: anchors.size === 0 ? null : durationMs(anchors.wait),
    isCertified: async (series) => {
      const nowMs = await store.spans.nowMs();
      return isCertified({ labels, alerts, findPassLine, required: certificate }, series, nowMs);
    },
  };
}

/** Time between tries to start a part again while the store is away, milliseconds. */
const RESTART_EVERY_MS = 1_000;

/** Starts parts that can be started again by another configuration: the former ones finish what they send, then the next ones begin. */
export async function startReplaceable(
  start: (
    config: Config,
    own: { readonly duties?: ReturnType<typeof startDuties>; readonly countsByReceiver: CountsByReceiver },
  ) => Promise<StartedPart[]>,
  { config, store, log }: { readonly config: Config; readonly store: Store; readonly log: Log },
) {
  const countsByReceiver: CountsByReceiver = new Map();
  let parts = await start(config, { countsByReceiver });
  const stopping = new AbortController();
  let replacing: Promise<void> = Promise.resolve();
  const stopAll = async () => void (await Promise.all(parts.splice(0).map((part) => part.stop())));

  async function replaceBy(next: Config): Promise<void> {
    await stopAll();
    // A member that has left a duty cannot take it again.
    const duties = startDuties(store.duties);
    parts.push({ name: 'duties', stage: 'store', stop: async () => duties.stop() });
    while (!stopping.signal.aborted) {
      try {
        parts = [...parts, ...(await start(next, { duties, countsByReceiver }))];
        return;
      } catch (error) {
        log.warn('a part cannot be started again yet; trying again', { error });
        await sleep(RESTART_EVERY_MS, stopping.signal);
      }
    }
  }

  return {
    /** Waits for a replacement under way, too: it may have started the next parts. */
    async stop(): Promise<void> {
      stopping.abort();
      await replacing.catch(() => undefined);
      await stopAll();
    },
    replace: (next: Config): Promise<void> => (replacing = replaceBy(next)),
  };
}

/** Starts the metrics and the alerts of budgets. */
function startBudgets(
  current: () => ScorerRevision,
  { metrics, ...deps }: Parameters<typeof startBudgetAlerts>[2] & { readonly metrics: Metrics },
) {
  const { store, scoring } = current();
  const create = () => createBudgetWatch(current().parts.config, store);
  let watch = create();
  metrics.observe(() => budgetReadings(watch));
  const part = startBudgetAlerts(
    () => current().parts.config.alerts.budgetPercents,
    {
      alerts: loggedAlerts(store.alerts, deps.log),
      readCaps: () => watch.read(),
      listSpent: (nowMs) => scoring.budget.listSpent(nowMs),
    },
    deps,
  );
  return {
    part,
    /** Watches the budgets of the present configuration. */
    renew: () => {
      watch = create();
    },
  };
}

/** Returns what a process that scores adds to the API. */
function createForApi({ scoring, kit }: ScorerRevision): ScorerParts {
  const { rules, judges } = kit;
  return {
    kit,
    reads: {
      runRules: rules,
      explain: async (key) => (await explainTrace(scoring, key, rules)).computed,
      judgeState: (judge, tenant) => ({
        breaker: judges.breakerOf(judge),
        cacheHits: scoring.reuses.count(judge, tenant),
      }),
    },
  };
}

/** Starts to run the jobs of the store. */
function startJobs(revision: ScorerRevision, log: Log) {
  const { jobs, duties, spans } = revision.store;
  const kinds = listJobKinds(revision);
  return startJobRunner({ jobs, duties, nowMs: () => spans.nowMs(), kinds, log });
}

function listJobKinds({ parts: { config }, kit, scoring, store }: ScorerRevision): JobKind[] {
  const { repairs } = store;
  return [
    rescoreKind({
      scoring,
      repairs,
      rules: kit.rules,
      sessions: sessionSettings(config),
      hide: loadPurgeKey(config.store).hide,
    }),
    configureBackfillKind({ config, kit }, scoring, true),
    configurePurgeKind(config, store),
  ];
}

/** Starts the work on issues, by the present configuration. */
function startIssueWork(
  current: () => ScorerRevision,
  deps: Parameters<typeof startIssues>[2],
): StartedPart[] {
  const { store } = current();
  const readSettings = () => {
    const { interval, ...terms } = current().parts.config.issues;
    return { ...terms, intervalMs: durationMs(interval) };
  };
  const readNaming = () => {
    const { parts, scoring } = current();
    const { enabled, name } = parts.config.issues;
    return { isOn: enabled && name === 'judge', scoring };
  };
  return [
    startIssues({ ...store, alerts: loggedAlerts(store.alerts, deps.log) }, readSettings, deps),
    startIssueNames(readNaming, store, deps),
  ];
}

/** Stops the loops. Their last rows wait for no others. */
function stopScoring(loop: ScoringLoop, sessions: SessionLoop, { hurryWrites }: Scoring): Promise<void> {
  hurryWrites();
  return loop.stop(sessions.stop());
}

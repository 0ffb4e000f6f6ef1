import { countCoverage, countFunnel, type CoverageRequest } from '../aggregates/count-coverage.ts';
import type { ConfigControl } from '../config/config-control.ts';
import type { Config } from '../configuration.ts';
import { loadPurgeKey } from '../purge/configured-purge.ts';
import { configuredMonitors, createStandings, keyedRules } from '../monitors/live/configured-monitors.ts';
import { createPassLineFinder, createPassLines } from '../scoring/setup/scorer-names.ts';
import type { DeployMarker } from '../domain/deploy-marker.ts';
import { NotFoundError } from '../domain/errors.ts';
import { ALL_TENANTS } from '../monitors/mute.ts';
import type { ListFilters, ListPage } from '../store/contracts/lists.ts';
import { NOTHING_PURGED, type PurgedTraces } from '../store/contracts/purge.ts';
import type { Store } from '../store/store.ts';
import type { Caller } from './access/request-access.ts';
import type { FunnelRequest } from './reads/coverage.ts';
import type { ChosenSeries } from '../store/contracts/monitors.ts';
import type { EventFilter } from '../store/monitors/alert-events.ts';
import { createAnchorReads } from './reads/anchors.ts';
import { createAgentReads } from './reads/agents.ts';
import { createAggregateReads } from './reads/aggregates.ts';
import { compareChanged, compareDeploys } from './reads/compare.ts';
import { createConfigurationReads, type ReadJudgeState, readRowNames } from './reads/configuration.ts';
import { storeSampleTrace } from './writes/sample-trace.ts';
import { changeIssue, createIssueReads, type IssueChange, type IssueReads } from './reads/issues.ts';
import { createLabelReads, storeLabel, type GivenLabel } from './writes/labels.ts';
import {
  narrowTenant,
  type ExplainTrace,
  type ReadScope,
  createSessionReads,
  createTraceReads,
} from './reads/traces.ts';
import { createScoreReads } from './reads/scores.ts';
import {
  acknowledgeIncident,
  addNote,
  muteSubject,
  readIncident,
  unmuteSubject,
} from './writes/alert-replies.ts';
import { createWriteRecorder, type AuditAction, type AuditSubject } from './writes/audit.ts';
import {
  createBackfillReads,
  createBackfillWrites,
  findJob,
  startPurge,
  type PurgeRequest,
} from './writes/jobs.ts';
import {
  deleteScore,
  previewRule,
  type AskedPreview,
  scoreNow,
  type ScoreRequest,
  type ScoringOnDemand,
} from './writes/scoring.ts';
import { createPostDeps, postScores, type PostedScore } from './writes/posted-scores.ts';

/** Parts that a process that scores adds to the reads. */
export interface ProcessReads {
  readonly runRules?: ReadScope['runRules'];
  readonly judgeState?: ReadJudgeState;
  /** Finds the reasons why rules have no decision on a trace. */
  readonly explain?: ExplainTrace;
}

export interface TenantStoreParts extends ProcessReads {
  readonly config: Config;
  readonly store: Store;
  /** Store of the reads. Default: the same. */
  readonly reads?: Store;
  /** Default: nothing is purged. */
  readonly purged?: PurgedTraces;
  /** Default: no scorers. */
  readonly onDemand?: ScoringOnDemand;
  /** Aborted when the process stops: then events end. Default: never. */
  readonly stopping?: AbortSignal;
  /** Control of the configuration of the process. Absent: it cannot change. */
  readonly control?: ConfigControl | undefined;
  /** Reads the status for a tenant, or for all. Default: nothing. */
  readonly readStatus?: (store: Store, tenant: string | undefined) => Promise<object>;
}

/** Store that shows and changes the rows of one tenant, or of all: no handler filters by tenants. */
export type TenantStore = ReturnType<Awaited<ReturnType<typeof createTenantStores>>>;

/** Writes within a tenant. Nobody gets them without an audit row. */
export type TenantWrites = ReturnType<ReturnType<typeof createWrites>>;

/** Conditions of a list with times, Unix milliseconds. */
interface SinceFilter {
  readonly sinceMs?: number | undefined;
}

type SeriesFilter = SinceFilter & ChosenSeries;

const NO_SCORING: ScoringOnDemand = {
  load: () => Promise.reject(new NotFoundError('this process runs no scorers')),
  isBesideLive: false,
  stop: async () => undefined,
};

/** Creates the stores of callers, each bound to the tenant of its caller. Throws a `ConfigError` for monitors that cannot be used. */
export async function createTenantStores(parts: TenantStoreParts) {
  const { config, reads: store = parts.store, runRules, explain = async () => [], judgeState } = parts;
  const { readStatus = async () => ({}), stopping = new AbortController().signal } = parts;
  const rules = keyedRules(await configuredMonitors(config));
  const standings = createStandings(rules, store.monitorView);
  const findPassLine = createPassLineFinder(config, runRules);
  const findPass = createPassLines(config, runRules);
  const recordWrite = createWriteRecorder(parts.store.audit, loadPurgeKey(config.store));
  const writesOf = createWrites(parts, { rules, findPassLine });
  return (caller: Caller) => {
    const { tenant } = caller;
    const issues = createIssueReads({ config, store }, tenant);
    const labels = createLabelReads(config, store, { ...caller, findPassLine });
    const scope: ReadScope = {
      config,
      store,
      tenant,
      runRules,
      findPass,
      namedRows: createRowNaming(config, store, tenant),
    };
    return {
      /** Statements over the rows of all tenants; undefined for a caller of one tenant. */
      sql: tenant === undefined ? store.sql : undefined,
      /** Control of the configuration; undefined in a process that cannot reload. */
      control: parts.control,
      /** Clock of the store, Unix milliseconds. */
      nowMs: () => store.spans.nowMs(),
      status: () => readStatus(store, tenant),
      scores: createScoreReads(scope),
      traces: createTraceReads(scope, explain, issues.ofTrace),
      sessions: createSessionReads(scope),
      configuration: createConfigurationReads(scope, judgeState),
      ...createMonitorReads(scope, standings, issues.grown),
      agents: createAgentReads(scope),
      aggregates: createAggregateReads({
        ...scope,
        readStatuses: (limit) => standings.read({ tenant }, limit),
        readEstimates: labels.newestEstimates,
      }),
      issues,
      anchors: createAnchorReads(scope),
      labels,
      /** Decisions on the runs that began in a range. */
      funnel: (request: FunnelRequest) => countFunnel(store, { ...request, tenant }, runRules),
      coverage: (request: CoverageRequest) => countCoverage(store, { ...request, tenant }, runRules),
      backfills: createBackfillReads(store.jobs, caller, stopping),
      /** Throws a `NotFoundError` for an unknown id, and for a job of another tenant. */
      findJob: (id: string) => findJob(config, store, caller, id),
      /** Stores the audit row of a write. Returns the writes, which nobody gets without such a row. */
      openWrites: async (action: AuditAction, ...subjects: AuditSubject[]) => {
        await recordWrite(caller, { action, subjects });
        return writesOf(caller);
      },
    };
  };
}

/** Creates the reads of monitors, alerts and deploys for one tenant, or for all. */
function createMonitorReads(
  scope: ReadScope,
  standings: ReturnType<typeof createStandings>,
  grown: IssueReads['grown'],
) {
  const { store, tenant } = scope;
  const { alerts, markers, spans } = store;
  return {
    /** States of the configured monitors. */
    standings: {
      /** By alert and series. */
      list: (filter: SeriesFilter, page: ListPage) => standings.list({ ...filter, tenant }, page),
      /** The states that fire first. */
      listFiring: (filter: SeriesFilter, limit: number) => standings.read({ ...filter, tenant }, limit),
      setAside: (nowMs: number) => standings.setAside({ tenant, nowMs }),
    },
    alerts: {
      /** Newest first. */
      list: (filter: Omit<EventFilter, 'tenant' | 'isOpen'>, page: ListPage) =>
        alerts.list({ ...filter, tenant }, page),
      /** Lists the beginnings of incidents that have not ended, newest first. */
      listOpen: (filter: ChosenSeries, page: ListPage) => alerts.listOpen({ ...filter, tenant }, page),
      /** Reads an incident with its notes, its messages, and the versions that changed. Throws a `NotFoundError` for an unknown id. */
      read: async (id: string) => {
        const events = await readIncident(alerts, id, tenant);
        const event = events[1] ?? events[0];
        const { tenant: of, agent } = event.series;
        const nowMs = await spans.nowMs();
        const fromMs = event.changeBeganMs ?? event.startsAtMs;
        const range = { tenant: of, agent, fromMs, toMs: event.endsAtMs ?? nowMs };
        const [notes, messages, versions, issues] = await Promise.all([
          alerts.notes(event.incidentId),
          alerts.messages(event.incidentId),
          compareChanged(createAgentReads({ ...scope, tenant: of }), event, nowMs),
          grown(range),
        ]);
        return { event, notes, messages, versions, issues };
      },
      /** Reads the active mutes of the tenant and of all tenants. */
      mutes: async () => {
        const active = await alerts.mutes();
        return active.filter((mute) => tenant === undefined || [ALL_TENANTS, tenant].includes(mute.tenant));
      },
      /** Lists the same mutes, the latest begun first. */
      listMutes: (page: ListPage) => alerts.listMutes(tenant, page),
      /** Reads the times of acknowledgements by incident, Unix milliseconds. */
      acknowledged: () => alerts.acknowledged(),
    },
    markers: {
      /** Newest first. */
      list: (filter: SinceFilter, page: ListPage) => markers.list({ ...filter, tenant }, page),
      compare: (version: string) => compareDeploys(markers, { version, tenant }),
    },
  };
}

/** Creates the function that replaces names of scorers by the names of their rows. */
function createRowNaming(config: Config, store: Store, tenant: string | undefined) {
  return async (filters: ListFilters): Promise<ListFilters> => {
    if (filters.scorer === undefined) {
      return filters;
    }
    const rows = await readRowNames(config, store, tenant);
    return { ...filters, scorer: filters.scorer.flatMap((name) => [name, ...rows.of(name)]) };
  };
}

function createWrites(
  { config, store, purged = NOTHING_PURGED, onDemand = NO_SCORING }: TenantStoreParts,
  {
    rules,
    findPassLine,
  }: {
    readonly rules: ReturnType<typeof keyedRules>;
    readonly findPassLine: ReturnType<typeof createPassLineFinder>;
  },
) {
  const { alerts, markers, monitorView, spans } = store;
  const posting = createPostDeps(config, { store, purged, findPassLine });
  const scoring = { config, store, onDemand };
  return (caller: Caller) => {
    const { tenant } = caller;
    /** Returns the caller as one that sees only the tenant that it names, where several have the target. */
    const narrow = (named: string | undefined): Caller => ({
      ...caller,
      tenant: narrowTenant(tenant, named),
    });
    return {
      alerts: {
        acknowledge: (incidentId: string) => acknowledgeIncident(alerts, incidentId, caller),
        addNote: (note: { readonly id: string; readonly text: string }) => addNote(alerts, note, caller),
        mute: async (subject: string, untilMs: number, reason: string) =>
          muteSubject(
            alerts,
            { subject, untilMs, tenant, by: caller.name, reason },
            { rules, monitorView, nowMs: await spans.nowMs() },
          ),
        /** Ends a mute, of the named tenant where several have muted the subject. */
        unmute: (subject: string, of?: string) => unmuteSubject(alerts, { subject, of, tenant }),
      },
      issues: { change: (change: IssueChange) => changeIssue(store, change, caller) },
      markers: {
        record: async (marker: Omit<DeployMarker, 'tenant'>) => {
          const own = { ...marker, tenant: tenant ?? '' };
          await markers.record(own);
          return own;
        },
      },
      scores: {
        post: (scores: PostedScore | readonly PostedScore[], named?: string) =>
          postScores(posting, narrow(named), scores),
        delete: (scoreId: string) => deleteScore(store, caller, scoreId),
        /** Runs scorers on a trace. The signal stops them. */
        run: (request: ScoreRequest, signal: AbortSignal) => scoreNow(scoring, caller, request, signal),
      },
      labels: { store: (label: GivenLabel, named?: string) => storeLabel(posting, narrow(named), label) },
      traces: {
        /** Stores a made trace. Returns its id. */
        sample: async () => storeSampleTrace(store, { tenant: tenant ?? '', nowMs: await spans.nowMs() }),
      },
      purges: { start: (request: PurgeRequest) => startPurge(config, store, caller, request) },
      previews: { preview: (asked: AskedPreview) => previewRule(scoring, caller, asked) },
      backfills: createBackfillWrites(scoring, caller),
    };
  };
}

import { PREBUILT_SCORERS } from '../../components.ts';
import { AGGREGATE_FACETS, type AggregateFacet } from '../../domain/aggregate-facets.ts';
import { baselineRange, DAY_MS } from '../../domain/durations.ts';
import { NotFoundError } from '../../domain/errors.ts';
import { nearest } from '../../domain/nearest.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import { countFunnel } from '../../aggregates/count-coverage.ts';
import { nameEstimate } from '../../labels/read-agreement.ts';
import type { AlertEvent } from '../../monitors/alert-event.ts';
import { isMuted } from '../../monitors/mute.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import { formatSummary } from '../../delivery/channels/alert-text.ts';
import type {
  RunSumsQuery,
  ScoreScale,
  SummaryQuery,
  SummaryRow,
  SumsRow,
} from '../../store/contracts/sums.ts';
import type { PassingRuns } from '../../store/sums/run-sums.ts';
import { buildRate, type Rate } from '../../domain/agreement/rate.ts';
import { rateOfCounts, readDeclaredLines } from './agents.ts';
import type { createLabelReads } from '../writes/labels.ts';
import { countByScorer } from './coverage.ts';
import type { ReadScope } from './traces.ts';
import type { Store } from '../../store/store.ts';
import { openCurrentReads, type CurrentReads } from '../../aggregates/refresh-aggregates.ts';
import { compareScores, type ComparedSide, type ScoresRequest } from './compare.ts';
import type { SeriesFacets } from '../../domain/series-facets.ts';
import { computeSeriesKey } from '../../monitors/series-key.ts';

/** Most groups of a series. */
const MAX_GROUPS = 50;

/** Most states of monitors, alerts and versions that are read for one reply. */
const MAX_ROWS = 1_000;

interface AggregateScope extends ReadScope {
  readonly readStatuses: (limit: number) => Promise<readonly MonitorStatus[]>;
  /** Estimates the pass rates of scorers by people (`readNewestEstimates`). */
  readonly readEstimates: ReturnType<typeof createLabelReads>['newestEstimates'];
}

export interface SeriesRequest extends ScoresRequest {
  readonly scorer: string;
  readonly bucketMs: number;
  readonly by: readonly AggregateFacet[];
  readonly passAt?: number | undefined;
}

export type SeriesReading = Awaited<ReturnType<typeof readSeries>>;

/** Incident of a monitor on scores. Times are Unix milliseconds. */
export type ScoreIncident = ReturnType<typeof toIncident>;

export type BudgetAlert = Awaited<ReturnType<typeof readOpen>>['budgets'][number];

/** Creates the numbers of scores for the callers of a tenant, or of all. Each throws a `NotFoundError` for an unknown scorer. */
export function createAggregateReads(terms: AggregateScope) {
  const { store, tenant } = terms;
  return {
    series: (request: SeriesRequest) => readSeries(terms, request),
    distribution: async ({
      scorer,
      reference,
      ...request
    }: ScoresRequest & { readonly scorer: string; readonly reference: { fromMs: number; toMs: number } }) => {
      const reads = await openCurrentReads(store, tenant);
      const scorers = findRows(terms, reads, scorer);
      const [current, earlier] = await Promise.all([
        reads.histogram({ ...request, tenant, scorers }),
        reads.histogram({ ...request, tenant, scorers, ...reference }),
      ]);
      return { current, reference: earlier };
    },
    /** Scorers by name, and what is open. */
    overview: (request: OverviewRequest) => readOverview(terms, request),
    compare: async ({
      left,
      right,
      ...request
    }: Omit<ScoresRequest, 'source'> & { readonly left: ComparedSide; readonly right: ComparedSide }) => {
      const reads = await openCurrentReads(store, tenant);
      [left, right].forEach((side) => findRows(terms, reads, side.scorer));
      const { comparedScores } = store;
      return compareScores(
        { reads, comparedScores, findPass: terms.findPass },
        { ...request, tenant, left, right },
      );
    },
  };
}

/** Names the score rows of a scorer. Throws a `NotFoundError` for a name that is neither configured nor stored. */
function findRows({ config }: AggregateScope, { scorerNames: stored }: CurrentReads, name: string): string[] {
  const configured = new Set([
    ...PREBUILT_SCORERS.map((scorer) => scorer.name),
    ...Object.keys(config.scorers),
  ]);
  if (!configured.has(name) && !stored.includes(name)) {
    const meant = nearest(name, [...configured, ...stored]);
    throw new NotFoundError(
      `there is no scorer ${name}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    );
  }
  return [...new Set([name, ...stored])].filter(
    (row) => row === name || findRowScorer(row, configured) === name,
  );
}

async function readSeries(terms: AggregateScope, request: SeriesRequest) {
  const { store, tenant } = terms;
  const { scorer, bucketMs, by, ...filter } = request;
  const reads = await openCurrentReads(store, tenant);
  const scorers = findRows(terms, reads, scorer);
  const lines = scorers.map(async (row) => [row, (await terms.findPass(row)).line] as const);
  const passLines = new Map(await Promise.all(lines));
  const base: SummaryQuery = { ...filter, tenant, scorers, passLines, by: [] };
  const top = by.length === 0 ? undefined : await reads.topGroups({ ...base, by }, MAX_GROUPS);
  const split: SummaryQuery = { ...base, by, groups: top?.groups };
  const history = baselineRange(filter.fromMs);
  const [rows, earlier, earlierTotals, statuses, incidents, markers, estimates] = await Promise.all([
    reads.summarise({ ...split, bucketMs, withTotals: true }),
    reads.summarise({ ...split, ...history, passRates: false }),
    by.length === 0 ? undefined : reads.summarise({ ...base, ...history, passRates: false }),
    terms.readStatuses(MAX_ROWS),
    readIncidents(terms, { scorers, ...filter }),
    store.markers.list({ tenant, sinceMs: filter.fromMs }, { limit: MAX_ROWS }),
    readGroupEstimates(terms, { scorers, by, ...filter }),
  ]);
  const { points, totals: groups } = splitTotals(rows);
  const totals = earlierTotals ?? earlier;
  const [total] = totals;
  return {
    points,
    groups: groups
      .toSorted((a, b) => b.n - a.n)
      .map((group) => ({
        ...group,
        baseline: buildBaseline(statuses, {
          chosen: { ...filter, ...groupFacets(by, group.values) },
          earlier: earlier.find((each) => isSameGroup(each, group)),
          now: group,
        }),
        estimate: estimates?.get(nameEstimate(group.scorer, group.values)) ?? null,
      })),
    truncatedGroups: Math.max(0, (top?.count ?? 0) - MAX_GROUPS),
    baseline:
      total === undefined || totals.length > 1
        ? null
        : buildBaseline(statuses, { chosen: filter, earlier: total, now: total }),
    markers: markers.items.filter(
      ({ atMs, service, agent }) =>
        atMs < filter.toMs &&
        (filter.service === undefined || filter.service.includes(service)) &&
        (filter.agent === undefined || agent === '' || filter.agent.includes(agent)),
    ),
    incidents,
    behindSeconds: reads.behindSeconds,
  };
}

/** Splits rows into rows of buckets and rows of the whole range. */
function splitTotals<Row extends SumsRow>(rows: readonly Row[]) {
  return {
    points: rows.flatMap(({ bucketMs, ...row }) => (bucketMs === null ? [] : [{ ...row, bucketMs }])),
    totals: rows.filter(({ bucketMs }) => bucketMs === null),
  };
}

/** Reads the pass rates by people of the groups of a series. Scores of people and programs have none. */
async function readGroupEstimates(
  { readEstimates }: AggregateScope,
  {
    scorers,
    by,
    ...filter
  }: ScoresRequest & Pick<SeriesRequest, 'by'> & { readonly scorers: readonly string[] },
) {
  const range = { sinceMs: filter.fromMs, untilMs: filter.toMs, chosen: chooseFacets(filter) };
  return filter.source === 'live'
    ? readEstimates({ scorers, ...range, ...(by.length === 0 ? {} : { by }) })
    : undefined;
}

function chooseFacets(filter: FacetValues): FacetValues {
  return Object.fromEntries(AGGREGATE_FACETS.map((facet) => [facet, filter[facet]]));
}

function groupFacets(by: readonly AggregateFacet[], values: readonly string[]): FacetValues {
  return Object.fromEntries(by.map((facet, index) => [facet, [values[index] ?? '']]));
}

function isSameGroup(a: SummaryRow, b: SummaryRow): boolean {
  return JSON.stringify([a.scorer, a.values]) === JSON.stringify([b.scorer, b.values]);
}

/** Builds a baseline from earlier scores; its mean is that of a monitor, where one has a reference. */
function buildBaseline(
  statuses: readonly MonitorStatus[],
  {
    chosen,
    earlier,
    now,
  }: {
    readonly chosen: FacetValues & Pick<ScoresRequest, 'source'>;
    readonly earlier: SummaryRow | undefined;
    readonly now: SumsRow;
  },
) {
  const monitored =
    chosen.source === 'live' ? findMonitorMean(statuses, now.scorer, { facets: chosen, scale: now }) : null;
  const mean = monitored ?? earlier?.mean ?? null;
  if (mean === null) {
    return null;
  }
  return {
    mean,
    p10: earlier?.p10 ?? null,
    p90: earlier?.p90 ?? null,
    n: earlier?.n ?? 0,
    from: monitored === null ? ('history' as const) : ('monitor' as const),
  };
}

/** Reads the incidents of scorers that overlap a range, newest first. */
async function readIncidents(
  { store, tenant }: AggregateScope,
  { scorers, fromMs, toMs, agent, environment }: ScoresRequest & { readonly scorers: readonly string[] },
) {
  const [{ scores, mutes, nowMs }, recent] = await Promise.all([
    readOpen(store, tenant),
    store.alerts.list({ tenant, sinceMs: fromMs }, { limit: MAX_ROWS }),
  ]);
  const found = new Map(scores.map((incident) => [incident.incidentId, incident]));
  for (const event of recent.items.filter(({ status }) => status === 'resolved')) {
    found.set(event.incidentId, toIncident(event, isMuted(event, mutes, nowMs)));
  }
  return [...found.values()]
    .filter(
      (incident) =>
        scorers.includes(incident.scorer) &&
        incident.startsAtMs < toMs &&
        (agent === undefined || agent.includes(incident.agent)) &&
        (environment === undefined || environment.includes(incident.environment)),
    )
    .toSorted((a, b) => b.startsAtMs - a.startsAtMs);
}

/** Reads the open incidents on scores and the open alerts about budgets, newest first, and the mutes. */
async function readOpen(store: Store, tenant: string | undefined) {
  const [events, mutes, nowMs] = await Promise.all([
    store.alerts.open(),
    store.alerts.mutes(),
    store.spans.nowMs(),
  ]);
  const open = events
    .filter(({ series }) => tenant === undefined || series.tenant === tenant)
    .toSorted((a, b) => b.startsAtMs - a.startsAtMs);
  return {
    scores: open
      .filter(({ series }) => series.scorer !== '')
      .map((event) => toIncident(event, isMuted(event, mutes, nowMs))),
    budgets: open
      .filter(({ budget }) => budget !== undefined)
      .map((event) => ({
        incidentId: event.incidentId,
        summary: formatSummary(event),
        startsAtMs: event.startsAtMs,
        isMuted: isMuted(event, mutes, nowMs),
      })),
    mutes,
    nowMs,
  };
}

function toIncident(event: AlertEvent, muted: boolean) {
  const { incidentId, alert, series, startsAtMs, endsAtMs } = event;
  const { scorer, agent, environment } = series;
  return { incidentId, alert, scorer, agent, environment, startsAtMs, endsAtMs, isMuted: muted };
}

/** Range of the runs whose labels tell the pass rates of the overview, milliseconds. */
const ESTIMATED_MS = 30 * DAY_MS;

const NONE_DECIDED = { eligible: 0, scored: 0 };

async function readOverview(terms: AggregateScope, { bucketMs, figuresRange, ...filter }: OverviewRequest) {
  const { store, tenant } = terms;
  const base: SummaryQuery = { ...filter, tenant, by: [] };
  const reads = await openCurrentReads(store, tenant);
  const sums = reads.sum({ ...base, bucketMs, withTotals: true }).then(splitTotals);
  const [{ points, totals }, earlier, statuses, open, decided, figures, estimates] = await Promise.all([
    sums,
    reads.summarise({ ...base, ...baselineRange(filter.fromMs), passRates: false }),
    terms.readStatuses(MAX_ROWS),
    readOpen(store, tenant),
    filter.toMs - filter.fromMs > DAY_MS || !isOfRuns(filter)
      ? null
      : countFunnel(store, { ...filter, tenant, nowMs: filter.toMs }, terms.runRules).then(countByScorer),
    isOfRuns(filter) ? readFigures(terms, reads, { ...filter, ...figuresRange }) : null,
    sums.then(({ totals: found }) =>
      terms.readEstimates({
        scorers: found.map(({ scorer }) => scorer),
        sinceMs: filter.toMs - ESTIMATED_MS,
        chosen: chooseFacets(filter),
      }),
    ),
  ]);
  const scorers = totals.map((total) => {
    const { scorer, scoreMin, scoreMax, higherIsBetter } = total;
    const counts = decided?.get(findRowScorer(scorer, decided.keys()) ?? scorer) ?? NONE_DECIDED;
    return {
      scorer,
      scoreMin,
      scoreMax,
      higherIsBetter,
      points: points.filter((each) => each.scorer === scorer),
      total,
      eligible: decided && counts.eligible,
      scored: decided && counts.scored,
      baseline: buildBaseline(statuses, {
        chosen: filter,
        earlier: earlier.find((each) => each.scorer === scorer),
        now: total,
      }),
      estimate: estimates.get(nameEstimate(scorer)) ?? null,
      incident: open.scores.find((each) => each.scorer === scorer) ?? null,
    };
  });
  const { behindSeconds } = reads;
  return { scorers, incidents: open.scores, budgets: open.budgets, behindSeconds, figures };
}

export interface OverviewRequest extends ScoresRequest {
  readonly bucketMs: number;
  readonly figuresRange: { readonly fromMs: number; readonly toMs: number };
}

/** Returns true for a choice that runs know, too: agents and environments. */
function isOfRuns(filter: FacetValues): boolean {
  return AGGREGATE_FACETS.every(
    (facet) => facet === 'agent' || facet === 'environment' || filter[facet] === undefined,
  );
}

async function readFigures(
  terms: AggregateScope,
  reads: CurrentReads,
  { fromMs, toMs, agent, environment }: RunSumsQuery,
) {
  const { store, tenant } = terms;
  const query = { fromMs, toMs, agent, environment, tenant };
  const [runs, passing, judges] = await Promise.all([
    store.runSums.all(query),
    readDeclaredLines(terms, reads).then((passLines) => store.runSums.passing({ ...query, passLines })),
    store.runSums.judgeCosts({ ...query, by: 'model', bucketMs: Number.MAX_SAFE_INTEGER }),
  ]);
  const known = judges.flatMap(({ usd }) => usd ?? []);
  return {
    runs: runs.runs,
    pass: buildPassing(passing),
    toolErrors: rateOfCounts(runs.toolErrorRuns, runs.readRuns),
    agentUsd: runs.costUsd,
    unpriced: runs.unpriced,
    judgeUsd: known.length === 0 ? null : known.reduce((sum, usd) => sum + usd, 0),
  };
}

function buildPassing({ runs, weight, squaredWeight, passingWeight }: PassingRuns): Rate | null {
  return weight === 0
    ? null
    : buildRate({ value: passingWeight / weight, n: runs, effectiveN: weight ** 2 / squaredWeight });
}

/** Choice of scores: any of the values of each facet. */
type FacetValues = Readonly<Partial<Record<AggregateFacet, readonly string[] | undefined>>>;

/**
 * Returns the mean that monitors expect of a choice of scores, in the units of the scorer. Null when no monitor has a reference, or the
 * choice covers several of their series.
 */
function findMonitorMean(
  statuses: readonly MonitorStatus[],
  scorer: string,
  { facets, scale }: { readonly facets: FacetValues; readonly scale: ScoreScale },
): number | null {
  const fitting = statuses.filter(
    ({ baseline, series }) => baseline !== null && series.scorer === scorer && isChosen(series, facets),
  );
  const keys = new Set(fitting.map(({ series }) => computeSeriesKey(series)));
  const baseline = fitting[0]?.baseline ?? null;
  const { scoreMin, scoreMax, higherIsBetter } = scale;
  if (keys.size !== 1 || baseline === null || scoreMin === null || scoreMax === null) {
    return null;
  }
  const step = baseline * (scoreMax - scoreMin);
  return higherIsBetter === false ? scoreMax - step : scoreMin + step;
}

/** Returns true for a series of the choice. A series that is not split by a facet covers all of its values. */
function isChosen(series: SeriesFacets, facets: FacetValues): boolean {
  const values: Readonly<Record<AggregateFacet, string | undefined>> = {
    agent: series.agent,
    environment: series.environment,
    fingerprint: series.fingerprint,
    target: series.target ?? 'trace',
    service: series.service,
    model: series.model,
    serviceVersion: series.serviceVersion,
    agentVersion: series.agentVersion,
  };
  return AGGREGATE_FACETS.every((facet) => {
    const chosen = facets[facet];
    const value = values[facet];
    return chosen === undefined || (value !== undefined && chosen.includes(value));
  });
}

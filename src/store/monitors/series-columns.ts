import { type SeriesFacets, type SplitFacet, buildSplit } from '../../domain/series-facets.ts';
import type { ChosenSeries } from '../contracts/monitors.ts';
import type { QueryParams } from '../values.ts';

/** Columns of a series that all tables have. */
const FACET_COLUMNS = 'Tenant, Scorer, Fingerprint, Agent, Environment';

/** Columns that identify a series in the tables of monitors. */
export const SERIES_COLUMNS = `${FACET_COLUMNS}, Split`;

export interface SeriesRow {
  readonly Tenant: string;
  readonly Scorer: string;
  readonly Fingerprint: string;
  readonly Agent: string;
  readonly Environment: string;
  /** Alternates between facet and value: `['model', 'm1', 'service', 's1']`. */
  readonly Split: readonly string[];
}

/** Values of `SeriesRow`, for rows that are read by position. */
export type SeriesValues = [
  tenant: string,
  scorer: string,
  fingerprint: string,
  agent: string,
  environment: string,
  split: string[],
];

/** Column of `scores` and `score_arrivals` for each part of a series in `Split`. */
const COLUMN_OF: Readonly<Record<'target' | SplitFacet, string>> = {
  target: 'Target',
  model: 'Model',
  agentVersion: 'AgentVersion',
  serviceVersion: 'ServiceVersion',
  service: 'ServiceName',
};

/** Condition for scores of whole runs, which have no target in `Split`. Rows of earlier versions have no target. */
const IS_WHOLE_RUN = `Target IN ('trace', '')`;

/**
 * Returns `SERIES_COLUMNS` for a query on scores or outcomes whose series are split by these facets. Outcomes cannot be
 * split.
 */
export function seriesColumnsBy(by: readonly SplitFacet[]): string {
  const pairs = by.map((facet) => `'${facet}', toString(${COLUMN_OF[facet]})`);
  const target = `if(${IS_WHOLE_RUN}, emptyArrayString(), ['target', toString(Target)])`;
  return `${FACET_COLUMNS}, ${pairs.length === 0 ? target : `arrayConcat(${target}, [${pairs.join(', ')}])`} AS Split`;
}

/** Condition for the rows that no rule has split. */
export const IS_UNSPLIT = `(empty(Split) OR (length(Split) = 2 AND Split[1] = 'target'))`;

export function toSeriesRow(series: SeriesFacets): SeriesRow {
  return {
    Tenant: series.tenant,
    Scorer: series.scorer,
    Fingerprint: series.fingerprint,
    Agent: series.agent,
    Environment: series.environment,
    Split: buildSplit(series).flat(),
  };
}

export function fromSeriesRow(row: SeriesRow): SeriesFacets {
  const { Tenant, Scorer, Fingerprint, Agent, Environment, Split } = row;
  return fromSeriesValues([Tenant, Scorer, Fingerprint, Agent, Environment, [...Split]]);
}

export function fromSeriesValues(values: SeriesValues): SeriesFacets {
  const [tenant, scorer, fingerprint, agent, environment, split] = values;
  const series = { tenant, scorer, fingerprint, agent, environment };
  return split.length === 0 ? series : { ...series, ...fromSplit(split) };
}

function fromSplit(split: readonly string[]): Pick<SeriesFacets, 'target' | SplitFacet> {
  const pairs = split.flatMap((facet, index) => (index % 2 === 0 ? [[facet, split[index + 1] ?? '']] : []));
  return Object.fromEntries(pairs) as Pick<SeriesFacets, 'target' | SplitFacet>;
}

const HAS_FACETS = `Tenant = {tenant:String} AND Scorer = {scorer:String} AND Fingerprint = {fingerprint:String}
  AND Agent = {agent:String} AND Environment = {environment:String}`;

/** SQL condition for the rows of one series in the tables of monitors. Its parameters are `seriesParams`. */
export const IS_SERIES = `${HAS_FACETS} AND Split = {split:Array(String)}`;

/** Returns an SQL condition for the scores of one series. Its parameters are `seriesParams`. */
export function seriesCondition(series: SeriesFacets): string {
  const further = buildSplit(series).map(([facet]) => ` AND ${COLUMN_OF[facet]} = {${facet}:String}`);
  return `${HAS_FACETS}${series.target === undefined ? ` AND ${IS_WHOLE_RUN}` : ''}${further.join('')}`;
}

/**
 * Returns an SQL condition for series of chosen agents and environments, and for those that are of all. Its parameters are the choice.
 * @param columns SQL of the agent and the environment
 */
export function chosenCondition(
  { agent, environment }: ChosenSeries,
  columns: Readonly<Record<keyof ChosenSeries, string>>,
): string {
  const isChosen = (name: keyof ChosenSeries) =>
    `${columns[name]} IN arrayPushBack({${name}:Array(String)}, '')`;
  return `${agent === undefined ? '1' : isChosen('agent')} AND ${environment === undefined ? '1' : isChosen('environment')}`;
}

export function seriesParams(series: SeriesFacets): QueryParams {
  return { ...series, split: buildSplit(series).flat() };
}

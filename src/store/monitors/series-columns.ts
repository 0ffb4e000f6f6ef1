import { type SeriesFacets, type SplitFacet, buildSplit } from '../../domain/series-facets.ts';
import type { QueryParams } from '../database.ts';

/** The columns that every series has, in all tables. */
const FACET_COLUMNS = 'Tenant, Scorer, Fingerprint, Agent, Environment';

/** The columns that tell series apart, in tables of monitors. */
export const SERIES_COLUMNS = `${FACET_COLUMNS}, Split`;

export interface SeriesRow {
  readonly Tenant: string;
  readonly Scorer: string;
  readonly Fingerprint: string;
  readonly Agent: string;
  readonly Environment: string;
  /** Facet, value, facet, value. */
  readonly Split: readonly string[];
}

/** The same, as a row is read by position. */
export type SeriesValues = [
  tenant: string,
  scorer: string,
  fingerprint: string,
  agent: string,
  environment: string,
  split: string[],
];

/** The columns of `scores` and `score_arrivals` by which series are split. */
const COLUMN_OF: Readonly<Record<SplitFacet, string>> = {
  model: 'Model',
  agentVersion: 'AgentVersion',
  serviceVersion: 'ServiceVersion',
  service: 'ServiceName',
};

/** `SERIES_COLUMNS` of scores or outcomes whose series are split so; the latter can only be split by nothing. */
export function seriesColumnsBy(by: readonly SplitFacet[]): string {
  const pairs = by.map((facet) => `'${facet}', toString(${COLUMN_OF[facet]})`);
  return `${FACET_COLUMNS}, ${pairs.length === 0 ? 'emptyArrayString()' : `[${pairs.join(', ')}]`} AS Split`;
}

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

function fromSplit(split: readonly string[]): Partial<Record<SplitFacet, string>> {
  const pairs = split.flatMap((facet, index) => (index % 2 === 0 ? [[facet, split[index + 1] ?? '']] : []));
  return Object.fromEntries(pairs) as Partial<Record<SplitFacet, string>>;
}

const HAS_FACETS = `Tenant = {tenant:String} AND Scorer = {scorer:String} AND Fingerprint = {fingerprint:String}
  AND Agent = {agent:String} AND Environment = {environment:String}`;

/** A condition that holds for what monitors keep of one series; its values are `seriesParams`. */
export const IS_SERIES = `${HAS_FACETS} AND Split = {split:Array(String)}`;

/** A condition that holds for scores of one series; its values are `seriesParams`. */
export function seriesCondition(series: SeriesFacets): string {
  const further = buildSplit(series).map(([facet]) => ` AND ${COLUMN_OF[facet]} = {${facet}:String}`);
  return `${HAS_FACETS}${further.join('')}`;
}

export function seriesParams(series: SeriesFacets): QueryParams {
  return { ...series, split: buildSplit(series).flat() };
}

import type { SeriesFacets } from '../domain/alert.ts';
import type { QueryParams } from './database.ts';

/** The columns that tell series apart. */
export const SERIES_COLUMNS = 'Tenant, Scorer, Fingerprint, Agent, Environment';

export interface SeriesRow {
  readonly Tenant: string;
  readonly Scorer: string;
  readonly Fingerprint: string;
  readonly Agent: string;
  readonly Environment: string;
}

export function toSeriesRow(series: SeriesFacets): SeriesRow {
  return {
    Tenant: series.tenant,
    Scorer: series.scorer,
    Fingerprint: series.fingerprint,
    Agent: series.agent,
    Environment: series.environment,
  };
}

export function fromSeriesRow(row: SeriesRow): SeriesFacets {
  return {
    tenant: row.Tenant,
    scorer: row.Scorer,
    fingerprint: row.Fingerprint,
    agent: row.Agent,
    environment: row.Environment,
  };
}

/** A condition that holds for rows of one series; its values are `seriesParams`. */
export const IS_SERIES = `Tenant = {tenant:String} AND Scorer = {scorer:String} AND Fingerprint = {fingerprint:String}
  AND Agent = {agent:String} AND Environment = {environment:String}`;

export function seriesParams(series: SeriesFacets): QueryParams {
  return { ...series };
}

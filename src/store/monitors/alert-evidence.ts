import { isDeepStrictEqual } from 'node:util';
import { DAY_MS } from '../../domain/durations.ts';
import type { SeriesFacets } from '../../domain/series-facets.ts';
import type { AlertTrace } from '../../monitors/alert-event.ts';
import { explainChange, writeSentence } from '../../monitors/attribution/explain-change.ts';
import { FactTable, type RunFacets } from '../../monitors/attribution/fact-table.ts';
import { SCORE_STEPS } from '../../monitors/bucket.ts';
import type { Explanation } from '../../monitors/monitor-store.ts';
import type { TimedScore } from '../../monitors/statistics/judge-drift.ts';
import { type Database, readValue } from '../database.ts';
import type { QueryParams } from '../values.ts';
import { DIRECTED, STANDING, STEP, UNIT } from './folded-scores-sql.ts';
import { seriesCondition, seriesParams } from './series-columns.ts';

/** Limit of traces shown as evidence of an alert. */
const MAX_TRACES = 5;

/** Time before a change with which the traffic since then is compared, milliseconds. */
const BEFORE_MS = 7 * DAY_MS;

/** Most scores whose runs are read: of more, every second, third, … trace, by the hash of its id. */
const MAX_SCORES = 50_000;

/** Scores of equal facets in one period; sums are of whole steps. */
interface Cell {
  readonly isAfter: number;
  readonly values: readonly string[];
  readonly tools: readonly string[];
  /** Alternates between name and value. */
  readonly facets: readonly string[];
  readonly issues: readonly string[];
  readonly count: number;
  readonly sum: number;
  readonly squares: number;
}

/** Facets of a score that are texts, and their columns. */
const TEXTS = {
  agentVersion: 'AgentVersion',
  serviceVersion: 'ServiceVersion',
  model: 'Model',
  service: 'ServiceName',
  agent: 'Agent',
  environment: 'Environment',
  tenant: 'Tenant',
} as const;

/**
 * Reads the worst traces of a series in a range of time (none for sessions), and the reason of the change of its mean. Sums are of whole
 * steps: sums of fractions depend on the order in which threads add them, and every query must give the same result.
 */
export async function readAlertEvidence(
  database: Database,
  series: SeriesFacets,
  fromMs: number,
  toMs: number,
): Promise<Explanation> {
  const ofSeries = `WrittenAt < fromUnixTimestamp64Milli({to:Int64}) AND ${seriesCondition(series)}`;
  const condition = `${ofSeries} AND ${STANDING} = 'folded'`;
  const params = { ...seriesParams(series), from: fromMs, to: toMs, earlier: fromMs - BEFORE_MS };
  const worst = database.rows<AlertTrace>(
    `SELECT TraceId AS traceId, toString(ScoreId) AS scoreId, ${DIRECTED} AS score
     FROM score_arrivals
     WHERE WrittenAt >= fromUnixTimestamp64Milli({from:Int64}) AND TraceId != '' AND ${condition}
     ORDER BY score, WrittenAt, ScoreId LIMIT 1 BY TraceId LIMIT ${MAX_TRACES}`,
    params,
  );
  const [cells, worstTraces] = await Promise.all([readCells(database, ofSeries, params), worst]);
  const findMost = (facet: keyof typeof TEXTS): string => findMostCommon(cells, facet);
  const explanation = explainChange(fillTable(cells).read());
  return {
    worstTraces,
    cause: { ...explanation, sentence: writeSentence(explanation, series.scorer) },
    serviceVersion: findMost('serviceVersion'),
    agentVersion: findMost('agentVersion'),
    meanBefore: explanation.before?.mean ?? null,
  };
}

/** Most scores of a series whose change is measured: the latest. */
const MAX_MEASURED = 20_000;

/** Reads the directed scores of a series since a time (Unix milliseconds), the oldest first. */
export async function readScoresSince(
  database: Database,
  series: SeriesFacets,
  fromMs: number,
): Promise<TimedScore[]> {
  const rows = await database.rows<{ step: number; atMs: number }>(
    `SELECT ${STEP} AS step, toUnixTimestamp64Milli(WrittenAt) AS atMs FROM score_arrivals
     WHERE WrittenAt >= fromUnixTimestamp64Milli({from:Int64}) AND ${seriesCondition(series)} AND ${STANDING} = 'folded'
     ORDER BY WrittenAt DESC, ScoreId LIMIT ${MAX_MEASURED}`,
    { ...seriesParams(series), from: Math.trunc(fromMs) },
  );
  return rows.map(({ step, atMs }) => ({ score: step / SCORE_STEPS, atMs })).reverse();
}

/**
 * Reads the scores from a week before the change on, joined into cells of equal facets; tools are those of the whole run. Issues of a scorer are
 * left out: they follow from its scores.
 */
async function readCells(database: Database, ofSeries: string, params: QueryParams): Promise<Cell[]> {
  const range = `WrittenAt >= fromUnixTimestamp64Milli({earlier:Int64}) AND ${ofSeries}`;
  const count = await readValue(database, `SELECT count() FROM score_arrivals WHERE ${range}`, params);
  const every = Math.max(1, Math.ceil((count ?? 0) / MAX_SCORES));
  const isDrawn = (id: string) => (every === 1 ? '1' : `sipHash64(${id}) % ${every} = 0`);
  const isOfSeries = `TraceId IN (
    SELECT TraceId FROM score_arrivals WHERE TraceId != '' AND ${range} AND ${isDrawn('TraceId')})`;
  const texts = Object.values(TEXTS).map((column) => `toString(S.${column})`);
  return database.rows<Cell>(
    `SELECT S.IsAfter AS isAfter, [${texts.join(', ')}, if(R.Failed, 'yes', 'no')] AS values, R.Called AS tools,
       R.Described AS facets, F.Issues AS issues,
       toUInt32(count()) AS count, toUInt64(sum(S.Step)) AS sum, toUInt64(sum(toUInt64(S.Step) * S.Step)) AS squares
     FROM (
       SELECT TraceId, ${Object.values(TEXTS).join(', ')}, ${STEP} AS Step,
         WrittenAt >= fromUnixTimestamp64Milli({from:Int64}) AS IsAfter
       FROM score_arrivals WHERE ${range} AND ${STANDING} = 'folded' AND ${isDrawn(UNIT)}) AS S
     LEFT JOIN (
       SELECT TraceId, argMax(arrayDistinct(arraySort(arrayMap(name -> toString(name), Tools))), Version) AS Called,
         argMax(ifNull(ToolErrors, 0) > 0, Version) AS Failed, argMax(arrayMap(text -> toString(text), Facets), Version) AS Described
       FROM runs
       PREWHERE Tenant = {tenant:String} AND ${isOfSeries}
       WHERE Target = 'trace' AND TargetId = TraceId
       GROUP BY TraceId) AS R ON R.TraceId = S.TraceId
     LEFT JOIN (
       SELECT TraceId, arraySort(groupUniqArray(if(Title = '', IssueId, Title))) AS Issues
       FROM (
         SELECT TraceId, IssueId FROM failures FINAL
         PREWHERE Tenant = {tenant:String} AND ${isOfSeries}
         WHERE Scorer = '') AS O
       LEFT JOIN (
         SELECT IssueId, argMax(Title, Version) AS Title FROM issues WHERE Tenant = {tenant:String} GROUP BY IssueId) AS T
         ON T.IssueId = O.IssueId
       GROUP BY TraceId) AS F ON F.TraceId = S.TraceId
     GROUP BY isAfter, values, tools, facets, issues
     ORDER BY isAfter, values, tools, facets, issues`,
    params,
  );
}

/** Fills a table with the facets that differ among the cells. */
function fillTable(cells: readonly Cell[]): FactTable {
  const read = cells.map((cell) => ({ ...cell, facets: readFacets(cell) }));
  const names = [...new Set(read.flatMap(({ facets }) => [...facets.keys()]))].filter((name) =>
    read.some(({ facets }) => !isDeepStrictEqual(facets.get(name) ?? '', read[0]?.facets.get(name) ?? '')),
  );
  const table = new FactTable();
  for (const { isAfter, facets, count, sum, squares } of read) {
    const values: RunFacets = Object.fromEntries(names.map((name) => [name, facets.get(name) ?? '']));
    table.add(values, isAfter === 0 ? 'before' : 'after', {
      count,
      weight: 1,
      sum: sum / SCORE_STEPS,
      squares: squares / SCORE_STEPS ** 2,
    });
  }
  return table;
}

function readFacets({ values, tools, facets, issues }: Cell): Map<string, string | readonly string[]> {
  const described = facets.flatMap((name, index) =>
    index % 2 === 0 ? [[name, facets[index + 1] ?? '']] : [],
  );
  const columns = [...Object.keys(TEXTS), 'toolError'].map((name, index) => [name, values[index] ?? '']);
  return new Map<string, string | readonly string[]>([
    ...([...described, ...columns] as [string, string][]),
    ['tool', tools],
    ['issue', issues],
  ]);
}

/** Finds the value of a facet that most scores since the change have; '' without one. */
function findMostCommon(cells: readonly Cell[], facet: keyof typeof TEXTS): string {
  const place = Object.keys(TEXTS).indexOf(facet);
  const counts = new Map<string, number>();
  for (const { isAfter, values, count } of cells) {
    const value = values[place] ?? '';
    counts.set(value, (counts.get(value) ?? 0) + (isAfter === 0 ? 0 : count));
  }
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
  return most === undefined || most[1] === 0 ? '' : most[0];
}

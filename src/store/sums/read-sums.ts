import { AGGREGATE_FACETS } from '../../domain/aggregate-facets.ts';
import { PASS_AT } from '../../domain/agreement/directed-score.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { ROUNDING } from '../../domain/limits.ts';
import type {
  AggregateFilter,
  Profile,
  ProfileQuery,
  ScoreHistogram,
  ScoreScale,
  SummaryQuery,
  SummaryRow,
  SumsRow,
  TouchedHour,
} from '../contracts/sums.ts';
import { bind, type Database } from '../database.ts';
import {
  askBuckets,
  ASKED_BUCKETS,
  BIN_VALUES,
  IS_LABELLED,
  LABELLED,
  FACET_COLUMNS,
  buildTraceRows,
  inRanges,
  type Range,
  READ_SETTINGS,
  valueOf,
} from './score-sums.ts';
import type { QueryParams } from '../values.ts';

/** Creates the reads of the aggregates. */
export function createAggregateReads(database: Database) {
  return {
    /** Names of the scorers with scores, of a tenant or of all: those in the aggregates, and those of scores that were written since a time. */
    scorerNames: async (tenant: string | undefined, writtenSinceMs: number) => {
      const ofTenant = tenant === undefined ? '1' : 'Tenant = {tenant:String}';
      const rows = await database.rows<{ scorer: string }>(
        `SELECT DISTINCT toString(Scorer) AS scorer FROM (
           SELECT Scorer FROM score_days WHERE ${ofTenant}
           UNION ALL
           SELECT Scorer FROM scores
           WHERE WrittenAt >= fromUnixTimestamp64Milli({since:Int64}) AND NOT IsDeleted AND ${ofTenant})
         ORDER BY scorer`,
        { tenant, since: Math.max(0, Math.trunc(writtenSinceMs)) },
      );
      return rows.map(({ scorer }) => scorer);
    },
    /** Returns the time of the first write of a score at or after a time, Unix milliseconds; null without one. */
    firstWrittenSince: async (sinceMs: number) => {
      const [row] = await database.rows<{ atMs: number; n: number }>(
        `SELECT toUnixTimestamp64Milli(min(WrittenAt)) AS atMs, count() AS n FROM scores
         WHERE WrittenAt >= fromUnixTimestamp64Milli({since:Int64})`,
        { since: Math.max(0, Math.trunc(sinceMs)) },
      );
      return row === undefined || row.n === 0 ? null : row.atMs;
    },
    /** Counts score rows by their UTC day (start, Unix milliseconds), of a tenant or of all; versions that are not merged count separately. */
    rowsByDay: async (tenant?: string): Promise<ReadonlyMap<number, number>> => {
      const rows = await database.rows<{ day: number; n: number }>(
        `SELECT toUInt32(Day) AS day, count() AS n FROM scores
         WHERE ${tenant === undefined ? '1' : 'Tenant = {tenant:String}'} GROUP BY Day`,
        { tenant },
      );
      return new Map(rows.map(({ day, n }) => [day * DAY_MS, n]));
    },
    ...bind(database, {
      sum: sumGroups,
      summarise,
      profile: readProfile,
      topGroups: findTopGroups,
      histogram: readHistogram,
    }),
  };
}

export type AggregateReads = ReturnType<typeof createAggregateReads>;

/** Columns of a row of the aggregates beside its facets, with their SQL in a row that is computed from the scores. */
const COMPUTED: Readonly<Record<string, string>> = {
  Scores: 'S',
  Weight: 'W',
  SquaredWeight: 'W2',
  Total: 'T',
  Bins: 'H.1',
  BinScores: 'H.2',
  BinWeights: 'H.3',
};

const BINS = ['Bins', 'BinScores', 'BinWeights'];

const TIME = 'toUnixTimestamp64Milli(Bucket)';

interface RowsQuery extends AggregateFilter {
  readonly bucketMs?: number | undefined;
  /** Starts of days that are read by the hour. */
  readonly hourlyDays?: readonly number[] | undefined;
}

/**
 * Returns SQL for the rows of the aggregates that a query selects, with the named columns, and its parameters. Whole days are read from the
 * days, if no bucket is shorter. The asked hours are computed from the scores: the other hours of their days are read from the hours, so
 * that no row counts twice, however far a pass has come meanwhile.
 */
function chooseRows(query: RowsQuery, columns: readonly string[]) {
  const { tenant, scorers, source, fromMs, toMs, lacking = [] } = query;
  const facets = AGGREGATE_FACETS.filter((facet) => query[facet] !== undefined);
  const chosen = [
    'Source = {source:String}',
    ...(tenant === undefined ? [] : ['Tenant = {tenant:String}']),
    ...(scorers === undefined ? [] : ['Scorer IN {scorers:Array(String)}']),
    ...facets.map((facet) => `${FACET_COLUMNS[facet]} IN {${facet}:Array(String)}`),
  ].join(' AND ');
  const hours = lacking.filter(
    (hour) => hour.hourMs >= fromMs && hour.hourMs < toMs && (tenant ?? hour.tenant) === hour.tenant,
  );
  const { days, rest } = splitDays(query, hours);
  const ofTable = (table: string, ranges: readonly Range[], condition = '1') =>
    ranges.length === 0
      ? []
      : [
          `SELECT ${columns.join(', ')} FROM ${table} FINAL WHERE ${chosen} AND (${inRanges('Bucket', ranges)}) AND ${condition}`,
        ];
  const isStored = hours.length === 0 ? '1' : `(Tenant, ${TIME}) NOT IN ${ASKED_BUCKETS}`;
  const computed = columns.map((column) => {
    const sql = COMPUTED[column];
    return sql === undefined ? column : `${sql} AS ${column}`;
  });
  const parts = [
    ...ofTable('score_hours', rest, isStored),
    ...ofTable('score_days', days),
    ...(hours.length === 0 ? [] : [`SELECT ${computed.join(', ')} FROM (${buildTraceRows(chosen)})`]),
  ];
  const params: QueryParams = {
    ...Object.fromEntries(facets.map((facet) => [facet, query[facet]])),
    ...(hours.length === 0 ? {} : askBuckets(hours.map(({ tenant: of, hourMs }) => [of, hourMs]))),
    tenant,
    scorers,
    source,
  };
  return { rows: `(${parts.join(' UNION ALL ')})`, chosen, params };
}

function startOfDay(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}

/** Splits the range of a query into whole days without an asked hour, and the rest. */
function splitDays(
  { fromMs, toMs, bucketMs = DAY_MS, hourlyDays = [] }: RowsQuery,
  hours: readonly TouchedHour[],
): { readonly days: readonly Range[]; readonly rest: readonly Range[] } {
  const [from, to] = [Math.max(0, fromMs), Math.max(0, toMs)];
  const [first, end] = [Math.ceil(from / DAY_MS) * DAY_MS, Math.floor(to / DAY_MS) * DAY_MS];
  if (bucketMs % DAY_MS !== 0 || first >= end) {
    return { days: [], rest: [[from, to]] };
  }
  const ofHours = new Set([...hourlyDays, ...hours.map(({ hourMs }) => startOfDay(hourMs))]);
  const cut = [...ofHours].filter((dayMs) => dayMs >= first && dayMs < end).toSorted((a, b) => a - b);
  const starts = [first, ...cut.map((dayMs) => dayMs + DAY_MS)];
  const days = starts.map((start, index): Range => [start, cut[index] ?? end]);
  const rest: Range[] = [[from, first], ...cut.map((dayMs): Range => [dayMs, dayMs + DAY_MS]), [end, to]];
  const isSome = ([start, stop]: Range) => start < stop;
  return { days: days.filter(isSome), rest: rest.filter(isSome) };
}

function listFacets({ by }: Pick<SummaryQuery, 'by'>): string[] {
  return ['Scorer', ...by.map((facet) => FACET_COLUMNS[facet])];
}

/** SQL for the group of a row: the scorer, and the values of the facets. */
function groupOf(query: Pick<SummaryQuery, 'by'>): string {
  return `[${listFacets(query)
    .map((column) => `toString(${column})`)
    .join(', ')}]`;
}

/** Finds the groups with the most scores, and how many there are. */
async function findTopGroups(
  database: Database,
  query: SummaryQuery,
  limit: number,
): Promise<{ readonly groups: readonly (readonly string[])[]; readonly count: number }> {
  const { rows: from, params } = chooseRows(query, ['Scores', ...listFacets(query)]);
  const rows = await database.rows<{ group: string[]; found: number }>(
    `SELECT ${groupOf(query)} AS group, count() OVER () AS found FROM ${from}
     GROUP BY group ORDER BY sum(Scores) DESC, group LIMIT {limit:UInt32} ${READ_SETTINGS}`,
    { ...params, limit },
  );
  return { groups: rows.map(({ group }) => group), count: rows[0]?.found ?? 0 };
}

/** SQL for the pass line of a row, as a score. */
const LINE = `if(Direction > 0, ScoreMin, ScoreMax) + Direction * (ScoreMax - ScoreMin)
  * (transform(toString(Scorer), {lineRows:Array(String)}, {lines:Array(Float64)}, toFloat64(${PASS_AT})) - ${ROUNDING})`;

/**
 * SQL for whether the scores of a row have a bar, and for that bar: a score passes when it is at least as great, both multiplied by the
 * direction.
 */
function barSql(passAt: number | undefined): { hasBar: string; bar: string } {
  return passAt === undefined
    ? { hasBar: 'Direction IN (-1, 1) AND ScoreMax > ScoreMin', bar: `(${LINE}) * Direction` }
    : { hasBar: 'Direction IN (-1, 1)', bar: `{passAt:Float64} * Direction - ${ROUNDING}` };
}

/** Histogram columns of a row as values and weights. Functions of arrays are 2 to 4 times as fast as a row for each bin. */
const PLACES = `${BIN_VALUES} AS Places, BinScores, BinWeights`;

/**
 * Weights of quantiles are integers in ClickHouse: millionths. Weights of a cascade may be negative, which only sums can bear: its quantiles
 * are those of the last scores, with the mean weight.
 */
const QUANTILES = `quantilesExactWeightedArray(0.1, 0.5, 0.9)(Places, arrayMap(share -> toUInt64(round(share * 1000000)),
    if(arrayMin(BinWeights) < 0, arrayMap(count -> count * Weight / Scores, BinScores), BinWeights)))`;

/**
 * SQL for the bins of the selected rows, grouped one by one: much faster than `sumMap`. `At` is 1 for the first bin of a row, so that its
 * sums count once.
 */
function binsOf(rows: string): string {
  return `(
    SELECT IsWeighted, ScoreMin, ScoreMax, Direction, ${valueOf('Bin')} AS Place, max(Bucket) AS Latest, sumIf(Scores, At = 1) AS BinRows,
      sumIf(Weight, At = 1) AS RowWeight, sumIf(Total, At = 1) AS RowTotal, sum(BinScore) AS Counted, sum(BinWeight) AS Share
    FROM ${rows} ARRAY JOIN Bins AS Bin, BinScores AS BinScore, BinWeights AS BinWeight, arrayEnumerate(Bins) AS At
    GROUP BY IsWeighted, ScoreMin, ScoreMax, Direction, Bin)`;
}

interface StoredSums {
  readonly bucketMs: number | null;
  readonly group: string[];
  readonly isWeighted: number;
  readonly n: number;
  readonly w: number;
  readonly w2: number;
  readonly total: number;
  readonly scale: StoredScale;
}

interface StoredSummary extends StoredSums {
  readonly quantiles: [] | [p10: number, p50: number, p90: number];
  readonly barWeight: number;
  readonly passWeight: number;
}

type StoredScale = [scoreMin: number, scoreMax: number, direction: number];

const SCALE = 'argMax((ScoreMin, ScoreMax, toInt32(Direction)), Bucket) AS scale';

const COMPARED = [
  'Bucket',
  'IsWeighted',
  'ScoreMin',
  'ScoreMax',
  'Direction',
  'Scores',
  'Weight',
  'SquaredWeight',
  'Total',
];

/**
 * Returns SQL for the numbers of the buckets and groups of a query, in the order of time, then the numbers of the whole range.
 * @param numbers further columns of the result, from the columns of a row and those that are derived from its bins
 */
function selectGroups(
  query: SummaryQuery,
  { numbers, derived = [] }: { readonly numbers: readonly string[]; readonly derived?: readonly string[] },
) {
  const facets = listFacets(query);
  const { rows, params } = chooseRows(query, [...facets, ...COMPARED, ...(derived.length === 0 ? [] : BINS)]);
  const { bucketMs, groups, withTotals = bucketMs === undefined } = query;
  const key = [...facets, 'IsWeighted'].join(', ');
  const sets = [
    ...(bucketMs === undefined ? [] : [`(StartMs, ${key})`]),
    ...(withTotals ? [`(${key})`] : []),
  ];
  const startMs = bucketMs === undefined ? 'NULL' : 'if(grouping(StartMs) = 1, NULL, StartMs)';
  const bucket = `intDiv(${TIME}, {bucket:Int64}) * {bucket:Int64} AS StartMs`;
  return {
    sql: `SELECT ${startMs} AS bucketMs, ${groupOf(query)} AS group, IsWeighted AS isWeighted, sum(Scores) AS n, sum(Weight) AS w,
       sum(SquaredWeight) AS w2, sum(Total) AS total, ${[...numbers, SCALE].join(', ')}
     FROM (
       SELECT ${[...facets, ...COMPARED, ...derived, ...(bucketMs === undefined ? [] : [bucket])].join(', ')}
       FROM ${rows} ${groups === undefined ? '' : `WHERE ${groupOf(query)} IN {groups:Array(Array(String))}`})
     GROUP BY GROUPING SETS (${sets.join(', ')})
     ORDER BY bucketMs, group, isWeighted DESC ${READ_SETTINGS}`,
    params: { ...params, bucket: bucketMs, groups },
  };
}

/** Sums buckets and groups, in the order of time: much faster than `summarise`, which reads histograms. */
async function sumGroups(database: Database, query: SummaryQuery): Promise<SumsRow[]> {
  const { sql, params } = selectGroups(query, { numbers: [] });
  return joinGroups(await database.rows<StoredSums>(sql, params)).map(buildSums);
}

/** Returns SQL for the weight of a row that has a bar, and for the weight of what passes. */
function passSql(hasBar: string): { readonly ofBar: string; readonly passing: string } {
  return {
    ofBar: `if(${hasBar}, arraySum(BinWeights), 0)`,
    passing: `if(${hasBar}, arraySum((place, share) -> share * (place * Direction >= Bar), Places, BinWeights), 0)`,
  };
}

function lineParams(passLines: ReadonlyMap<string, number> = new Map()): QueryParams {
  return { lineRows: [...passLines.keys()], lines: [...passLines.values()] };
}

/** Summarises buckets and groups, in the order of time. */
async function summarise(database: Database, query: SummaryQuery): Promise<SummaryRow[]> {
  const { passAt, passRates = true, passLines } = query;
  const { hasBar, bar } = barSql(passAt);
  const { ofBar, passing } = passSql(hasBar);
  const { sql, params } = selectGroups(query, {
    numbers: [
      `${query.quantiles === false ? '[]' : QUANTILES} AS quantiles`,
      ...(passRates
        ? [`sum(${ofBar}) AS barWeight`, `sum(${passing}) AS passWeight`]
        : ['0 AS barWeight', '0 AS passWeight']),
    ],
    derived: [PLACES, `${bar} AS Bar`],
  });
  const rows = await database.rows<StoredSummary>(sql, { ...params, passAt, ...lineParams(passLines) });
  const labels = rows.some(isLabelled) ? await countLabels(database, query) : new Map<string, never>();
  return joinGroups(rows).map((group) => buildSummary(group, labels));
}

function buildSummary(
  rows: [StoredSummary, ...StoredSummary[]],
  labels: ReadonlyMap<string, Record<string, number>>,
): SummaryRow {
  const [first] = rows;
  const { w, quantiles, barWeight, passWeight } = first;
  const [p10 = null, p50 = null, p90 = null] = quantiles;
  return {
    ...buildSums(rows),
    ...(w > 0 && !isLabelled(first) ? { p10, p50, p90 } : { p10: null, p50: null, p90: null }),
    // Few scores of a cascade may add up to a little less than none, or more than all.
    passRate: barWeight > 0 ? Math.min(1, Math.max(0, passWeight / barWeight)) : null,
    labels: isLabelled(first) ? (labels.get(nameGroup(first)) ?? {}) : null,
  };
}

/** Row of a profile: `phase` is 0 before the range, 1 in it and 2 after it. */
interface StoredProfile extends Omit<StoredSummary, 'bucketMs'> {
  readonly phase: 0 | 1 | 2;
  /** Of each bucket: its start, n, w, w2, barWeight and passWeight. */
  readonly points: readonly [number[], number[], number[], number[], number[], number[]];
}

/** Reads a profile by one statement: most of the rows count in several of its parts, and planning is much of a statement. Counts no labels. */
async function readProfile(database: Database, query: ProfileQuery): Promise<Profile> {
  const { range, buckets, bucketMs, passLines, ...filter } = query;
  const facets = listFacets(filter);
  const { hasBar, bar } = barSql(undefined);
  const { ofBar, passing } = passSql(hasBar);
  const { rows, params } = chooseRows({ ...filter, hourlyDays: listHourlyDays(query) }, [
    ...facets,
    ...COMPARED,
    ...BINS,
  ]);
  const isIn = (from: string, to: string) => `${TIME} >= {${from}:Int64} AND ${TIME} < {${to}:Int64}`;
  const found = await database.rows<StoredProfile>(
    `SELECT Phase AS phase, ${groupOf(filter)} AS group, IsWeighted AS isWeighted, sum(Scores) AS n, sum(Weight) AS w,
       sum(SquaredWeight) AS w2, sum(Total) AS total, ${QUANTILES} AS quantiles, sum(RowBar) AS barWeight, sum(RowPass) AS passWeight,
       sumMapIf([StartMs], [Scores], [Weight], [SquaredWeight], [RowBar], [RowPass], ${isIn('firstMs', 'endMs')}) AS points, ${SCALE}
     FROM (
       SELECT *, ${ofBar} AS RowBar, ${passing} AS RowPass
       FROM (
         SELECT ${[...facets, ...COMPARED, PLACES].join(', ')}, ${bar} AS Bar,
           multiIf(${TIME} < {fromMs:Int64}, 0, ${TIME} < {toMs:Int64}, 1, 2) AS Phase,
           intDiv(${TIME}, {bucket:Int64}) * {bucket:Int64} AS StartMs
         FROM ${rows}))
     GROUP BY ${['Phase', ...facets, 'IsWeighted'].join(', ')} ORDER BY group, isWeighted DESC ${READ_SETTINGS}`,
    {
      ...params,
      ...lineParams(passLines),
      fromMs: range.fromMs,
      toMs: range.toMs,
      firstMs: buckets.fromMs,
      endMs: buckets.toMs,
      bucket: bucketMs,
    },
  );
  const build = (each: readonly StoredSummary[]) =>
    joinGroups(each).map((group) => buildSummary(group, new Map()));
  const [before = [], now = [], after = []] = [0, 1, 2].map((phase) =>
    found.filter((row) => row.phase === phase),
  );
  const whole = (each: readonly StoredProfile[]) => build(each.map((row) => ({ ...row, bucketMs: null })));
  return {
    now: whole(now),
    before: whole(before),
    points: [before, now, after].flatMap((each) => build(each.flatMap(splitPoints))),
  };
}

function splitPoints({ points, ...row }: StoredProfile): StoredSummary[] {
  const [starts, ...sums] = points;
  return starts.map((bucketMs, index) => {
    const [n = 0, w = 0, w2 = 0, barWeight = 0, passWeight = 0] = sums.map((each) => each[index] ?? 0);
    return { ...row, bucketMs, n, w, w2, barWeight, passWeight, total: 0, quantiles: [] };
  });
}

/** Lists the days of a profile that are read by the hour: days in which a part begins or ends, and all days of buckets shorter than a day. */
function listHourlyDays({ range, buckets, bucketMs }: ProfileQuery): number[] {
  const cuts = [range.fromMs, range.toMs, buckets.fromMs, buckets.toMs].filter((ms) => ms % DAY_MS !== 0);
  const first = startOfDay(buckets.fromMs);
  const count = bucketMs % DAY_MS === 0 ? 0 : Math.ceil((buckets.toMs - first) / DAY_MS);
  return [...cuts.map(startOfDay), ...Array.from({ length: count }, (_, index) => first + index * DAY_MS)];
}

function isLabelled({ scale: [, , direction] }: Pick<StoredSums, 'scale'>): boolean {
  return direction === LABELLED;
}

function nameGroup({ bucketMs, group }: Pick<StoredSums, 'bucketMs' | 'group'>): string {
  return JSON.stringify([bucketMs, group]);
}

/** Counts the labels of scores without a mean, by bucket and group. They are few, so they are counted from the scores. */
async function countLabels(
  database: Database,
  query: SummaryQuery,
): Promise<Map<string, Record<string, number>>> {
  const { chosen, params } = chooseRows(query, []);
  const { bucketMs, groups, fromMs, toMs, withTotals = bucketMs === undefined } = query;
  const time = 'toUnixTimestamp64Milli(TraceTimestamp)';
  const sets = [
    ...(bucketMs === undefined ? [] : [`intDiv(${time}, {bucket:Int64}) * {bucket:Int64}`]),
    ...(withTotals ? ["CAST(NULL, 'Nullable(Int64)')"] : []),
  ];
  const rows = await database.rows<StoredSums & { readonly label: string }>(
    `SELECT arrayJoin([${sets.join(', ')}]) AS bucketMs, ${groupOf(query)} AS group, toString(Label) AS label, count() AS n
     FROM scores FINAL
     WHERE TraceTimestamp >= fromUnixTimestamp64Milli({from:Int64}) AND TraceTimestamp < fromUnixTimestamp64Milli({to:Int64})
       AND ${chosen} AND ${IS_LABELLED} ${groups === undefined ? '' : `AND ${groupOf(query)} IN {groups:Array(Array(String))}`}
     GROUP BY bucketMs, group, label ORDER BY n DESC, label`,
    { ...params, from: Math.max(0, fromMs), to: Math.max(0, toMs), bucket: bucketMs, groups },
  );
  const counts = new Map<string, Record<string, number>>();
  for (const row of rows) {
    const name = nameGroup(row);
    counts.set(name, { ...counts.get(name), [row.label]: row.n });
  }
  return counts;
}

/** Joins the rows of a bucket and group: that of weighted scores comes first. */
function joinGroups<T extends StoredSums>(rows: readonly T[]): [T, ...T[]][] {
  const groups = Map.groupBy(rows, ({ bucketMs, group }) => JSON.stringify([bucketMs, group]));
  return [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [[first, ...others]],
  );
}

function buildSums(rows: [StoredSums, ...StoredSums[]]): SumsRow {
  const [{ bucketMs, group, w, w2, total, scale }] = rows;
  const [scorer = '', ...values] = group;
  const unweighted = rows.filter(({ isWeighted }) => isWeighted === 0);
  return {
    bucketMs,
    scorer,
    values,
    n: rows.reduce((sum, { n }) => sum + n, 0),
    unweighted: unweighted.reduce((sum, { n }) => sum + n, 0),
    weight: w,
    effectiveN: w2 > 0 ? (w * w) / w2 : 0,
    mean: w > 0 && scale[2] !== LABELLED ? total / w : null,
    ...toScale(scale),
  };
}

function toScale([scoreMin, scoreMax, direction]: StoredScale): ScoreScale {
  const hasRange = scoreMax > scoreMin;
  return {
    scoreMin: hasRange ? scoreMin : null,
    scoreMax: hasRange ? scoreMax : null,
    higherIsBetter: direction === 0 || direction === LABELLED ? null : direction > 0,
  };
}

/** Returns the histogram of the selected scores; null without scores. */
async function readHistogram(database: Database, filter: AggregateFilter): Promise<ScoreHistogram | null> {
  const { rows, params } = chooseRows(filter, [...COMPARED, ...BINS]);
  const [row, other] = await database.rows<{
    isWeighted: number;
    n: number;
    w: number;
    total: number;
    places: number[];
    counts: number[];
    weights: number[];
    scale: StoredScale;
  }>(
    `SELECT IsWeighted AS isWeighted, sum(PlaceRows) AS n, sum(PlaceWeight) AS w, sum(PlaceTotal) AS total,
       arraySort(groupArray((Place, toFloat64(PlaceScores), PlaceShare))) AS Sorted, arrayMap(each -> each.1, Sorted) AS places,
       arrayMap(each -> each.2, Sorted) AS counts, arrayMap(each -> each.3, Sorted) AS weights, argMax(Scale, Last) AS scale
     FROM (
       SELECT IsWeighted, Place, sum(BinRows) AS PlaceRows, sum(RowWeight) AS PlaceWeight, sum(RowTotal) AS PlaceTotal,
         sum(Counted) AS PlaceScores, greatest(0, sum(Share)) AS PlaceShare, max(Latest) AS Last,
         argMax((ScoreMin, ScoreMax, toInt32(Direction)), Latest) AS Scale
       FROM ${binsOf(rows)}
       GROUP BY IsWeighted, Place)
     GROUP BY isWeighted ORDER BY isWeighted DESC ${READ_SETTINGS}`,
    params,
  );
  if (row === undefined) {
    return null;
  }
  return {
    n: row.n + (other?.n ?? 0),
    weight: row.w,
    mean: row.w > 0 && row.scale[2] !== LABELLED ? row.total / row.w : null,
    values: row.places,
    counts: row.counts,
    weights: row.weights,
    ...toScale(row.scale),
  };
}

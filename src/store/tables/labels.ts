import type { IssueRow } from '../../domain/failure.ts';
import { TupleParam } from '@clickhouse/client';
import type { Scale } from '../../domain/agreement/directed-score.ts';
import type { QueueStrategy, VersionFacts } from '../../domain/agreement/label-agreement.ts';
import { AGGREGATE_FACETS } from '../../domain/aggregate-facets.ts';
import { compareValues } from '../../domain/compare-values.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { ROUNDING } from '../../domain/limits.ts';
import type { Score } from '../../domain/score.ts';
import type {
  JudgedGroup,
  JudgedQuery,
  JudgedRows,
  LabelledScorer,
  LabelledVersion,
  LabelQuery,
  LabelTarget,
  Reviewer,
} from '../contracts/sums.ts';
import type { LabelledTrace } from '../contracts/sources.ts';
import { bind, type Database, readValue } from '../database.ts';
import { readSlices, WITHOUT_TRACE } from '../spans/trace-keys.ts';
import { FACET_COLUMNS, READ_SETTINGS } from '../sums/score-sums.ts';
import { scoreRows } from '../table-rows.ts';
import { currentOfKeys } from './scores.ts';
import type { QueryParams } from '../values.ts';

/** Queries for the tenants of things: with spans, runs, or scores of a scorer. */
const QUERIES = {
  trace: [
    'SELECT DISTINCT Tenant AS tenant, TraceId AS id FROM trace_activity WHERE TraceId IN {ids:Array(String)}',
    'SELECT DISTINCT Tenant AS tenant, TraceId AS id FROM runs WHERE TraceId IN {ids:Array(String)}',
    `SELECT DISTINCT Tenant AS tenant, TraceId AS id FROM scores
     PREWHERE TraceId IN {ids:Array(String)} WHERE ScoredBy = ''`,
  ],
  session: [
    'SELECT DISTINCT Tenant AS tenant, SessionId AS id FROM runs WHERE SessionId IN {ids:Array(String)}',
    `SELECT DISTINCT Tenant AS tenant, SessionId AS id FROM scores
     PREWHERE ${WITHOUT_TRACE} AND SessionId IN {ids:Array(String)} WHERE ScoredBy = ''`,
  ],
} as const;

/** Days whose scores tell the scale of a scorer. */
const SCALE_DAYS = 30;

type StoredTarget = Omit<LabelTarget, 'draw' | 'passes'> & { readonly scoreId: string };

/** Creates the reads of labels. */
export function createLabelStore(database: Database) {
  const passLines = new Map<string, number>();
  return {
    /** Stores the pass line of a scorer for the view `pass_rates`, when it is another one than before. */
    recordPassLine: async (scorer: string, line: number): Promise<void> => {
      if (passLines.get(scorer) !== line) {
        await database.insertRows('pass_lines', [{ Scorer: scorer, Line: line }]);
        passLines.set(scorer, line);
      }
    },
    /** Counts the targets that have a score of the reviewer. */
    countLabelled: async (query: LabelQuery) => {
      const sql = `SELECT uniqExact(Tenant, TargetId) FROM scores FINAL
         PREWHERE ${LABELLED(query)} WHERE TraceTimestamp >= fromUnixTimestamp64Milli({since:Int64}) ${ON_CHOSEN(query)}`;
      return (await readValue(database, sql, buildParams(query))) ?? 0;
    },
    /** Reads the names of the score rows that have a label on a run since a time (Unix milliseconds). */
    labelledScorers: async ({ tenant, sinceMs }: Pick<LabelledScorer, 'tenant' | 'sinceMs'>) => {
      const rows = await database.rows<{ scorer: string }>(
        `SELECT DISTINCT toString(Scorer) AS scorer FROM scores PREWHERE Source = 'human' WHERE ${RECENT} ${OF_TENANT({ tenant })}`,
        { tenant, ...sinceParams(sinceMs) },
      );
      return new Set(rows.map(({ scorer }) => scorer));
    },
    /** Reads the versions of all scorers with a labelled target, the last used first. */
    labelledVersions: async ({
      sinceMs,
      limit,
    }: {
      readonly sinceMs: number;
      readonly limit: number;
    }): Promise<readonly LabelledVersion[]> => {
      const rows = await database.rows<
        Omit<LabelledVersion, 'higherIsBetter'> & { readonly higherIsBetter: boolean | null }
      >(READ_LABELLED_VERSIONS, { ...sinceParams(sinceMs), limit });
      return rows.map((row) => ({ ...row, higherIsBetter: row.higherIsBetter ?? true }));
    },
    ...bind(database, {
      tenantsOf: readTenants,
      recentTraces: readRecentTraces,
      byAuthors: readByAuthors,
      scales: readScales,
      unjoined: readUnjoined,
      reviewers: readReviewers,
      judged: readJudged,
      unlabelled: readUnlabelled,
    }),
  };
}

export type LabelStore = ReturnType<typeof createLabelStore>;

/** Targets of the rarer verdict that are expected below the bound of a draw, for each one that is asked for. */
const SPARE_TARGETS = 10;

/**
 * Reads the first targets of each verdict by their draw, among those without a score of the reviewer, and their number. Only targets below a
 * bound of the draw are compared; when it was too low, all of them are.
 */
async function readUnlabelled(
  database: Database,
  {
    seed,
    perStratum,
    rarer,
    ...query
  }: DrawQuery & {
    readonly seed: string;
    readonly perStratum: number;
    /** About how many targets the rarer verdict has. */
    readonly rarer: number;
  },
) {
  const draw = (bound: number) =>
    database.rows<{ passes: boolean; drawn: Drawn[]; left: number }>(DRAW(query, perStratum), {
      ...buildParams(query),
      seed,
      bound,
      issueTenant: query.issue?.tenant,
      issueId: query.issue?.issueId,
    });
  const isOfAll = query.strategy === 'stratified' && query.issue === undefined;
  const bound = isOfAll ? Math.min(1, (SPARE_TARGETS * perStratum) / rarer) : 1;
  const some = await draw(bound);
  const isEnough =
    bound === 1 || (some.length === 2 && some.every(({ drawn }) => drawn.length === perStratum));
  const strata = isEnough ? some : await draw(1);
  const drawn = new Map(strata.flatMap(({ passes, drawn: found }) => found.map((each) => [each, passes])));
  return { left: strata[0]?.left ?? 0, targets: await readDrawn(database, query, drawn) };
}

/**
 * Reads the versions of a scorer, the last used first, and sums their scores, and those with a label, by version, group and verdict.
 * Backfilled scores count where no live ones are.
 */
async function readJudged(database: Database, query: JudgedQuery) {
  const params = { ...rangeParams(query), ...query.chosen };
  const [scores, labels] = (await Promise.all(
    [false, true].map((isLabelled) => database.rows<StoredVerdicts>(sumJudged(query, isLabelled), params)),
  )) as [StoredVerdicts[], StoredVerdicts[]];
  const newestFirst = scores.toSorted(
    (a, b) => compareValues(b.lastAt, a.lastAt) || compareValues(a.fingerprint, b.fingerprint),
  );
  const versions = [...Map.groupBy(newestFirst, ({ fingerprint }) => fingerprint)].map(
    ([fingerprint, rows]): VersionFacts => ({
      fingerprint,
      scorerVersion: rows[0]?.scorerVersion ?? '',
      judgeModel: rows[0]?.judgeModel ?? '',
      higherIsBetter: rows.find(({ direction }) => direction !== null)?.direction ?? true,
      scores: rows.reduce((sum, { n }) => sum + n, 0),
    }),
  );
  const higherIsBetter = versions[0]?.higherIsBetter ?? true;
  const live = new Set(scores.flatMap((row) => (row.isLive ? [row.fingerprint] : [])));
  const counted = scores.filter((row) => row.isLive || !live.has(row.fingerprint));
  const rows = [...counted, ...labels].map(
    ({ fingerprint, group, n, weight, squaredWeight, passes, people }): JudgedRows => ({
      fingerprint,
      group,
      passes: passes[Number(higherIsBetter)] ?? false,
      people: people[Number(higherIsBetter)] ?? null,
      n,
      weight,
      squaredWeight,
    }),
  );
  return { versions, higherIsBetter, rows };
}

/** Rows of one version, group and verdicts: scores without a direction by either direction of the scorer, the falling one first. */
interface StoredVerdicts
  extends Omit<JudgedRows, 'passes' | 'people'>, Pick<VersionFacts, 'scorerVersion' | 'judgeModel'> {
  readonly isLive: boolean;
  readonly passes: readonly [boolean, boolean];
  /** Empty for all scores, with and without a label. */
  readonly people: readonly [] | readonly [boolean, boolean];
  /** Time of the last score, as a text. */
  readonly lastAt: string;
  /** True when a greater score is better; null for scores without a direction. */
  readonly direction: boolean | null;
}

/** Reads the reviewers with the most labels. */
function readReviewers(
  database: Database,
  { limit, ...query }: LabelledScorer & { readonly limit: number },
): Promise<readonly Reviewer[]> {
  return database.rows(
    `SELECT any(ScoredBy) AS reviewer, toString(Fingerprint) AS fingerprint, count() AS labels FROM scores FINAL
     PREWHERE Scorer = {scorer:String} AND Source = 'human' WHERE ${SINCE(query)}
     GROUP BY fingerprint ORDER BY labels DESC, reviewer LIMIT {limit:UInt32}`,
    { ...rangeParams(query), limit },
  );
}

/** Reads scores that were posted before their run was known, and written since a time (Unix milliseconds): the newest ones. */
function readUnjoined(
  database: Database,
  { writtenSinceMs, limit }: { readonly writtenSinceMs: number; readonly limit: number },
): Promise<Score[]> {
  return scoreRows.read(
    database,
    `FROM scores FINAL
     WHERE ScoreId IN (
       SELECT ScoreId FROM scores
       WHERE WrittenAt >= fromUnixTimestamp64Milli({since:Int64}) AND Source IN ('human', 'api')
         AND Completeness = 'partial')
       AND ScoredBy != '' AND Completeness = 'partial'
     ORDER BY ScoredAt DESC, ScoreId
     LIMIT {limit:UInt32}`,
    { since: Math.max(0, Math.trunc(writtenSinceMs)), limit },
  );
}

function buildParams({ tenant, scorer, fingerprint, sinceMs, chosen }: LabelQuery): QueryParams {
  return { tenant, scorer, fingerprint, ...chosen, ...sinceParams(sinceMs) };
}

function sinceParams(sinceMs: number): { readonly since: number; readonly day: number } {
  const since = Math.max(0, Math.trunc(sinceMs));
  // The first score of a run is at most a day older than its start, by clocks that differ.
  return { since, day: Math.max(0, Math.trunc(since / DAY_MS) - 1) };
}

function rangeParams({ tenant, scorer, sinceMs, untilMs }: LabelledScorer): QueryParams {
  return { tenant, scorer, until: untilMs && Math.max(0, Math.trunc(untilMs)), ...sinceParams(sinceMs) };
}

const SINCE = (query: LabelledScorer) =>
  `${RECENT}
    ${query.untilMs === undefined ? '' : 'AND TraceTimestamp < fromUnixTimestamp64Milli({until:Int64})'} ${OF_TENANT(query)}`;

const OF_TENANT = ({ tenant }: Pick<LabelQuery, 'tenant'>) =>
  tenant === undefined ? '' : 'AND Tenant = {tenant:String}';

/** For PREWHERE, too: all rows of an id have the same author. */
const LABELLED = (query: LabelQuery) =>
  `Scorer = {scorer:String} AND Source = 'human' AND Fingerprint = {fingerprint:String} ${OF_TENANT(query)}`;

/** A further run of a trace has an id that a label cannot name. */
const IS_NAMED = `(Target = 'session' OR TargetId = TraceId OR TargetId = concat(TraceId, '/', SpanId))`;

const PLACE = 'if(ScoreMax > ScoreMin, (Score - ScoreMin) / (ScoreMax - ScoreMin), Score)';

/** Runs since the start, with the days of the key that can have them. */
const RECENT = 'Day >= toDate({day:UInt16}) AND TraceTimestamp >= fromUnixTimestamp64Milli({since:Int64})';

/** Number of the possible draws. */
const MAX_DRAW = 2 ** 64;

const OF_ISSUE =
  'SELECT Tenant, TraceId FROM failures FINAL WHERE Tenant = {issueTenant:String} AND IssueId = {issueId:String}';

/**
 * Draws the newest scores of targets, from few columns: sorting the whole rows would take most of the time. A target has one draw, so all
 * its rows are below the bound, or none.
 * @param perStratum written into the statement: an aggregate takes no query parameter
 */
const DRAW = (query: DrawQuery, perStratum: number) => `
  SELECT Passes AS passes, groupArraySorted(${perStratum})((Draw, Owner, FirstDay, Id)) AS drawn, any(Targets) AS left
  FROM (
    SELECT Targets, row.1 AS Draw, row.2 AS Owner, row.3 AS FirstDay, row.4 AS Id, row.5 AS Passes
    FROM (
      SELECT uniqExact(Draw) AS Targets,
        groupArrayIf((Draw, toString(Tenant), Day, ScoreId, ${PASSES(query)}, ScoredAt), Draw <= {bound:Float64} * ${MAX_DRAW}) AS rows
      FROM (
        SELECT Tenant, Day, ScoreId, ScoredAt, Score, ScoreMin, ScoreMax, HigherIsBetter, sipHash64({seed:String}, Tenant, Target, TargetId) AS Draw
        FROM scores FINAL
        WHERE Scorer = {scorer:String} AND Source IN ('live', 'backfill') ${OF_TENANT(query)} AND ${IS_NAMED}
          AND ${RECENT} ${CHOSEN(query)}
          ${query.issue === undefined ? '' : `AND (Tenant, TraceId) IN (${OF_ISSUE})`}
          ${OF_STRATEGY(query)}
          AND (Tenant, TargetId) NOT IN (SELECT Tenant, TargetId FROM scores FINAL PREWHERE ${LABELLED(query)})))
    ARRAY JOIN rows AS row
    ORDER BY row.6 DESC LIMIT 1 BY Draw)
  GROUP BY Passes ${READ_SETTINGS}`;

/** Choice of targets, with what tells their verdict. */
type DrawQuery = LabelQuery &
  Verdict & {
    /** Only runs with a failure of this issue. */
    readonly issue?: Pick<IssueRow, 'tenant' | 'issueId'> | undefined;
    readonly strategy: QueueStrategy;
  };

/** Targets with labels of others that a reviewer gets: those with one label, and those whose labels are divided. */
const HAVE_LABELS: Readonly<Record<QueueStrategy, (query: DrawQuery) => string>> = {
  stratified: () => '',
  second: () => 'HAVING count() = 1',
  adjudicate: (query) => `HAVING 2 * countIf(${PASSES(query)}) = count()`,
};

const OF_STRATEGY = (query: DrawQuery) =>
  query.strategy === 'stratified'
    ? ''
    : `AND (Tenant, Target, TargetId) IN (
        SELECT Tenant, Target, TargetId FROM scores FINAL
        WHERE Scorer = {scorer:String} AND Source = 'human' AND ${RECENT} ${OF_TENANT(query)}
        GROUP BY Tenant, Target, TargetId ${HAVE_LABELS[query.strategy](query)})`;

/** Score as it was drawn. */
type Drawn = readonly [draw: number, tenant: string, day: string, scoreId: string];

/** Reads the scores that were drawn, in the order of their draw. */
async function readDrawn(
  database: Database,
  { scorer }: LabelQuery,
  drawn: ReadonlyMap<Drawn, boolean>,
): Promise<LabelTarget[]> {
  const draws = new Map(
    [...drawn].map(([[draw, , , scoreId], passes]) => [scoreId, { draw: draw / MAX_DRAW, passes }]),
  );
  const rows = await readSlices([...drawn.keys()], (slice) =>
    database.rows<StoredTarget>(READ_DRAWN, {
      ids: slice.map(([, tenant, day, scoreId]) => new TupleParam([tenant, scorer, day, scoreId])),
    }),
  );
  return rows
    .map(({ scoreId, ...row }) => ({ ...row, ...(draws.get(scoreId) ?? { draw: 0, passes: false }) }))
    .toSorted((a, b) => a.draw - b.draw || compareValues(a.targetId, b.targetId));
}

const READ_DRAWN = `
  SELECT toString(ScoreId) AS scoreId, Tenant AS tenant, toString(Target) AS target, TargetId AS targetId, TraceId AS traceId,
    if(Target = 'session' OR TargetId = TraceId, '', SpanId) AS spanId, SessionId AS sessionId, toString(Agent) AS agent,
    toString(ServiceName) AS service, toString(Environment) AS environment, toUnixTimestamp64Milli(TraceTimestamp) AS startMs,
    ScoreMin AS scoreMin, ScoreMax AS scoreMax, HigherIsBetter AS higherIsBetter
  FROM scores FINAL
  WHERE (Tenant, Scorer, Day, ScoreId) IN {ids:Array(Tuple(String, String, Date, UUID))}`;

/** SQL for what the rows of one fingerprint tell of its version. */
const OF_VERSION = `argMax(toString(ScorerVersion), ScoredAt) AS scorerVersion, argMax(toString(JudgeModel), ScoredAt) AS judgeModel`;

/** SQL for the groups of estimates. */
const GROUPS: Readonly<Record<JudgedGroup, string>> = {
  day: 'toDate(TraceTimestamp)',
  week: 'toMonday(TraceTimestamp)',
  ...FACET_COLUMNS,
};

const CHOSEN = ({ chosen = {} }: Pick<JudgedQuery, 'chosen'>) =>
  AGGREGATE_FACETS.filter((facet) => chosen[facet] !== undefined)
    .map((facet) => `AND ${FACET_COLUMNS[facet]} IN {${facet}:Array(String)}`)
    .join(' ');

/** A label has no facets before its run is read: the scores of its target tell them. */
const ON_CHOSEN = (query: LabelQuery) =>
  CHOSEN(query) === ''
    ? ''
    : `AND (Tenant, TargetId) IN (
        SELECT Tenant, TargetId FROM scores
        WHERE Scorer = {scorer:String} AND Source IN ('live', 'backfill') AND ${RECENT} ${OF_TENANT(query)} ${CHOSEN(query)})`;

/** Terms of a verdict: a score without a direction has the direction of its scorer. */
export interface Verdict extends Pick<JudgedQuery, 'passLine'> {
  readonly higherIsBetter: boolean;
}

/** SQL for whether a row passes. */
const PASSES = ({ passLine, higherIsBetter }: Verdict) => {
  const place = `least(1, greatest(0, ifNull(${PLACE}, Score)))`;
  return `toBool(if(ifNull(HigherIsBetter, ${higherIsBetter}), ${place}, 1 - ${place}) >= ${passLine - ROUNDING})`;
};

/** SQL for the verdicts of a row, by both directions of its scorer. */
const VERDICTS = ({ passLine }: JudgedQuery) =>
  [false, true].map(
    (higherIsBetter) => `${PASSES({ passLine, higherIsBetter })} AS ${higherIsBetter ? 'Rising' : 'Falling'}`,
  );

const OF_PEOPLE = (query: JudgedQuery) =>
  `PREWHERE Scorer = {scorer:String} AND Source = 'human' WHERE ${SINCE(query)}`;

/** SQL for what people say about targets. Of several reviewers, the majority counts; a tie passes. */
const PEOPLE = (query: JudgedQuery) => `
    SELECT Tenant, Target, TargetId, [toBool(avg(Falling) >= 0.5), toBool(avg(Rising) >= 0.5)] AS people
    FROM (SELECT ${['Tenant, Target, TargetId', ...VERDICTS(query)].join(', ')} FROM scores FINAL ${OF_PEOPLE(query)})
    GROUP BY Tenant, Target, TargetId`;

/**
 * Returns SQL that sums the scores of the scorer in a range by version, group and verdict; `W` is the weight of a row.
 * @param isLabelled true: only the newest scores of targets with a label, also by the verdict of people. All rows of an id have one target,
 *   so it is checked before FINAL
 */
function sumJudged(query: JudgedQuery, isLabelled: boolean): string {
  const { by = [] } = query;
  const names = by.map((_, index) => `Group${index}`);
  const groups = by.map((each, index) => `${GROUPS[each]} AS Group${index}`);
  const group =
    by.length === 0
      ? "''"
      : `arrayStringConcat([${names.map((name) => `toString(${name})`).join(', ')}], '\\0')`;
  return `
  SELECT toString(Fingerprint) AS fingerprint, ${group} AS group, [Falling, Rising] AS passes, count() AS n, sum(W) AS weight,
    sum(W * W) AS squaredWeight, ${isLabelled ? 'true AS isLive, people' : `toBool(Source = 'live') AS isLive, [] AS people`}, ${OF_VERSION},
    toString(max(ScoredAt)) AS lastAt, any(HigherIsBetter) AS direction
  FROM (
    SELECT ${['Tenant, Target, TargetId, Fingerprint, Source, ScorerVersion, JudgeModel, HigherIsBetter, ScoredAt', 'ifNull(Weight, 1) AS W', ...groups, ...VERDICTS(query)].join(', ')}
    FROM scores FINAL
    PREWHERE Scorer = {scorer:String} ${isLabelled ? `AND TargetId IN (SELECT TargetId FROM scores ${OF_PEOPLE(query)})` : ''}
    WHERE Source IN ('live', 'backfill') AND ${SINCE(query)} ${CHOSEN(query)}
    ${isLabelled ? 'ORDER BY ScoredAt DESC LIMIT 1 BY Tenant, Target, TargetId, Fingerprint' : ''}) AS a
  ${isLabelled ? `INNER JOIN (${PEOPLE(query)}) AS b ON a.Tenant = b.Tenant AND a.Target = b.Target AND a.TargetId = b.TargetId` : ''}
  GROUP BY ${['Fingerprint', ...names, 'Falling', 'Rising', isLabelled ? 'people' : 'Source'].join(', ')} ${READ_SETTINGS}`;
}

const READ_LABELLED_VERSIONS = `
  SELECT toString(Scorer) AS scorer, toString(Fingerprint) AS fingerprint, ${OF_VERSION}, any(HigherIsBetter) AS higherIsBetter
  FROM scores
  WHERE Source IN ('live', 'backfill') AND ${RECENT} AND (Tenant, Scorer, TargetId) IN (
    SELECT Tenant, Scorer, TargetId FROM scores WHERE Source = 'human' AND ${RECENT})
  GROUP BY scorer, fingerprint
  ORDER BY max(ScoredAt) DESC
  LIMIT {limit:UInt32}`;

/** Reads the scales of the newest scores of scorers of the last 30 days, by the names of their rows. A name without such a score is absent. */
async function readScales(
  database: Database,
  { scorers, tenants }: { readonly scorers: readonly string[]; readonly tenants: readonly string[] },
): Promise<Map<string, Scale>> {
  const rows = await database.rows<{
    scorer: string;
    scale: readonly [higherIsBetter: boolean | null, scoreMin: number | null, scoreMax: number | null];
  }>(
    `SELECT toString(Scorer) AS scorer, argMax((HigherIsBetter, ScoreMin, ScoreMax), ScoredAt) AS scale
     FROM scores
     WHERE Tenant IN {tenants:Array(String)} AND Scorer IN {scorers:Array(String)}
       AND Day >= today() - ${SCALE_DAYS} AND ScoredBy = '' AND IsDeleted = 0
     GROUP BY scorer`,
    { scorers: [...scorers], tenants: [...tenants] },
  );
  return new Map(
    rows.map(({ scorer, scale: [higherIsBetter, scoreMin, scoreMax] }) => [
      scorer,
      { higherIsBetter, scoreMin, scoreMax },
    ]),
  );
}

/** Reads the tenants that have these traces or sessions, in order, by id. An unknown id is absent. */
async function readTenants(
  database: Database,
  kind: keyof typeof QUERIES,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await readSlices([...new Set(ids)], (slice) =>
    database.rows<{ tenant: string; id: string }>(QUERIES[kind].join(' UNION DISTINCT '), { ids: slice }),
  );
  return new Map(
    [...Map.groupBy(rows, ({ id }) => id)].map(([id, found]) => [
      id,
      found.map(({ tenant }) => tenant).toSorted(),
    ]),
  );
}

/** Lists traces with runs since a time (Unix milliseconds), the newest first. */
function readRecentTraces(
  database: Database,
  { sinceMs, ...page }: { readonly sinceMs: number; readonly offset: number; readonly limit: number },
): Promise<LabelledTrace[]> {
  return database.rows(
    `SELECT Tenant AS tenant, TraceId AS traceId, groupUniqArray(SpanId) AS spanIds FROM runs FINAL
     WHERE StartedAt >= fromUnixTimestamp64Milli({since:Int64}) AND TraceId != '' GROUP BY Tenant, TraceId
     ORDER BY max(StartedAt) DESC, TraceId LIMIT {limit:UInt32} OFFSET {offset:UInt32}`,
    { ...sinceParams(sinceMs), ...page },
  );
}

/** Reads the labels of traces whose authors begin with a kind of tools. */
async function readByAuthors(
  database: Database,
  kind: string,
  traces: readonly LabelledTrace[],
): Promise<Score[]> {
  const from = `FROM ${currentOfKeys()} AND Source = 'human' AND startsWith(ScoredBy, '${kind}')`;
  return [...(await scoreRows.readByTrace(database, from, traces)).values()].flat();
}

import { TupleParam } from '@clickhouse/client';
import { DAY_MS } from '../../domain/durations.ts';
import type { Score } from '../../domain/score.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import type { Listed, ListFilters, ListKey, ListPage, ScoreOrder } from '../contracts/lists.ts';
import type { Database } from '../database.ts';
import { scoreRows } from '../table-rows.ts';
import { readSlices, splitIntoSlices } from '../spans/trace-keys.ts';
import { asksDecisions, buildConditions, OF_DECISIONS, OF_SCORES, ofTimes } from './list-conditions.ts';
import type { Keyed } from './keyset-page.ts';
import { leaveOutRepeats, scanPage, SMALL_BLOCKS, type Candidates } from './scan-page.ts';

/** Row of `score_starts`: the key of a row of `scores`, and its start. */
interface Candidate {
  readonly tenant: string;
  readonly scorer: string;
  readonly day: string;
  readonly scoreId: string;
  readonly atMs: string;
}

/** Orders of scores: the column and the field of their time, and the way of the list. */
const ORDERS = {
  started: { column: 'TraceTimestamp', field: 'traceTimestamp', way: 'DESC', behind: '<' },
  scored: { column: 'ScoredAt', field: 'scoredAt', way: 'DESC', behind: '<' },
  scored_first: { column: 'ScoredAt', field: 'scoredAt', way: 'ASC', behind: '>' },
} as const satisfies Record<ScoreOrder, object>;

/** Lists current scores by a time and their id. */
export function listScores(
  database: Database,
  filters: ListFilters,
  { order = 'started', ...page }: ListPage & { readonly order?: ScoreOrder | undefined },
): Promise<Listed<Score>> {
  return scanPage(
    {
      readCandidates: (after, limit) => readCandidates(database, filters, { after, limit, order }),
      resolve: (candidates) => resolveScores(database, filters, candidates, order),
    },
    page,
  );
}

/** Candidates beyond twice the limit among the worst scores: some are out of date, or come more than once. */
const SPARE_CANDIDATES = 1_000;

/** Distance of a score to the best value of its scorer, from 0 to 1; null without a range or a direction. */
export const DISTANCE =
  'if(HigherIsBetter, ScoreMax - Score, Score - ScoreMin) / nullIf(ScoreMax - ScoreMin, 0)';

/** Order of the worst scores. Scores without a range count as they are; scores without a direction come last. */
const BADNESS = `isNull(HigherIsBetter), ifNull(${DISTANCE}, if(HigherIsBetter, -Score, Score)) DESC`;

/** Reads the worst current scores. The scores of a scorer stand together in `scores`. */
export async function readWorstScores(
  database: Database,
  filters: ListFilters,
  limit: number,
): Promise<readonly Score[]> {
  const { sql, params } = buildConditions(filters, OF_SCORES, ofTimes('TraceTimestamp'));
  const { scorer, sinceMs } = filters;
  const [table, days] =
    scorer === undefined
      ? [tableOf(filters), '']
      : ['scores', sinceMs === undefined ? '' : 'AND Day >= toDate({firstDay:UInt16})'];
  const candidates = await database.rows<Candidate & { readonly score: number }>(
    `SELECT ${candidateColumns('TraceTimestamp')}, Score AS score FROM ${table} WHERE ${sql} ${days} AND IsDeleted = 0
     ORDER BY ${BADNESS}, TraceTimestamp DESC, ScoreId DESC LIMIT {limit:UInt32}`,
    { ...params, firstDay: toDay((sinceMs ?? 0) - EARLIER_MS), limit: 2 * limit + SPARE_CANDIDATES },
  );
  const found: Score[] = [];
  const distinct = leaveOutRepeats(candidates, ({ score, scoreId }) => `${score} ${scoreId}`);
  for (const slice of splitIntoSlices(distinct, limit + SPARE_AT_ONCE)) {
    const resolved = await resolveScores(database, filters, slice);
    const current = new Map(resolved.map(({ item }) => [item.scoreId, item]));
    // A replaced score has a row of its own, at its former place.
    found.push(
      ...slice.flatMap(({ scoreId, score }) => {
        const item = current.get(scoreId);
        return item?.score === score ? [item] : [];
      }),
    );
    if (found.length >= limit) {
      break;
    }
  }
  return found.slice(0, limit);
}

/** Time by which the first score of a run may seem older than its start, by clocks that differ, milliseconds. */
const EARLIER_MS = 2 * DAY_MS;

function toDay(ms: number): number {
  return Math.max(0, Math.trunc(ms / DAY_MS));
}

/** Candidates beyond the limit that are looked up at once. */
const SPARE_AT_ONCE = 20;

/** Returns the columns of a candidate, with a time column. */
function candidateColumns(time: string): string {
  return `Tenant AS tenant, Scorer AS scorer, toString(Day) AS day, toString(ScoreId) AS scoreId,
    toString(toUnixTimestamp64Milli(${time})) AS atMs`;
}

/** The scores of a trace or a session are found by indexes of `scores`, all others in the order of the list. */
function tableOf({ traceId, sessionId }: ListFilters): string {
  return traceId === undefined && sessionId === undefined ? 'score_starts' : 'scores';
}

async function readCandidates(
  database: Database,
  filters: ListFilters,
  {
    after,
    limit,
    order,
  }: { readonly after: ListKey | undefined; readonly limit: number; readonly order: ScoreOrder },
): Promise<Candidates<Candidate>> {
  const { column, way, behind } = ORDERS[order];
  const { sql, params } = buildConditions(filters, OF_SCORES, ofTimes(column));
  // The first condition serves the primary key.
  const afterSql = `AND ${column} ${behind}= fromUnixTimestamp64Milli({afterMs:Int64})
    AND (${column}, ScoreId) ${behind} (fromUnixTimestamp64Milli({afterMs:Int64}), toUUIDOrZero({afterId:String}))`;
  const [table, settings] = order === 'started' ? [tableOf(filters), SMALL_BLOCKS] : ['scores', ''];
  const rows = await database.rows<Candidate>(
    `SELECT ${candidateColumns(column)} FROM ${table}
     WHERE ${sql} ${after === undefined ? '' : afterSql} AND IsDeleted = 0
     ORDER BY ${column} ${way}, ScoreId ${way}
     LIMIT {limit:UInt32} ${settings}`,
    { ...params, limit, ...(after === undefined ? {} : { afterMs: after.atMs, afterId: after.id }) },
  );
  const last = rows.length < limit ? undefined : rows.at(-1);
  return {
    found: leaveOutRepeats(rows, ({ atMs, scoreId }) => `${atMs} ${scoreId}`),
    next: last === undefined ? null : { atMs: Number(last.atMs), id: last.scoreId },
  };
}

async function resolveScores(
  database: Database,
  filters: ListFilters,
  candidates: readonly Candidate[],
  order: ScoreOrder = 'started',
): Promise<readonly Keyed<Score>[]> {
  const scores = await readSlices(candidates, (slice) => readCurrent(database, filters, slice));
  const found = new Map(scores.map((score) => [score.scoreId, score]));
  return candidates.flatMap(({ scoreId, atMs }) => {
    const item = found.get(scoreId);
    const isCurrent = item?.[ORDERS[order].field] === Number(atMs);
    return item === undefined || !isCurrent ? [] : [{ key: { atMs: Number(atMs), id: scoreId }, item }];
  });
}

/** Reads the current rows of candidates that are as asked. Two processes may write an id under two days: the newer evidence counts. */
async function readCurrent(
  database: Database,
  filters: ListFilters,
  candidates: readonly Candidate[],
): Promise<readonly Score[]> {
  const asked = buildConditions(filters, OF_SCORES);
  const ids = `(Tenant, Scorer, Day, ScoreId) IN {ids:Array(Tuple(String, String, Date, UUID))}`;
  const scores = await scoreRows.read(
    database,
    `FROM (SELECT * FROM scores FINAL WHERE ${ids} ORDER BY Version DESC LIMIT 1 BY ScoreId)
     WHERE ${asked.sql}`,
    { ids: candidates.flatMap(nearDays), ...asked.params },
  );
  return scores.length > 0 && asksDecisions(filters) ? keepDecided(database, filters, scores) : scores;
}

/** Columns that a score and its decision have in common. Its scorer is that of the decision, or a row of that scorer. */
type DecidedKey = Pick<Score, 'tenant' | 'traceId' | 'target' | 'targetId' | 'fingerprint'>;

interface DecidedRow extends DecidedKey {
  readonly scorer: string;
  /** 1 when a rule decided as asked. */
  readonly isAsked: number;
}

/** Keeps the scores of which a decision is as asked. */
async function keepDecided(
  database: Database,
  filters: ListFilters,
  scores: readonly Score[],
): Promise<readonly Score[]> {
  const { sql, params } = buildConditions(filters, OF_DECISIONS);
  const rows = await database.rows<DecidedRow>(
    `SELECT Tenant AS tenant, TraceId AS traceId, Target AS target, TargetId AS targetId, Fingerprint AS fingerprint,
       Scorer AS scorer, max(${sql}) AS isAsked
     FROM decisions FINAL WHERE TraceId IN {traceIds:Array(String)} AND TargetId IN {targetIds:Array(String)}
     GROUP BY tenant, traceId, target, targetId, fingerprint, scorer`,
    {
      ...params,
      traceIds: [...new Set(scores.map(({ traceId }) => traceId))],
      targetIds: [...new Set(scores.map(({ targetId }) => targetId))],
    },
  );
  const decided = Map.groupBy(rows, joinDecidedKey);
  return scores.filter((score) => {
    const ofTarget = new Map(decided.get(joinDecidedKey(score))?.map((row) => [row.scorer, row]));
    return ofTarget.get(findRowScorer(score.scorer, ofTarget.keys()) ?? '')?.isAsked === 1;
  });
}

function joinDecidedKey({ tenant, traceId, target, targetId, fingerprint }: DecidedKey): string {
  return JSON.stringify([tenant, traceId, target, targetId, fingerprint]);
}

function nearDays({ tenant, scorer, day, scoreId }: Candidate): TupleParam[] {
  return [-DAY_MS, 0, DAY_MS].map((distance) => {
    const near = new Date(Math.max(0, Date.parse(day) + distance)).toISOString().slice(0, 10);
    return new TupleParam([tenant, scorer, near, scoreId]);
  });
}

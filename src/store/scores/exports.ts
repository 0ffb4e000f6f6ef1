import { randomUUID } from 'node:crypto';
import { NIL } from 'uuid';
import type { Delivery } from '../../domain/delivery.ts';
import type { Score } from '../../domain/score.ts';
import type { ExportPage, ExportResult, PendingExport } from '../contracts/score-feed.ts';
import { bind, type Database } from '../database.ts';
import { forgetProgress } from '../tables/progress.ts';
import { toDateTime } from '../values.ts';
import { deliveryRows, scoreRows } from '../table-rows.ts';

/** Longest time from the stamp of an insert until its rows are visible, milliseconds. */
const OVERLAP_MS = 45_000;

/** Longest time that a stamp may be ahead of the store's clock, milliseconds: replicas have clocks of their own. */
const CLOCK_SKEW_MS = 5_000;

const IS_OF = "Kind = 'score' AND Receiver = {exporter:String}";
const IS_REPLAY = "Kind = 'replay' AND Receiver = {exporter:String}";
const IS_PROGRESS = "Kind = 'export' AND Name = {exporter:String}";

/** Creates the store of deliveries of scores. */
export function createScoreFeed(database: Database) {
  return {
    ...bind(database, { register, readPending, readCurrent, record }),
    /** Records that every score written before a time (Unix milliseconds) is delivered or a dead letter. */
    advance: (exporter: string, doneUntilMs: number) => {
      const at = toDateTime(doneUntilMs);
      return database.insertSelected(
        `INSERT INTO progress (Kind, Name, SeenAt, DoneUntil)
         SELECT Kind, Name, min(SeenAt), {at:DateTime64(3, 'UTC')} FROM progress
         WHERE ${IS_PROGRESS} GROUP BY Kind, Name`,
        { exporter, at },
      );
    },
    /** Makes a revision pending again. `round` must be above every earlier round. */
    replay: (
      exporter: string,
      { scoreId, revision, round }: Pick<PendingExport, 'scoreId' | 'revision' | 'round'>,
    ) =>
      deliveryRows.write(database, [
        toDelivery('replay', exporter, { scoreId, revision, round, state: 'planned' }),
      ]),
  };
}

export type ScoreFeed = ReturnType<typeof createScoreFeed>;

/**
 * Records the exporter unless it is known. Scores written before its first registration are never sent to it. An exporter with deliveries lost its progress when the store's clock went back: its last day is
 * read once more.
 */
async function register(database: Database, exporter: string): Promise<void> {
  await database.insertSelected(
    `INSERT INTO progress (Kind, Name, SeenAt, DoneUntil)
     SELECT 'export', {exporter:String}, start, start FROM (
       SELECT if((SELECT count() FROM deliveries WHERE ${IS_OF}) > 0,
         now64(3) - toIntervalDay(1), now64(3)) AS start)
     WHERE (SELECT count() FROM progress WHERE ${IS_PROGRESS}) = 0`,
    { exporter },
  );
}

interface ProgressRow {
  readonly readAtMs: number;
  readonly seenAtMs: number;
  readonly doneUntilMs: number;
  readonly replays: number;
}

/**
 * Reads revisions that the exporter has still to deliver; at most `limit` and the replays. Reads narrow columns only, because the read
 * runs every second and mostly finds nothing.
 * @param hasDeletions true for an exporter that is told of deleted scores
 */
async function readPending(
  database: Database,
  exporter: string,
  limit: number,
  hasDeletions: boolean,
): Promise<ExportPage> {
  const [progress] = await database.rows<ProgressRow>(
    `SELECT toUnixTimestamp64Milli(now64(3)) AS readAtMs, toUnixTimestamp64Milli(min(SeenAt)) AS seenAtMs,
       toUnixTimestamp64Milli(max(DoneUntil)) AS doneUntilMs,
       (SELECT count() FROM deliveries FINAL WHERE ${IS_REPLAY}) AS replays
     FROM progress WHERE ${IS_PROGRESS} GROUP BY Name`,
    { exporter },
  );
  if (progress === undefined) {
    await register(database, exporter);
    return readPending(database, exporter, limit, hasDeletions);
  }
  const { readAtMs, seenAtMs, doneUntilMs } = progress;
  if (doneUntilMs > readAtMs + CLOCK_SKEW_MS) {
    await forgetProgress(database, 'export', exporter);
    return readPending(database, exporter, limit, hasDeletions);
  }
  const replays = progress.replays === 0 ? [] : await readReplays(database, exporter);
  const since = Math.max(seenAtMs, doneUntilMs - OVERLAP_MS);
  const fresh = await readFresh(database, { exporter, since, limit, isDeleted: hasDeletions ? 1 : 0 });
  return {
    pending: [...replays, ...fresh],
    isWhole: fresh.length < limit,
    readAtMs,
    doneUntilMs,
  };
}

/**
 * Deliveries are looked up by key for the scores in question: the table holds those of months. A deletion is due unless it was the last
 * delivery, also when the score itself is not known to be delivered: a kill may have come between. Of a score, only the row that counts is
 * read (`readCurrent`): replaced ones are never delivered, and enough of them would fill each page.
 */
function readFresh(
  database: Database,
  params: {
    readonly exporter: string;
    readonly since: number;
    readonly limit: number;
    readonly isDeleted: 0 | 1;
  },
): Promise<PendingExport[]> {
  const written = 'WrittenAt >= fromUnixTimestamp64Milli({since:Int64})';
  return database.rows(
    `SELECT toString(ScoreId) AS scoreId, row.1 AS revision, 0 AS round, toBool(row.2) AS isDeleted,
       toUnixTimestamp64Milli(row.3) AS writtenAtMs
     FROM (
       SELECT ScoreId, argMax((Revision, IsDeleted, WrittenAt), Version) AS row FROM scores
       WHERE ${written} GROUP BY ScoreId)
     WHERE row.2 <= {isDeleted:UInt8} AND (ScoreId, row.1, row.2) NOT IN (
       SELECT ScoreId, Revision, argMax(State, WrittenAt) = 'removed' FROM deliveries
       WHERE ${IS_OF} AND ScoreId IN (SELECT ScoreId FROM scores WHERE ${written})
       GROUP BY ScoreId, Revision)
     ORDER BY row.3, ScoreId
     LIMIT {limit:UInt32}`,
    params,
  );
}

function readReplays(database: Database, exporter: string): Promise<PendingExport[]> {
  return database.rows(
    `SELECT toString(ScoreId) AS scoreId, Revision AS revision, Round AS round, false AS isDeleted, 0 AS writtenAtMs
     FROM deliveries FINAL WHERE ${IS_REPLAY} ORDER BY WrittenAt, ScoreId`,
    { exporter },
  );
}

/**
 * Reads the rows of these revisions, also deleted ones; a revision that is no longer the current one is absent. Two owners that score an id
 * before and after midnight write it under two days: the row with the newer evidence counts.
 */
async function readCurrent(database: Database, pending: readonly PendingExport[]): Promise<Score[]> {
  const from = Math.min(...pending.map(({ writtenAtMs }) => writtenAtMs));
  const rows = await scoreRows.read(
    database,
    `FROM scores FINAL
     WHERE WrittenAt >= fromUnixTimestamp64Milli({from:Int64}) AND ScoreId IN {ids:Array(UUID)}
     ORDER BY Version DESC LIMIT 1 BY ScoreId`,
    { from, ids: [...new Set(pending.map(({ scoreId }) => scoreId))] },
  );
  const wanted = new Set(pending.map(({ scoreId, revision }) => `${scoreId} ${revision}`));
  const deleted = pending.filter(({ isDeleted, round }) => isDeleted || round > 0);
  const current = [...rows, ...(deleted.length === 0 ? [] : await readDeleted(database, deleted))];
  return current.filter(({ scoreId, revision }) => wanted.has(`${scoreId} ${revision}`));
}

/** Reads the tombstones of scores that are deleted. FINAL leaves them out. */
async function readDeleted(database: Database, pending: readonly PendingExport[]): Promise<Score[]> {
  const rows = await scoreRows.read(
    database,
    'FROM scores WHERE ScoreId IN {ids:Array(UUID)} ORDER BY Version DESC LIMIT 1 BY ScoreId',
    { ids: [...new Set(pending.map(({ scoreId }) => scoreId))] },
  );
  return rows.filter(({ isDeleted }) => isDeleted);
}

/**
 * Records results; a repeat changes nothing. A revision and the end of its replay are one insert. A score that is deleted and comes again has the same row once more: so each insert
 * has a token of its own.
 */
function record(database: Database, exporter: string, results: readonly ExportResult[]): Promise<void> {
  const scores = results.filter(({ outcome }) => outcome !== 'withdrawn');
  const replays = results.filter(({ round }) => round > 0);
  const rows = [
    ...scores.map(({ isDeleted, outcome, ...result }) =>
      toDelivery('score', exporter, { ...result, state: isDeleted ? 'removed' : outcome }),
    ),
    ...replays.map(({ outcome, ...result }) => toDelivery('replay', exporter, { ...result, state: outcome })),
  ];
  return database.insertRows('deliveries', rows.map(deliveryRows.encode), randomUUID());
}

function toDelivery(
  kind: 'score' | 'replay',
  exporter: string,
  { scoreId, revision, round, state }: Pick<Delivery, 'scoreId' | 'revision' | 'round' | 'state'>,
): Delivery {
  return {
    kind,
    receiver: exporter,
    scoreId,
    revision,
    round,
    state,
    isDeleted: kind === 'replay' && state !== 'planned',
    ...NO_ALERT,
  };
}

/** Columns of alerts in the row of a score. */
const NO_ALERT = { eventId: NIL, incidentId: NIL, messageId: NIL, tenant: '', reason: '', plannedAtMs: 0 };

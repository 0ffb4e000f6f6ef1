import { NIL } from 'uuid';
import type { Delivery } from '../../domain/delivery.ts';
import type { Score } from '../../domain/score.ts';
import type { ExportPage, ExportResult, PendingExport, ScoreFeed } from '../contracts/score-feed.ts';
import type { Database } from '../database.ts';
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
export function createScoreFeed(database: Database): ScoreFeed {
  return {
    register: (exporter) => register(database, exporter),
    readPending: (exporter, limit) => readPending(database, exporter, limit),
    readCurrent: (pending) => readCurrent(database, pending),
    record: (exporter, results) => record(database, exporter, results),
    advance: (exporter, doneUntilMs) => {
      const at = toDateTime(doneUntilMs);
      return database.insertSelected(
        `INSERT INTO progress (Kind, Name, SeenAt, DoneUntil)
         SELECT Kind, Name, min(SeenAt), {at:DateTime64(3, 'UTC')} FROM progress
         WHERE ${IS_PROGRESS} GROUP BY Kind, Name`,
        { exporter, at },
      );
    },
    replay: (exporter, { scoreId, revision, round }) =>
      deliveryRows.write(database, [
        toDelivery('replay', exporter, { scoreId, revision, round, outcome: 'planned' }),
      ]),
  };
}

/**
 * Records the exporter unless it is known. An exporter with deliveries lost its progress when the store's clock went back: its last day is
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
  readAtMs: string;
  seenAtMs: string;
  doneUntilMs: string;
  replays: string;
}

type PendingRow = Record<keyof PendingExport, string>;

/** Reads narrow columns only, because the read runs every second and mostly finds nothing. */
async function readPending(database: Database, exporter: string, limit: number): Promise<ExportPage> {
  const [progress] = await database.rows<ProgressRow>(
    `SELECT toUnixTimestamp64Milli(now64(3)) AS readAtMs, toUnixTimestamp64Milli(min(SeenAt)) AS seenAtMs,
       toUnixTimestamp64Milli(max(DoneUntil)) AS doneUntilMs,
       (SELECT count() FROM deliveries FINAL WHERE ${IS_REPLAY}) AS replays
     FROM progress WHERE ${IS_PROGRESS} GROUP BY Name`,
    { exporter },
  );
  if (progress === undefined) {
    await register(database, exporter);
    return readPending(database, exporter, limit);
  }
  const { readAtMs, seenAtMs, doneUntilMs } = progress;
  if (Number(doneUntilMs) > Number(readAtMs) + CLOCK_SKEW_MS) {
    await forgetProgress(database, 'export', exporter);
    return readPending(database, exporter, limit);
  }
  const replays = Number(progress.replays) === 0 ? [] : await readReplays(database, exporter);
  const since = Math.max(Number(seenAtMs), Number(doneUntilMs) - OVERLAP_MS);
  const fresh = await readFresh(database, { exporter, since, limit });
  return {
    pending: [...replays, ...fresh],
    isWhole: fresh.length < limit,
    readAtMs: Number(readAtMs),
    doneUntilMs: Number(doneUntilMs),
  };
}

/** Deliveries are looked up by key for the scores in question: the table holds those of months. */
async function readFresh(
  database: Database,
  params: { readonly exporter: string; readonly since: number; readonly limit: number },
): Promise<PendingExport[]> {
  const written = 'WrittenAt >= fromUnixTimestamp64Milli({since:Int64})';
  const rows = await database.rows<PendingRow>(
    `SELECT toString(ScoreId) AS scoreId, toString(Revision) AS revision, '0' AS round,
       toString(toUnixTimestamp64Milli(min(WrittenAt))) AS writtenAtMs
     FROM scores
     WHERE ${written} AND IsDeleted = 0 AND (ScoreId, Revision) NOT IN (
       SELECT ScoreId, Revision FROM deliveries
       WHERE ${IS_OF} AND ScoreId IN (SELECT ScoreId FROM scores WHERE ${written}))
     GROUP BY ScoreId, Revision
     ORDER BY min(WrittenAt), ScoreId
     LIMIT {limit:UInt32}`,
    params,
  );
  return rows.map(toPending);
}

async function readReplays(database: Database, exporter: string): Promise<PendingExport[]> {
  const rows = await database.rows<PendingRow>(
    `SELECT toString(ScoreId) AS scoreId, toString(Revision) AS revision, toString(Round) AS round, '0' AS writtenAtMs
     FROM deliveries FINAL WHERE ${IS_REPLAY} ORDER BY WrittenAt, ScoreId`,
    { exporter },
  );
  return rows.map(toPending);
}

function toPending({ scoreId, revision, round, writtenAtMs }: PendingRow): PendingExport {
  return { scoreId, revision: Number(revision), round: Number(round), writtenAtMs: Number(writtenAtMs) };
}

/** Two owners that score an id before and after midnight write it under two days: the row with the newer evidence counts. */
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
  return rows.filter(({ scoreId, revision }) => wanted.has(`${scoreId} ${revision}`));
}

/** A revision and the end of its replay are one insert. */
function record(database: Database, exporter: string, results: readonly ExportResult[]): Promise<void> {
  const scores = results.filter(({ outcome }) => outcome !== 'withdrawn');
  const replays = results.filter(({ round }) => round > 0);
  return deliveryRows.write(database, [
    ...scores.map((result) => toDelivery('score', exporter, result)),
    ...replays.map((result) => toDelivery('replay', exporter, result)),
  ]);
}

function toDelivery(
  kind: 'score' | 'replay',
  exporter: string,
  {
    scoreId,
    revision,
    round,
    outcome,
  }: Pick<Delivery, 'scoreId' | 'revision' | 'round'> & { readonly outcome: Delivery['state'] },
): Delivery {
  return {
    kind,
    receiver: exporter,
    scoreId,
    revision,
    round,
    state: outcome,
    isDeleted: kind === 'replay' && outcome !== 'planned',
    ...NO_ALERT,
  };
}

/** Columns of alerts in the row of a score. */
const NO_ALERT = { eventId: NIL, incidentId: NIL, messageId: NIL, tenant: '', reason: '', plannedAtMs: 0 };

import { type AlertEvent, JUDGE_DETECTOR } from '../../monitors/alert-event.ts';
import type { JudgeDrift } from '../../monitors/monitor-store.ts';
import { ALL_TENANTS, type Mute } from '../../monitors/mute.ts';
import type { AlertMessage, AlertNote, ChosenSeries, Replier } from '../contracts/monitors.ts';
import type { Listed, ListPage } from '../contracts/lists.ts';
import { bind, type Database } from '../database.ts';
import { keyIdOf, readKeysetPage } from '../lists/keyset-page.ts';
import { readScoresSince } from './alert-evidence.ts';
import { readSlices } from '../spans/trace-keys.ts';
import { toDateTime } from '../values.ts';
import { chosenCondition } from './series-columns.ts';

/**
 * Creates the store of the beginnings and ends of incidents, and of people's acknowledgements, notes and mutes. Times are Unix milliseconds
 * by the store's clock.
 */
export function createAlertStore(database: Database) {
  return {
    /** Stores events under their ids; a repeated event has no effect. */
    write: (events: readonly AlertEvent[]) => database.insertRows('alert_events', events.map(toRow)),
    /** Returns the `firing` events of open incidents. */
    open: () => readEvents(database, `${IS_OPEN} ORDER BY StartsAt, EventId`),
    /**
     * Returns the events of an incident, its beginning first; empty for an unknown id.
     * @param id id of the incident, or of one of its events
     */
    incident: (id: string) =>
      readEvents(
        database,
        `IncidentId IN (SELECT IncidentId FROM alert_events
           WHERE {id:String} IN (toString(IncidentId), toString(EventId)))
         ORDER BY Status`,
        { id: id.toLowerCase() },
      ),
    /** Lists the beginnings of incidents that have not ended, newest first. */
    listOpen: (filter: Omit<EventFilter, 'isOpen'>, page: ListPage) =>
      listEvents(database, { ...filter, isOpen: true }, page),
    /** Accepts the change of an incident as normal. */
    acknowledge: (incidentId: string, replier: Replier) =>
      addReply(database, incidentId, { ...replier, kind: 'ack', text: '' }),
    addNote: (incidentId: string, note: Replier & { readonly text: string }) =>
      addReply(database, incidentId, { ...note, kind: 'note' }),
    /** Lists the notes on an incident, the oldest first. */
    notes: (incidentId: string) =>
      database.rows<AlertNote>(
        `SELECT toUnixTimestamp64Milli(WrittenAt) AS atMs, Author AS by, Text AS text FROM alert_replies
         WHERE IncidentId = {incidentId:UUID} AND Kind = 'note' ORDER BY WrittenAt, text`,
        { incidentId },
      ),
    /** Lists what became of the events of an incident in each channel, by time, without the events of mutes. */
    messages: (incidentId: string) =>
      database.rows<AlertMessage>(
        `SELECT Receiver AS channel, State AS state, toUnixTimestamp64Milli(if(State = 'planned', PlannedAt, WrittenAt)) AS atMs
         FROM deliveries FINAL WHERE Kind = 'alert' AND IncidentId = {incidentId:UUID} AND State IN ('planned', 'delivered', 'dead') ORDER BY atMs, channel`,
        { incidentId },
      ),
    ...bind(database, {
      known: knownEvents,
      list: listEvents,
      acknowledged: readAcknowledged,
      scoresSince: readScoresSince,
      judgeDrifts: readJudgeDrifts,
      judgeWork: readJudgeWork,
      mute: writeMute,
      mutes: readMutes,
      listMutes,
    }),
  };
}

export type AlertStore = ReturnType<typeof createAlertStore>;

function toRow(event: AlertEvent): object {
  return {
    EventId: event.id,
    IncidentId: event.incidentId,
    Tenant: event.series.tenant,
    Status: event.status,
    Alert: event.alert,
    StartsAt: toDateTime(event.startsAtMs),
    EndsAt: event.endsAtMs === null ? null : toDateTime(event.endsAtMs),
    Event: JSON.stringify(event),
  };
}

async function readEvents(
  database: Database,
  where: string,
  params: Record<string, unknown> = {},
): Promise<AlertEvent[]> {
  const rows = await database.rows<{ Event: string }>(
    `SELECT Event FROM alert_events FINAL WHERE ${where}`,
    params,
  );
  return rows.map(({ Event }) => JSON.parse(Event) as AlertEvent);
}

function addReply(
  database: Database,
  incidentId: string,
  { tenant, by, kind, text }: Replier & { readonly kind: 'ack' | 'note'; readonly text: string },
): Promise<void> {
  const row = { IncidentId: incidentId, Tenant: tenant, Kind: kind, Author: by, Text: text };
  return database.insertRows('alert_replies', [row]);
}

/** Condition on an event: its incident has not ended. */
const IS_OPEN = `Status = 'firing' AND IncidentId NOT IN (SELECT IncidentId FROM alert_events WHERE Status = 'resolved')`;

export interface EventFilter extends ChosenSeries {
  readonly tenant?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  readonly isOpen?: boolean;
}

const EVENT_SERIES = {
  agent: "JSONExtractString(Event, 'series', 'agent')",
  environment: "JSONExtractString(Event, 'series', 'environment')",
};

/** Lists events, newest first. */
function listEvents(
  database: Database,
  { tenant, sinceMs = 0, untilMs, isOpen = false, ...chosen }: EventFilter,
  page: ListPage,
): Promise<Listed<AlertEvent>> {
  const sql = `SELECT Event, toUnixTimestamp64Milli(ifNull(EndsAt, StartsAt)) AS atMs, toString(EventId) AS keyId
     FROM alert_events FINAL
     WHERE ${tenant === undefined ? '1' : 'Tenant = {tenant:String}'} AND atMs >= {since:Int64}
       ${untilMs === undefined ? '' : 'AND atMs < {until:Int64}'} AND ${isOpen ? IS_OPEN : '1'}
       AND ${chosenCondition(chosen, EVENT_SERIES)}`;
  const params = { ...chosen, tenant, since: Math.trunc(sinceMs), until: untilMs && Math.trunc(untilMs) };
  const toItem = ({ Event }: { readonly Event: string }) => JSON.parse(Event) as AlertEvent;
  return readKeysetPage(database, { sql, params, order: 'newest', toItem }, page);
}

/** Returns the stored ones of these event ids. */
async function knownEvents(database: Database, ids: readonly string[]): Promise<Set<string>> {
  const rows = await readSlices(ids, (slice) =>
    database.rows<{ id: string }>(
      'SELECT DISTINCT toString(EventId) AS id FROM alert_events WHERE EventId IN {ids:Array(UUID)}',
      { ids: slice },
    ),
  );
  return new Set(rows.map(({ id }) => id));
}

/** Reads the times of the first acknowledgements, by incident id. */
async function readAcknowledged(database: Database): Promise<Map<string, number>> {
  const rows = await database.rows<{ id: string; atMs: number }>(
    `SELECT toString(IncidentId) AS id, toUnixTimestamp64Milli(min(WrittenAt)) AS atMs
     FROM alert_replies WHERE Kind = 'ack' GROUP BY IncidentId`,
  );
  return new Map(rows.map(({ id, atMs }) => [id, atMs]));
}

const IS_OF_JUDGE = `JSONExtractString(Event, 'detector') = '${JUDGE_DETECTOR}'`;

/** Reads the incidents of judges, the oldest first. */
async function readJudgeDrifts(database: Database): Promise<JudgeDrift[]> {
  return toJudgeDrifts(database, await readEvents(database, `${IS_OF_JUDGE} ORDER BY StartsAt, EventId`));
}

/** Reads the incidents of judges, and the events written since a time for which it is not known who changed: one statement, as it runs often. */
async function readJudgeWork(
  database: Database,
  sinceMs: number,
): Promise<{ drifts: JudgeDrift[]; deciding: AlertEvent[] }> {
  const events = await readEvents(
    database,
    `${IS_OF_JUDGE} OR (WrittenAt >= fromUnixTimestamp64Milli({since:Int64})
       AND JSONExtractString(Event, 'culprit', 'who') = 'deciding')
     ORDER BY StartsAt, EventId`,
    { since: Math.trunc(sinceMs) },
  );
  const isOfJudge = ({ detector }: AlertEvent) => detector === JUDGE_DETECTOR;
  return {
    drifts: await toJudgeDrifts(database, events.filter(isOfJudge)),
    deciding: events.filter((event) => !isOfJudge(event)),
  };
}

async function toJudgeDrifts(database: Database, events: readonly AlertEvent[]): Promise<JudgeDrift[]> {
  const acknowledged = events.length === 0 ? new Map<string, number>() : await readAcknowledged(database);
  return events
    .filter(({ status }) => status === 'firing')
    .map((firing) => ({
      firing,
      endedMs:
        events.find(({ status, incidentId }) => status === 'resolved' && incidentId === firing.incidentId)
          ?.endsAtMs ?? null,
      acknowledgedMs: acknowledged.get(firing.incidentId) ?? null,
    }));
}

const MUTE =
  'Tenant AS tenant, Subject AS subject, toUnixTimestamp64Milli(MutedUntil) AS untilMs, Author AS by, Reason AS reason';

/** Leaves out the key of a page. */
function toMute({ tenant, subject, untilMs, by, reason }: Required<Mute>): Mute {
  return { tenant, subject, untilMs, by, reason };
}

/** Mutes a subject until a time; a time in the past ends the mute. An active mute keeps its beginning. */
function writeMute(
  database: Database,
  { tenant, subject, untilMs, by = '', reason = '' }: Mute,
): Promise<void> {
  return database.insertSelected(
    `INSERT INTO alert_mutes (Tenant, Subject, MutedUntil, Author, Reason, MutedAt)
     SELECT {tenant:String}, {subject:String}, fromUnixTimestamp64Milli({until:Int64}), {by:String}, {reason:String},
       if(count() = 0, now64(3), min(MutedAt))
     FROM alert_mutes FINAL
     WHERE Tenant = {tenant:String} AND Subject = {subject:String} AND MutedUntil > now64(3)`,
    { tenant, subject, by, reason, until: Math.trunc(untilMs) },
  );
}

/** Reads the active mutes; with `sinceMs`, also those that ended after this time. */
function readMutes(database: Database, sinceMs?: number): Promise<Mute[]> {
  return database.rows(
    `SELECT ${MUTE} FROM alert_mutes FINAL
     WHERE MutedUntil > ${sinceMs === undefined ? 'now64(3)' : 'fromUnixTimestamp64Milli({since:Int64})'}
     ORDER BY tenant, subject`,
    { since: Math.trunc(sinceMs ?? 0) },
  );
}

/** Lists the active mutes of a tenant and of all tenants, the latest begun first. Without a tenant: every mute. */
function listMutes(database: Database, tenant: string | undefined, page: ListPage): Promise<Listed<Mute>> {
  const sql = `SELECT ${MUTE}, toUnixTimestamp64Milli(MutedAt) AS atMs, ${keyIdOf('Subject, Tenant')} AS keyId
     FROM alert_mutes FINAL
     WHERE MutedUntil > now64(3) AND ${tenant === undefined ? '1' : 'Tenant IN {tenants:Array(String)}'}`;
  const params = { tenants: [ALL_TENANTS, tenant ?? ''] };
  return readKeysetPage(database, { sql, params, order: 'newest', toItem: toMute }, page);
}

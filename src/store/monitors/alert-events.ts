import type { AlertEvent } from '../../monitors/alert-event.ts';
import type { Mute } from '../../monitors/mute.ts';
import type { AlertStore } from '../contracts/monitors.ts';
import type { Database } from '../database.ts';
import { storedAlert } from './stored-alert.ts';
import { splitIntoSlices } from '../spans/trace-keys.ts';
import { toDateTime } from '../values.ts';

/** Creates the store of the beginnings and ends of incidents, and of people's acknowledgements and mutes. */
export function createAlertStore(database: Database): AlertStore {
  return {
    write: (events) => database.insertRows('alert_events', events.map(toRow)),
    known: (ids) => knownEvents(database, ids),
    open: () =>
      readEvents(
        database,
        `Status = 'firing' AND IncidentId NOT IN (SELECT IncidentId FROM alert_events WHERE Status = 'resolved')
         ORDER BY StartsAt, EventId`,
      ),
    incident: (id) =>
      readEvents(database, `toString(IncidentId) = {id:String} ORDER BY Status`, { id: id.toLowerCase() }),
    list: ({ tenant, sinceMs, offset, limit }) =>
      readEvents(
        database,
        `${tenant === undefined ? '1' : 'Tenant = {tenant:String}'}
           AND ifNull(EndsAt, StartsAt) >= fromUnixTimestamp64Milli({since:Int64})
         ORDER BY ifNull(EndsAt, StartsAt) DESC, EventId LIMIT {limit:UInt32} OFFSET {offset:UInt32}`,
        { tenant, since: Math.trunc(sinceMs ?? 0), offset: offset ?? 0, limit },
      ),
    acknowledge: (incidentId) => database.insertRows('alert_acks', [{ IncidentId: incidentId }]),
    acknowledged: () => readAcknowledged(database),
    mute: ({ tenant, subject, untilMs }) =>
      database.insertRows('alert_mutes', [
        { Tenant: tenant, Subject: subject, MutedUntil: toDateTime(untilMs) },
      ]),
    mutes: (sinceMs) => readMutes(database, sinceMs),
  };
}

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
  return rows.map(({ Event }) => storedAlert(Event));
}

async function knownEvents(database: Database, ids: readonly string[]): Promise<Set<string>> {
  const known = new Set<string>();
  for (const slice of splitIntoSlices(ids)) {
    const rows = await database.rows<{ id: string }>(
      'SELECT DISTINCT toString(EventId) AS id FROM alert_events WHERE EventId IN {ids:Array(UUID)}',
      { ids: slice },
    );
    rows.forEach(({ id }) => known.add(id));
  }
  return known;
}

async function readAcknowledged(database: Database): Promise<Map<string, number>> {
  const rows = await database.rows<{ id: string; atMs: string }>(
    `SELECT toString(IncidentId) AS id, toUnixTimestamp64Milli(min(AckedAt)) AS atMs
     FROM alert_acks GROUP BY IncidentId`,
  );
  return new Map(rows.map(({ id, atMs }) => [id, Number(atMs)]));
}

async function readMutes(database: Database, sinceMs: number | undefined): Promise<Mute[]> {
  const rows = await database.rows<{ tenant: string; subject: string; untilMs: string }>(
    `SELECT Tenant AS tenant, Subject AS subject, toUnixTimestamp64Milli(MutedUntil) AS untilMs
     FROM alert_mutes FINAL
     WHERE MutedUntil > ${sinceMs === undefined ? 'now64(3)' : 'fromUnixTimestamp64Milli({since:Int64})'}
     ORDER BY tenant, subject`,
    { since: Math.trunc(sinceMs ?? 0) },
  );
  return rows.map((row) => ({ ...row, untilMs: Number(row.untilMs) }));
}

import { NIL } from 'uuid';
import type { AlertDelivery, Delivery } from '../../domain/delivery.ts';
import type { AlertEvent } from '../../monitors/alert-event.ts';
import type { PendingAlert, SentAlerts } from '../contracts/monitors.ts';
import { bind, type Database } from '../database.ts';
import { deliveryRows } from '../table-rows.ts';

/** Creates the store of alert deliveries. */
export function createAlertFeed(database: Database) {
  return bind(database, { pending: readPending, record, sent: readSent });
}

export type AlertFeed = ReturnType<typeof createAlertFeed>;

/** Writes all deliveries or none; a repeat changes nothing. */
function record(database: Database, deliveries: readonly AlertDelivery[]): Promise<void> {
  return deliveryRows.write(database, deliveries.map(toDelivery));
}

function toDelivery(delivery: AlertDelivery): Delivery {
  return { kind: 'alert', scoreId: NIL, revision: 0, isDeleted: false, ...delivery };
}

const IN_CHANNEL = "Kind = 'alert' AND Receiver = {channel:String}";

/** Incidents that have not ended. */
const GOES_ON = `IncidentId NOT IN (SELECT IncidentId FROM alert_events WHERE Status = 'resolved')`;

interface PendingRow {
  Event: string;
  WrittenAtMs: number;
  /** '' where it belongs to no message. */
  MessageId: string;
  PlannedAtMs: number;
  Round: number;
}

/**
 * Reads events that the channel has not delivered: first the events of messages under way, then events of open
 * incidents and of incidents with an event written at or after `fromMs`, by time. Finds them by narrow columns, then reads whole events: it runs
 * every other second and mostly finds nothing.
 */
async function readPending(
  database: Database,
  channel: string,
  fromMs: number,
  limit: number,
): Promise<PendingAlert[]> {
  const rows = await database.rows<PendingRow>(
    `WITH known AS (
       SELECT EventId, toString(MessageId) AS MessageId, State, toUnixTimestamp64Milli(PlannedAt) AS PlannedAtMs, Round
       FROM deliveries FINAL WHERE ${IN_CHANNEL})
     SELECT Event, toUnixTimestamp64Milli(alert.WrittenAt) AS WrittenAtMs, MessageId, PlannedAtMs, Round
     FROM (
       SELECT EventId, Event, WrittenAt FROM alert_events FINAL
       WHERE EventId IN (
         SELECT EventId FROM alert_events
         WHERE EventId NOT IN (SELECT EventId FROM known WHERE State != 'planned')
           AND (EventId IN (SELECT EventId FROM known) OR ${GOES_ON} OR IncidentId IN (
             SELECT IncidentId FROM alert_events WHERE WrittenAt >= fromUnixTimestamp64Milli({from:Int64}))))
     ) AS alert
     LEFT JOIN known ON known.EventId = alert.EventId
     ORDER BY MessageId = '', WrittenAtMs, alert.EventId
     LIMIT {limit:UInt32}`,
    { channel, from: Math.trunc(fromMs), limit },
  );
  return rows.map((row) => ({
    event: JSON.parse(row.Event) as AlertEvent,
    writtenAtMs: row.WrittenAtMs,
    plan:
      row.MessageId === ''
        ? null
        : { messageId: row.MessageId, plannedAtMs: row.PlannedAtMs, round: row.Round },
  }));
}

/**
 * Reads the alerts to remind the channel of: beginnings of open incidents, delivered or given up, and ends delivered since a time (Unix
 * milliseconds).
 */
async function readSent(database: Database, channel: string, sinceMs: number): Promise<SentAlerts> {
  const rows = await database.rows<{ Event: string }>(
    `SELECT Event FROM alert_events FINAL
     WHERE EventId IN (
       SELECT EventId FROM alert_events
       WHERE (Status = 'firing' AND ${GOES_ON} AND EventId IN (
           SELECT EventId FROM deliveries FINAL
           WHERE ${IN_CHANNEL} AND State IN ('delivered', 'dead')))
         OR (Status = 'resolved' AND EventId IN (
           SELECT EventId FROM deliveries FINAL
           WHERE ${IN_CHANNEL} AND State = 'delivered'
             AND WrittenAt >= fromUnixTimestamp64Milli({since:Int64}))))
     ORDER BY StartsAt, EventId`,
    { channel, since: Math.trunc(sinceMs) },
  );
  const events = rows.map(({ Event }) => JSON.parse(Event) as AlertEvent);
  return {
    firing: events.filter(({ status }) => status === 'firing'),
    resolved: events.filter(({ status }) => status === 'resolved'),
  };
}

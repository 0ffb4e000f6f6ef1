import type { AlertEvent } from './alert-event.ts';
import { computeSeriesId } from './series-key.ts';

/** A mute: events of its subject are not sent for a time; the states continue. */
export interface Mute {
  /** Tenant whose alerts are muted; `ALL_TENANTS` for all tenants. */
  readonly tenant: string;
  /** Name of an alert, id of a series or of an incident, or `EVERYTHING`. */
  readonly subject: string;
  /** Unix milliseconds. */
  readonly untilMs: number;
}

/** Tenant of a mute for all tenants. */
export const ALL_TENANTS = '*';

/** Subject of a mute of all alerts. */
export const EVERYTHING = '*';

/** Returns true when an event is muted at a time (Unix milliseconds). */
export function isMuted(
  event: Pick<AlertEvent, 'alert' | 'incidentId' | 'series'>,
  mutes: readonly Mute[],
  nowMs: number,
): boolean {
  return mutes.some(
    ({ tenant, subject, untilMs }) =>
      untilMs > nowMs &&
      (tenant === ALL_TENANTS || tenant === event.series.tenant) &&
      [EVERYTHING, event.alert, event.incidentId, computeSeriesId(event.series)].includes(subject),
  );
}

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
  /** Name of the token; '' or absent without tokens. */
  readonly by?: string;
  /** Reason of the person who muted; '' or absent without one. */
  readonly reason?: string;
}

export const ALL_TENANTS = '*';

export const EVERYTHING = '*';

/** Finds the mute of an event that lasts longest from a time on (Unix milliseconds). */
export function findMute<Found extends Pick<Mute, 'tenant' | 'subject' | 'untilMs'>>(
  event: Pick<AlertEvent, 'alert' | 'incidentId' | 'series'>,
  mutes: readonly Found[],
  nowMs: number,
): Found | undefined {
  return mutes
    .filter(
      ({ tenant, subject, untilMs }) =>
        untilMs > nowMs &&
        (tenant === ALL_TENANTS || tenant === event.series.tenant) &&
        [EVERYTHING, event.alert, event.incidentId, computeSeriesId(event.series)].includes(subject),
    )
    .toSorted((a, b) => b.untilMs - a.untilMs)[0];
}

/** Returns true when an event is muted at a time (Unix milliseconds). */
export function isMuted(...asked: Parameters<typeof findMute>): boolean {
  return findMute(...asked) !== undefined;
}

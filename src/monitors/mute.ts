import type { AlertEvent } from './alert-event.ts';

/** Of what nobody is told for a while; states go on. */
export interface Mute {
  /** Whose alerts; `ALL_TENANTS` for everybody's. */
  readonly tenant: string;
  /** Name of an alert, or id of an incident. */
  readonly subject: string;
  /** Unix milliseconds. */
  readonly untilMs: number;
}

/** The tenant of a mute that holds for all of them. */
export const ALL_TENANTS = '*';

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
      (subject === event.alert || subject === event.incidentId),
  );
}

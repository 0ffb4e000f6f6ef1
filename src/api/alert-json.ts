import type { AlertEvent } from '../monitors/alert-event.ts';
import { isMuted, type Mute } from '../monitors/mute.ts';
import { isoTime } from './time-json.ts';

/** Mutes and acknowledgements of alerts. */
export interface AlertReplies {
  readonly mutes: readonly Mute[];
  /** Time of the acknowledgement by incident, Unix milliseconds. */
  readonly acknowledged: ReadonlyMap<string, number>;
  readonly nowMs: number;
}

/** Formats the beginning or end of an incident as JSON; times in ISO 8601. */
export function alertJson(event: AlertEvent, { mutes, acknowledged, nowMs }: AlertReplies) {
  const { startsAtMs, endsAtMs, changeBeganMs, ...rest } = event;
  return {
    ...rest,
    startsAt: isoTime(startsAtMs),
    endsAt: isoTime(endsAtMs),
    changeBegan: isoTime(changeBeganMs),
    muted: isMuted(event, mutes, nowMs),
    acknowledgedAt: isoTime(acknowledged.get(event.incidentId) ?? null),
  };
}

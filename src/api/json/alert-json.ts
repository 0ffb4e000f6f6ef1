import { type AlertEvent, LIMIT_SIDES } from '../../monitors/alert-event.ts';
import { isMuted, type Mute } from '../../monitors/mute.ts';
import { computeSeriesId } from '../../monitors/series-key.ts';
import { budgetJson } from './budget-json.ts';
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
  const { startsAtMs, endsAtMs, changeBeganMs, budget, before, ...rest } = event;
  const hasLimit = LIMIT_SIDES.has(event.detector);
  return {
    ...rest,
    before: hasLimit ? null : before,
    limit: hasLimit ? before : null,
    seriesId: budget === undefined ? computeSeriesId(event.series) : null,
    startsAt: isoTime(startsAtMs),
    endsAt: isoTime(endsAtMs),
    changeBegan: isoTime(changeBeganMs),
    muted: isMuted(event, mutes, nowMs),
    ...(budget === undefined ? {} : { budget: { ...budgetJson(budget), percent: budget.percent } }),
    acknowledgedAt: isoTime(acknowledged.get(event.incidentId) ?? null),
  };
}

/** Formats a mute as JSON. */
export function muteJson({ tenant, subject, untilMs }: Mute) {
  return { tenant, subject, until: isoTime(untilMs) };
}

/** Formats the end of a mute as JSON. */
export function unmutedJson({ subject }: Mute) {
  return { unmuted: subject };
}

/** Formats an accepted incident as JSON. */
export function acknowledgedJson({ incidentId, alert }: AlertEvent) {
  return { acknowledged: incidentId, alert };
}

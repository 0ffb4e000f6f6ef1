import { type AlertEvent, BUDGET_ALERT } from '../../monitors/alert-event.ts';
import { InvalidInputError, NotFoundError } from '../../domain/errors.ts';
import { ALL_TENANTS, type Mute } from '../../monitors/mute.ts';
import { type Detection, isPinnable } from '../../monitors/rule.ts';
import type { AlertStore } from '../../store/contracts/monitors.ts';

/**
 * Accepts the change of an incident as normal: its series starts a new reference at the change, and the incident ends with
 * the next closed bucket. Throws a `NotFoundError` for an unknown id (in this tenant), and an `InvalidInputError` for an
 * incident that has ended or whose detector has no reference.
 */
export async function acknowledgeIncident(
  alerts: AlertStore,
  id: string,
  tenant?: string,
): Promise<AlertEvent> {
  const [firing, resolved] = await readIncident(alerts, id, tenant);
  if (resolved !== undefined) {
    throw new InvalidInputError(
      `incident ${id} ended at ${new Date(resolved.endsAtMs ?? 0).toISOString()}; there is nothing to acknowledge`,
    );
  }
  if (!isPinnable({ kind: firing.detector as Detection['kind'] })) {
    throw new InvalidInputError(
      `${firing.alert} is a ${firing.detector} monitor, which has no reference to reset: change its rule, or mute it`,
    );
  }
  await alerts.acknowledge(firing.incidentId);
  return firing;
}

/**
 * Mutes an alert or an incident. Throws a `NotFoundError` when neither exists, and an `InvalidInputError` for a time in the
 * past.
 * @param names names of the existing alerts
 * @param tenant tenant of the alerts; undefined: all tenants
 */
export async function muteSubject(
  alerts: AlertStore,
  { subject, untilMs, tenant }: { subject: string; untilMs: number; tenant?: string | undefined },
  { names, nowMs }: { readonly names: readonly string[]; readonly nowMs: number },
): Promise<Mute> {
  if (!(untilMs > nowMs)) {
    throw new InvalidInputError('a mute needs a time in the future');
  }
  const known = [...names, BUDGET_ALERT].includes(subject)
    ? subject
    : (await readIncident(alerts, subject, tenant))[0].incidentId;
  const mute = { tenant: tenant ?? ALL_TENANTS, subject: known, untilMs };
  await alerts.mute(mute);
  return mute;
}

/** Ends a mute. Throws a `NotFoundError` when the subject is not muted. */
export async function unmuteSubject(alerts: AlertStore, subject: string, tenant?: string): Promise<Mute> {
  const mutes = await alerts.mutes();
  const mute = mutes.find((each) => each.subject === subject && each.tenant === (tenant ?? ALL_TENANTS));
  if (mute === undefined) {
    throw new NotFoundError(`${subject} is not muted; to list mutes: spanscore alerts list`);
  }
  await alerts.mute({ ...mute, untilMs: 0 });
  return mute;
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

async function readIncident(
  alerts: AlertStore,
  id: string,
  tenant: string | undefined,
): Promise<[firing: AlertEvent, resolved: AlertEvent | undefined]> {
  const events = ID.test(id) ? await alerts.incident(id) : [];
  const [firing, resolved] = events;
  if (firing === undefined || (tenant !== undefined && firing.series.tenant !== tenant)) {
    throw new NotFoundError(`there is no alert or incident ${id}; to list them: spanscore alerts list`);
  }
  return [firing, resolved];
}

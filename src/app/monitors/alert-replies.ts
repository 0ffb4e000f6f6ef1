import type { AlertEvent } from '../../monitors/alert-event.ts';
import { InvalidInputError, NotFoundError } from '../../domain/errors.ts';
import { ALL_TENANTS, type Mute } from '../../monitors/mute.ts';
import { type Detection, isPinnable } from '../../monitors/rule.ts';
import type { AlertStore } from '../../store/contracts/monitors.ts';

/**
 * Says that what an incident found is the new normal: its series starts a new reference at the change, and the incident ends
 * with the next bucket that closes. Throws `NotFoundError` for an id that is not known (in this tenant), `InvalidInputError`
 * for an incident that has ended, or whose detector has no reference.
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
      `${firing.alert} is a ${firing.detector} monitor, which has no reference to begin anew: change its rule, or mute it`,
    );
  }
  await alerts.acknowledge(firing.incidentId);
  return firing;
}

/**
 * Mutes an alert or an incident. Throws `NotFoundError` where there is neither, `InvalidInputError` for a time that has passed.
 * @param names of the alerts that there are
 * @param tenant whose alerts only; absent: everybody's
 */
export async function muteSubject(
  alerts: AlertStore,
  { subject, untilMs, tenant }: { subject: string; untilMs: number; tenant?: string | undefined },
  { names, nowMs }: { readonly names: readonly string[]; readonly nowMs: number },
): Promise<Mute> {
  if (!(untilMs > nowMs)) {
    throw new InvalidInputError('a mute needs a time that is still to come');
  }
  const known = names.includes(subject)
    ? subject
    : (await readIncident(alerts, subject, tenant))[0].incidentId;
  const mute = { tenant: tenant ?? ALL_TENANTS, subject: known, untilMs };
  await alerts.mute(mute);
  return mute;
}

/** Lets what was muted speak again. Throws `NotFoundError` when it is not muted. */
export async function unmuteSubject(alerts: AlertStore, subject: string, tenant?: string): Promise<Mute> {
  const mutes = await alerts.mutes();
  const mute = mutes.find((each) => each.subject === subject && each.tenant === (tenant ?? ALL_TENANTS));
  if (mute === undefined) {
    throw new NotFoundError(`${subject} is not muted; see: spanscore alerts list`);
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
    throw new NotFoundError(`there is no alert and no incident ${id}; see: spanscore alerts list`);
  }
  return [firing, resolved];
}

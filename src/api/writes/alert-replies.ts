import { type AlertEvent, BUDGET_ALERT, JUDGE_ALERT, JUDGE_DETECTOR } from '../../monitors/alert-event.ts';
import {
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  SeveralTenantsError,
} from '../../domain/errors.ts';
import { ALL_TENANTS, EVERYTHING, type Mute } from '../../monitors/mute.ts';
import { type Detection, isPinnable } from '../../monitors/rule.ts';
import { computeSeriesId } from '../../monitors/series-key.ts';
import type { Caller } from '../access/request-access.ts';
import type { AlertNote } from '../../store/contracts/monitors.ts';
import type { AlertStore } from '../../store/monitors/alert-events.ts';
import type { MonitorView } from '../../store/monitors/monitor-view.ts';
import type { KeyedRule } from '../../monitors/live/configured-monitors.ts';

/**
 * Accepts the change of an incident as normal: its series starts a new reference at the change, and the incident ends with
 * the next closed bucket. The id is that of the incident, or of an alert about it. Throws a `NotFoundError` for an unknown id (in this
 * tenant), and an `InvalidInputError` for an incident that has ended or whose detector has no reference.
 */
export async function acknowledgeIncident(
  alerts: AlertStore,
  id: string,
  { tenant, name }: Caller,
): Promise<AlertEvent> {
  const [firing, resolved] = await readIncident(alerts, id, tenant);
  if (resolved !== undefined) {
    throw new InvalidInputError(
      `incident ${id} ended at ${new Date(resolved.endsAtMs ?? 0).toISOString()}; there is nothing to acknowledge`,
    );
  }
  const { detector } = firing;
  if (detector !== JUDGE_DETECTOR && !isPinnable({ kind: detector as Detection['kind'] })) {
    throw new InvalidInputError(
      `${firing.alert} is a ${firing.detector} monitor, which has no reference to reset: change its rule, or mute it`,
    );
  }
  await alerts.acknowledge(firing.incidentId, { tenant: firing.series.tenant, by: name });
  return firing;
}

/** Adds a note to an incident. Throws a `NotFoundError` for an unknown id (in this tenant). */
export async function addNote(
  alerts: AlertStore,
  { id, text }: { readonly id: string; readonly text: string },
  { tenant, name }: Caller,
): Promise<Omit<AlertNote, 'atMs'>> {
  const [{ incidentId, series }] = await readIncident(alerts, id, tenant);
  await alerts.addNote(incidentId, { tenant: series.tenant, by: name, text });
  return { by: name, text };
}

/** Alerts and series that exist, and the time. */
interface MuteTerms {
  readonly rules: readonly KeyedRule[];
  readonly monitorView: Pick<MonitorView, 'statuses'>;
  readonly nowMs: number;
}

/**
 * Mutes an alert, a series, an incident or everything. Throws a `NotFoundError` when the subject does not exist, and an
 * `InvalidInputError` for a time in the past.
 * @param tenant tenant of the alerts; undefined: all tenants
 */
export async function muteSubject(
  alerts: AlertStore,
  { subject, untilMs, tenant, ...why }: Omit<Mute, 'tenant'> & { readonly tenant: string | undefined },
  terms: MuteTerms,
): Promise<Mute> {
  if (!(untilMs > terms.nowMs)) {
    throw new InvalidInputError('a mute needs a time in the future');
  }
  const isKnown = isAlert(subject, terms) || (await isSeries(subject, tenant, terms));
  const known = isKnown ? subject : (await readIncident(alerts, subject, tenant))[0].incidentId;
  const mute = { tenant: tenant ?? ALL_TENANTS, subject: known, untilMs, ...why };
  await alerts.mute(mute);
  return mute;
}

function isAlert(subject: string, { rules }: MuteTerms): boolean {
  return (
    [EVERYTHING, BUDGET_ALERT, JUDGE_ALERT].includes(subject) ||
    rules.some(({ rule }) => rule.alert === subject)
  );
}

/** Most states of monitors among which a series is looked for. */
const MAX_STATES = 1_000_000;

async function isSeries(
  subject: string,
  tenant: string | undefined,
  { rules, monitorView }: MuteTerms,
): Promise<boolean> {
  if (!ID.test(subject)) {
    return false;
  }
  const ruleKeys = rules.map(({ key }) => key);
  const states = await monitorView.statuses({ ruleKeys, tenant }, MAX_STATES);
  return states.some(({ series }) => computeSeriesId(series) === subject);
}

interface Unmuting {
  readonly subject: string;
  /** Tenant of the mute; undefined: the only one that has muted the subject. */
  readonly of?: string | undefined;
  /** Tenant of the caller; undefined: all tenants. */
  readonly tenant?: string | undefined;
}

/**
 * Ends a mute that the caller sees. Throws a `NotFoundError` when the subject is not muted, a `ForbiddenError` for the mute of all
 * tenants by a caller of one, and a `SeveralTenantsError` when several tenants have muted the subject.
 */
export async function unmuteSubject(alerts: AlertStore, { subject, of, tenant }: Unmuting): Promise<Mute> {
  const seen = (await alerts.mutes()).filter(
    (each) =>
      each.subject === subject &&
      (of === undefined || each.tenant === of) &&
      (tenant === undefined || [ALL_TENANTS, tenant].includes(each.tenant)),
  );
  const own = tenant === undefined ? seen : seen.filter((each) => each.tenant === tenant);
  const [mute, ...others] = own;
  if (mute === undefined) {
    throw seen.length === 0
      ? new NotFoundError(
          `${subject} is not muted; to list mutes: spanscore alerts list, or GET /api/v1/mutes`,
        )
      : new ForbiddenError(`${subject} is muted for all tenants: a token without a tenant ends that mute`);
  }
  if (others.length > 0) {
    throw new SeveralTenantsError(
      `mute of ${subject}`,
      own.map((each) => each.tenant),
    );
  }
  await alerts.mute({ ...mute, untilMs: 0 });
  return mute;
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Reads the beginning of an incident, and its end where it has one. Throws a `NotFoundError` for an unknown id (in this tenant). */
export async function readIncident(
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

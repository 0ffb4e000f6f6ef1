import { z } from 'zod';
import { httpUrl } from '../../config/schema/fields.ts';
import { MINUTE_MS } from '../../domain/durations.ts';
import { type AlertEvent, buildLabels } from '../../monitors/alert-event.ts';
import type { Outcome } from '../deliver.ts';
import { ALERTS_PAGE, pageLink } from './alert-text.ts';
import {
  type AlertChannel,
  type AlertLinks,
  type ChannelParts,
  defineChannel,
  postAlert,
} from './channel.ts';
import { buildAnnotations, goJson, goTime } from './prometheus.ts';

/** The channels of `alerts.alertmanager`. */
export const alertmanagerChannel = defineChannel({
  name: 'alertmanager',
  options: z
    .array(httpUrl('Base URL; /api/v2/alerts is appended.').meta({ examples: ['http://127.0.0.1:9093'] }))
    .describe('Base URLs of Prometheus Alertmanagers; /api/v2/alerts is appended.'),
  // An Alertmanager usually runs in the same network as spanscore.
  mayBePrivate: true,
  readTarget: (url) => ({ url, identity: { value: url } }),
  open: (url, parts) => createAlertmanagerChannel(url, parts),
});

const REMIND_EVERY_MS = MINUTE_MS;
/** Reminders until an Alertmanager ends an alert by itself: two may be lost in a row. */
const VALID_REMINDERS = 3;
const RESOLVED_FOR_MS = 5 * MINUTE_MS;
/** Most alerts in one request. */
const MAX_ALERTS = 100;

/**
 * Creates a channel to Prometheus' Alertmanager (API v2). An Alertmanager identifies an alert by its labels, ends an alert that
 * is not repeated, and groups, routes and silences by itself.
 */
export function createAlertmanagerChannel(
  base: string,
  { name, post, now, publicUrl }: ChannelParts,
  everyMs = REMIND_EVERY_MS,
): AlertChannel {
  const url = `${base.replace(/\/+$/, '')}/api/v2/alerts`;

  async function tell(events: readonly AlertEvent[], signal: AbortSignal): Promise<Outcome> {
    for (let first = 0; first < events.length; first += MAX_ALERTS) {
      const slice = events.slice(first, first + MAX_ALERTS);
      const validUntilMs = now() + VALID_REMINDERS * everyMs;
      const body = goJson(slice.map((event) => buildAlert(event, validUntilMs, { publicUrl })));
      const outcome = await postAlert({ url, body, headers: {} }, post, signal);
      if (outcome.kind !== 'delivered') {
        return outcome;
      }
    }
    return { kind: 'delivered' };
  }

  return {
    name,
    maxEvents: 1,
    send: ({ events }, signal) => tell(events, signal),
    reminders: { everyMs, resolvedForMs: RESOLVED_FOR_MS, send: tell },
  };
}

function buildAlert(event: AlertEvent, validUntilMs: number, links: AlertLinks): object {
  const page = pageLink(ALERTS_PAGE, links);
  return {
    labels: buildLabels(event),
    annotations: buildAnnotations(event, links),
    startsAt: goTime(event.startsAtMs),
    endsAt: goTime(event.endsAtMs ?? validUntilMs),
    ...(page === undefined ? {} : { generatorURL: page }),
  };
}

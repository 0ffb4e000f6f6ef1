import type { AlertEvent } from '../../monitors/alert-event.ts';
import {
  attempt,
  type AlertChannel,
  type AlertLinks,
  type AlertOutcome,
  type ChannelDeps,
} from './alert-channel.ts';
import { buildLabels } from '../../monitors/alert-event.ts';
import { buildAnnotations } from './alert-labels.ts';
import { ALERTS_PAGE, pageLink } from './alert-text.ts';
import { goJson, goTime } from './go-json.ts';

export interface AlertmanagerChannelConfig extends AlertLinks {
  readonly name: string;
  /** Base URL; `/api/v2/alerts` is appended. */
  readonly url: string;
  /** Interval between reminders of firing alerts, milliseconds. Default 60,000. */
  readonly remindEveryMs?: number | undefined;
}

const REMIND_EVERY_MS = 60_000;
/** Reminders until an Alertmanager ends an alert by itself: two may be lost in a row. */
const VALID_REMINDERS = 3;
const RESOLVED_FOR_MS = 5 * 60_000;
/** Most alerts in one request. */
const MAX_ALERTS = 100;

/**
 * Creates a channel to Prometheus' Alertmanager (API v2). An Alertmanager identifies an alert by its labels, ends an alert that
 * is not repeated, and groups, routes and silences by itself.
 */
export function createAlertmanagerChannel(
  config: AlertmanagerChannelConfig,
  { post, now }: ChannelDeps,
): AlertChannel {
  const everyMs = config.remindEveryMs ?? REMIND_EVERY_MS;
  const url = `${config.url.replace(/\/+$/, '')}/api/v2/alerts`;

  async function tell(events: readonly AlertEvent[], signal: AbortSignal): Promise<AlertOutcome> {
    for (let first = 0; first < events.length; first += MAX_ALERTS) {
      const slice = events.slice(first, first + MAX_ALERTS);
      const validUntilMs = now() + VALID_REMINDERS * everyMs;
      const body = goJson(slice.map((event) => buildAlert(event, validUntilMs, config)));
      const outcome = await attempt({ url, body, headers: {} }, post, signal);
      if (outcome.kind !== 'delivered') {
        return outcome;
      }
    }
    return { kind: 'delivered' };
  }

  return {
    name: config.name,
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

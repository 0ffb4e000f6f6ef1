import { type AlertEvent, buildLabels, type Labels } from '../../monitors/alert-event.ts';
import { webhookHeaders } from '../http/standard-webhook.ts';
import {
  attempt,
  type AlertChannel,
  type AlertLinks,
  type AlertMessage,
  type ChannelDeps,
} from './alert-channel.ts';
import { buildAnnotations, commonLabels, labelFingerprint } from './alert-labels.ts';
import { ALERTS_PAGE, pageLink } from './alert-text.ts';
import { GO_ZERO_TIME, goJson, goTime } from './go-json.ts';

export interface WebhookChannelConfig extends AlertLinks {
  readonly name: string;
  readonly url: string;
  /** Secret of the signature: `whsec_` and base64, or any text. Absent: messages are not signed. */
  readonly secret?: string | undefined;
}

const MAX_EVENTS = 50;

/**
 * Creates a channel that sends one POST for each message. The body is that of an Alertmanager's webhook (version 4), so that
 * existing receivers can read it. It is signed by Standard Webhooks, with an id that is the same in every repeat.
 */
export function createWebhookChannel(config: WebhookChannelConfig, { post, now }: ChannelDeps): AlertChannel {
  return {
    name: config.name,
    maxEvents: MAX_EVENTS,
    send(message, signal) {
      const body = webhookBody(message, config);
      const headers = webhookHeaders({ id: message.id, body }, config.secret, now());
      return attempt({ url: config.url, body, headers }, post, signal);
    },
  };
}

/** Labels that identify a group: those that alerts of one deploy have in common, or those of a single alert. */
const GROUPED_BY: ReadonlySet<string> = new Set([
  'alertname',
  'scorer',
  'scorer_fingerprint',
  'agent',
  'environment',
  'tenant',
  'budget',
  'budget_period',
  'budget_percent',
]);

function webhookBody({ events }: AlertMessage, config: WebhookChannelConfig): string {
  const alerts = events.map((event) => buildAlert(event, config));
  const shared = commonLabels(alerts.map(({ labels }) => labels));
  const groupLabels = Object.fromEntries(Object.entries(shared).filter(([name]) => GROUPED_BY.has(name)));
  const status = events[0]?.status ?? 'firing';
  return alertmanagerBody({
    receiver: config.name,
    status,
    alerts,
    notification_reason: status === 'firing' ? 'first notification' : 'all alerts resolved',
    groupLabels,
    commonLabels: shared,
    commonAnnotations: commonLabels(alerts.map(({ annotations }) => annotations)),
    externalURL: pageLink('', config) ?? '',
  });
}

interface WebhookAlert {
  readonly status: AlertEvent['status'];
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly generatorURL: string;
  readonly fingerprint: string;
}

function buildAlert(event: AlertEvent, links: AlertLinks): WebhookAlert {
  const labels = buildLabels(event);
  return {
    status: event.status,
    labels,
    annotations: buildAnnotations(event, links),
    startsAt: goTime(event.startsAtMs),
    endsAt: event.endsAtMs === null ? GO_ZERO_TIME : goTime(event.endsAtMs),
    generatorURL: pageLink(ALERTS_PAGE, links) ?? '',
    fingerprint: labelFingerprint(labels),
  };
}

/** Content of a message in the Alertmanager's webhook format. */
export interface WebhookContent {
  readonly receiver: string;
  readonly status: AlertEvent['status'];
  readonly alerts: readonly WebhookAlert[];
  readonly notification_reason: string;
  readonly groupLabels: Labels;
  readonly commonLabels: Labels;
  readonly commonAnnotations: Labels;
  readonly externalURL: string;
}

/** Writes the body byte for byte as an Alertmanager does. */
export function alertmanagerBody(content: WebhookContent): string {
  const { receiver, status, alerts, notification_reason, groupLabels, externalURL } = content;
  const pairs = Object.entries(groupLabels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return goJson({
    receiver,
    status,
    alerts,
    notification_reason,
    groupLabels,
    commonLabels: content.commonLabels,
    commonAnnotations: content.commonAnnotations,
    routeLabels: {},
    externalURL,
    version: '4',
    groupKey: `{}:{${pairs.join(', ')}}`,
    truncatedAlerts: 0,
  });
}

import type { AlertEvent } from '../../monitors/alert-event.ts';
import { webhookHeaders } from '../http/standard-webhook.ts';
import {
  attempt,
  type AlertChannel,
  type AlertLinks,
  type AlertMessage,
  type ChannelDeps,
} from './alert-channel.ts';
import {
  buildAnnotations,
  commonLabels,
  labelFingerprint,
  type Labels,
  buildLabels,
} from './alert-labels.ts';
import { GO_ZERO_TIME, goJson, goTime } from './go-json.ts';

export interface WebhookChannelConfig extends AlertLinks {
  readonly name: string;
  readonly url: string;
  /** `whsec_` and base64, or any text; absent: messages are not signed. */
  readonly secret?: string | undefined;
}

const MAX_EVENTS = 50;

/**
 * One POST a message, with the body that an Alertmanager's webhook has (version 4), so that what reads those reads ours;
 * signed as Standard Webhooks says, with an id that is the same for every repeat.
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

/** Labels that alerts of one deploy have in common, or one alert for itself: what a receiver knows the group by. */
const GROUPED_BY: ReadonlySet<string> = new Set([
  'alertname',
  'scorer',
  'scorer_fingerprint',
  'agent',
  'environment',
  'tenant',
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
    externalURL: '',
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
    generatorURL: '',
    fingerprint: labelFingerprint(labels),
  };
}

/** Content of a message in the Alertmanager's web hook format. */
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

/** Byte for byte as an Alertmanager writes it. */
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

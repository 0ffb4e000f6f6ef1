import { z } from 'zod';
import { channelName, hookUrl, secret } from '../../config/schema/fields.ts';
import { type AlertEvent, buildLabels, type Labels } from '../../monitors/alert-event.ts';
import { webhookHeaders } from '../http/headers.ts';
import { ALERTS_PAGE, pageLink } from './alert-text.ts';
import { type AlertLinks, type AlertMessage, defineChannel, postAlert } from './channel.ts';
import {
  buildAnnotations,
  commonLabels,
  GO_ZERO_TIME,
  goJson,
  goTime,
  labelFingerprint,
} from './prometheus.ts';

const MAX_EVENTS = 50;

/**
 * The channels of `alerts.webhook`: one POST for each message. The body is that of an Alertmanager's webhook (version 4), so that
 * existing receivers can read it. It is signed by Standard Webhooks, with an id that is the same in every repeat.
 */
export const webhookChannel = defineChannel({
  name: 'webhook',
  options: z
    .array(
      z.strictObject({
        name: channelName,
        url: hookUrl('URL for alerts. The POST body is that of an Alertmanager webhook (version 4).'),
        secret: secret('Secret that signs requests, as Standard Webhooks defines.').optional(),
      }),
    )
    .describe('Webhooks for alerts.'),
  mayBePrivate: false,
  readTarget: ({ name, url }) => ({ url, name, identity: { key: 'url', value: url } }),
  open: ({ url, secret: key }, { name, post, now, publicUrl }) => ({
    name,
    maxEvents: MAX_EVENTS,
    send(message, signal) {
      const body = writeBody(message, name, { publicUrl });
      return postAlert(
        { url, body, headers: webhookHeaders({ id: message.id, body }, key, now()) },
        post,
        signal,
      );
    },
  }),
});

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
  'issue',
]);

function writeBody({ events }: AlertMessage, receiver: string, links: AlertLinks): string {
  const alerts = events.map((event) => buildAlert(event, links));
  const shared = commonLabels(alerts.map(({ labels }) => labels));
  const groupLabels = Object.fromEntries(Object.entries(shared).filter(([name]) => GROUPED_BY.has(name)));
  const status = events[0]?.status ?? 'firing';
  return alertmanagerBody({
    receiver,
    status,
    alerts,
    notification_reason: status === 'firing' ? 'first notification' : 'all alerts resolved',
    groupLabels,
    commonLabels: shared,
    commonAnnotations: commonLabels(alerts.map(({ annotations }) => annotations)),
    externalURL: pageLink('', links) ?? '',
  });
}

function buildAlert(event: AlertEvent, links: AlertLinks) {
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
  readonly alerts: readonly ReturnType<typeof buildAlert>[];
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

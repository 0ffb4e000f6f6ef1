import { z } from 'zod';
import { isAddressOrNetwork } from '../private-addresses.ts';
import { duration, hookUrl, httpUrl, secret } from './fields.ts';

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, { error: 'write letters, digits and _ . - (at most 64)' })
  .describe('Name of the channel in stored messages. Absent: a hash of its address.')
  .meta({ examples: ['on-call'] })
  .optional();

/** Schema of the Alertmanager channel. */
export const AlertmanagerChannels = z
  .array(httpUrl('Base URL; /api/v2/alerts is appended.').meta({ examples: ['http://127.0.0.1:9093'] }))
  .describe('Base URLs of Prometheus Alertmanagers; /api/v2/alerts is appended.');

/** Schema of the webhook channel. */
export const WebhookChannels = z
  .array(
    z.strictObject({
      name,
      url: hookUrl('URL for alerts. The POST body is that of an Alertmanager webhook (version 4).'),
      secret: secret('Secret that signs requests, as Standard Webhooks defines.').optional(),
    }),
  )
  .describe('Webhooks for alerts.');

/** Schema of the Slack channel. */
export const SlackChannels = z
  .array(z.strictObject({ name, url: hookUrl('An incoming-webhook URL.') }))
  .describe('Slack channels.');

/** Schema of the PagerDuty channel. */
export const PagerDutyChannels = z
  .array(
    z.strictObject({
      name,
      routingKey: secret('Integration key of the Events API v2.'),
      url: httpUrl('URL for events. Change it for another service region.').default(
        'https://events.pagerduty.com/v2/enqueue',
      ),
    }),
  )
  .describe('PagerDuty services.');

/** Schema of alerts: one line for each channel, by the name of its definition. */
export const Alerts = z.strictObject({
  alertmanager: AlertmanagerChannels.default([]),
  webhook: WebhookChannels.default([]),
  slack: SlackChannels.default([]),
  pagerduty: PagerDutyChannels.default([]),
  traceUrl: httpUrl('URL of the page of a trace, for links in alerts. {traceId} is replaced by the trace id.')
    .meta({ examples: ['https://traces.example.com/trace/{traceId}'] })
    .refine((url) => url.includes('{traceId}'), { error: 'must contain {traceId}' })
    .optional(),
  groupWait: duration('Wait before a message, so that alerts of one deploy go into one message.').default(
    '30s',
  ),
  allowAddresses: z
    .array(z.string().refine(isAddressOrNetwork, { error: 'write an address or a network, like 10.0.0.0/8' }))
    .default([])
    .describe('Private addresses and networks (10.0.0.0/8) that webhook, slack and pagerduty may call.'),
});

/** Options of every channel, and what they share. */
export type AlertOptions = z.infer<typeof Alerts>;

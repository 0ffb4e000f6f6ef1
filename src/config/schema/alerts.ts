import { z } from 'zod';
import { isAddressOrNetwork } from '../../domain/private-addresses.ts';
import { duration, hookUrl, httpUrl, secret } from './fields.ts';

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, { error: 'write letters, digits and _ . - (at most 64)' })
  .describe('Under this name it is kept what was told; without one, under a hash of the address.')
  .optional();

/** Who is told when a monitor fires. */
export const Alerts = z.strictObject({
  alertmanager: z
    .array(httpUrl('Base URL; /api/v2/alerts is appended.'))
    .default([])
    .describe('Prometheus Alertmanagers.'),
  webhook: z
    .array(
      z.strictObject({
        name,
        url: hookUrl('Where alerts are posted, with the body of an Alertmanager (version 4).'),
        secret: secret('Signs requests as Standard Webhooks tells.').optional(),
      }),
    )
    .default([])
    .describe('Web requests.'),
  slack: z
    .array(z.strictObject({ name, url: hookUrl('An incoming-webhook URL.') }))
    .default([])
    .describe('Slack channels.'),
  pagerduty: z
    .array(
      z.strictObject({
        name,
        routingKey: secret('Integration key of the Events API v2.'),
        url: httpUrl('Where events are posted, as in another service region.').default(
          'https://events.pagerduty.com/v2/enqueue',
        ),
      }),
    )
    .default([])
    .describe('PagerDuty services.'),
  traceUrl: httpUrl('Page of a trace, for links in alerts; {traceId} stands for its id.')
    .refine((url) => url.includes('{traceId}'), { error: 'must contain {traceId}' })
    .optional(),
  groupWait: duration('How long alerts of one deploy wait for each other, to be told together.').default(
    '30s',
  ),
  allowAddresses: z
    .array(z.string().refine(isAddressOrNetwork, { error: 'write an address or a network, like 10.0.0.0/8' }))
    .default([])
    .describe('Private addresses and networks that webhook, slack and pagerduty may lead to.'),
});

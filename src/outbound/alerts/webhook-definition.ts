import { z } from 'zod';
import { channelName, hookUrl, secret } from '../../config/schema/fields.ts';
import { defineChannel } from './channel-definition.ts';

/** The channels of `alerts.webhook`. */
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
  create: async (entries, { publicUrl, allowAddresses: allowed }) => {
    const [{ createWebhookChannel }, { createChannelDeps, nameChannel }] = await Promise.all([
      import('./webhook-channel.ts'),
      import('./channel-parts.ts'),
    ]);
    return entries.map(({ name, url, ...rest }) =>
      createWebhookChannel(
        { publicUrl, name: nameChannel('webhook', name, url), url, secret: rest.secret },
        createChannelDeps(url, { allowed, inside: false }),
      ),
    );
  },
});

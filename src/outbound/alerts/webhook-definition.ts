import { WebhookChannels } from '../../config/schema/alerts.ts';
import type { ChannelDefinition } from './channel-definition.ts';

/** The channels of `alerts.webhook`. */
export const webhookChannel: ChannelDefinition = {
  name: 'webhook',
  options: WebhookChannels,
  create: async ({ webhook, traceUrl, allowAddresses: allowed }) => {
    const [{ createWebhookChannel }, { createChannelDeps, nameChannel }] = await Promise.all([
      import('./webhook-channel.ts'),
      import('./channel-parts.ts'),
    ]);
    return webhook.map(({ name, url, secret }) =>
      createWebhookChannel(
        { traceUrl, name: nameChannel('webhook', name, url), url, secret },
        createChannelDeps(url, { allowed, inside: false }),
      ),
    );
  },
};

import { z } from 'zod';
import { channelName, httpUrl, secret } from '../../config/schema/fields.ts';
import { defineChannel } from './channel-definition.ts';

/** The channels of `alerts.pagerduty`. */
export const pagerdutyChannel = defineChannel({
  name: 'pagerduty',
  options: z
    .array(
      z.strictObject({
        name: channelName,
        routingKey: secret('Integration key of the Events API v2.'),
        url: httpUrl('URL for events. Change it for another service region.').default(
          'https://events.pagerduty.com/v2/enqueue',
        ),
      }),
    )
    .describe('PagerDuty services.'),
  mayBePrivate: false,
  readTarget: ({ name, routingKey, url }) => ({
    url,
    name,
    identity: { key: 'routingKey', value: routingKey },
  }),
  create: async (entries, { publicUrl, allowAddresses: allowed }) => {
    const [{ createPagerDutyChannel }, { createChannelDeps, nameChannel }] = await Promise.all([
      import('./pagerduty-channel.ts'),
      import('./channel-parts.ts'),
    ]);
    return entries.map(({ name, routingKey, url }) =>
      createPagerDutyChannel(
        { publicUrl, name: nameChannel('pagerduty', name, routingKey), routingKey, url },
        createChannelDeps(url, { allowed, inside: false }),
      ),
    );
  },
});

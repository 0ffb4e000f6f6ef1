import { PagerDutyChannels } from '../../config/schema/alerts.ts';
import type { ChannelDefinition } from './channel-definition.ts';

/** The channels of `alerts.pagerduty`. */
export const pagerdutyChannel: ChannelDefinition = {
  name: 'pagerduty',
  options: PagerDutyChannels,
  create: async ({ pagerduty, traceUrl, allowAddresses: allowed }) => {
    const [{ createPagerDutyChannel }, { createChannelDeps, nameChannel }] = await Promise.all([
      import('./pagerduty-channel.ts'),
      import('./channel-parts.ts'),
    ]);
    return pagerduty.map(({ name, routingKey, url }) =>
      createPagerDutyChannel(
        { traceUrl, name: nameChannel('pagerduty', name, routingKey), routingKey, url },
        createChannelDeps(url, { allowed, inside: false }),
      ),
    );
  },
};

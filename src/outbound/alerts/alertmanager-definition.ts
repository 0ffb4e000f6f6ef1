import { AlertmanagerChannels } from '../../config/schema/alerts.ts';
import type { ChannelDefinition } from './channel-definition.ts';

/** The channels of `alerts.alertmanager`. */
export const alertmanagerChannel: ChannelDefinition = {
  name: 'alertmanager',
  options: AlertmanagerChannels,
  create: async ({ alertmanager, traceUrl, allowAddresses: allowed }) => {
    const [{ createAlertmanagerChannel }, { createChannelDeps, nameChannel }] = await Promise.all([
      import('./alertmanager-channel.ts'),
      import('./channel-parts.ts'),
    ]);
    return alertmanager.map((url) =>
      createAlertmanagerChannel(
        { traceUrl, name: nameChannel('alertmanager', undefined, url), url },
        // It stands beside what it watches.
        createChannelDeps(url, { allowed, inside: true }),
      ),
    );
  },
};

import { z } from 'zod';
import { httpUrl } from '../../config/schema/fields.ts';
import { defineChannel } from './channel-definition.ts';

/** The channels of `alerts.alertmanager`. */
export const alertmanagerChannel = defineChannel({
  name: 'alertmanager',
  options: z
    .array(httpUrl('Base URL; /api/v2/alerts is appended.').meta({ examples: ['http://127.0.0.1:9093'] }))
    .describe('Base URLs of Prometheus Alertmanagers; /api/v2/alerts is appended.'),
  // An Alertmanager usually runs in the same network as spanscore.
  mayBePrivate: true,
  readTarget: (url) => ({ url, identity: { value: url } }),
  create: async (urls, { publicUrl, allowAddresses: allowed }) => {
    const [{ createAlertmanagerChannel }, { createChannelDeps, nameChannel }] = await Promise.all([
      import('./alertmanager-channel.ts'),
      import('./channel-parts.ts'),
    ]);
    return urls.map((url) =>
      createAlertmanagerChannel(
        { publicUrl, name: nameChannel('alertmanager', undefined, url), url },
        createChannelDeps(url, { allowed, inside: true }),
      ),
    );
  },
});

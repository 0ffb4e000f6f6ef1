import { z } from 'zod';
import { channelName, hookUrl } from '../../config/schema/fields.ts';
import { defineChannel } from './channel-definition.ts';

/** The channels of `alerts.slack`. */
export const slackChannel = defineChannel({
  name: 'slack',
  options: z
    .array(z.strictObject({ name: channelName, url: hookUrl('An incoming-webhook URL.') }))
    .describe('Slack channels.'),
  mayBePrivate: false,
  readTarget: ({ name, url }) => ({ url, name, identity: { key: 'url', value: url } }),
  create: async (entries, { publicUrl, allowAddresses: allowed }) => {
    const [{ createSlackChannel }, { createChannelDeps, nameChannel }] = await Promise.all([
      import('./slack-channel.ts'),
      import('./channel-parts.ts'),
    ]);
    return entries.map(({ name, url }) =>
      createSlackChannel(
        { publicUrl, name: nameChannel('slack', name, url), url },
        createChannelDeps(url, { allowed, inside: false }),
      ),
    );
  },
});

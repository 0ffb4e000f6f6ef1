import { SlackChannels } from '../../config/schema/alerts.ts';
import type { ChannelDefinition } from './channel-definition.ts';

/** The channels of `alerts.slack`. */
export const slackChannel: ChannelDefinition = {
  name: 'slack',
  options: SlackChannels,
  create: async ({ slack, traceUrl, allowAddresses: allowed }) => {
    const [{ createSlackChannel }, { createChannelDeps, nameChannel }] = await Promise.all([
      import('./slack-channel.ts'),
      import('./channel-parts.ts'),
    ]);
    return slack.map(({ name, url }) =>
      createSlackChannel(
        { traceUrl, name: nameChannel('slack', name, url), url },
        createChannelDeps(url, { allowed, inside: false }),
      ),
    );
  },
};

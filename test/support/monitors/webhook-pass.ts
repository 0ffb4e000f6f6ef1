import type { AlertMessage } from '../../../src/delivery/channels/channel.ts';
import { webhookChannel } from '../../../src/delivery/channels/webhook.ts';
import { ChannelDelivery } from '../../../src/delivery/deliver-alerts.ts';
import type { Delivery, Outcome } from '../../../src/delivery/deliver.ts';
import { addressPolicy } from '../../../src/config/addresses/private-addresses.ts';
import { createGuardedPost } from '../../../src/delivery/http/guarded-post.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import type { Store } from '../../../src/store/store.ts';

/** Much longer than a receiver on a busy machine needs: a message that is sent twice would add a step. */
const TIMEOUT_MS = 60_000;

type Send = (message: AlertMessage, signal: AbortSignal) => Promise<Outcome>;

/**
 * Creates a pass that sends all alerts of a store to a web hook on loopback, without a delay. `more` replaces the store's
 * own ports. `around` wraps each attempt.
 */
export function createWebhookPass(
  { name, url }: { readonly name: string; readonly url: string },
  { alertFeed, alerts, deadLetters, spans }: Store,
  more: Partial<Pick<ConstructorParameters<typeof ChannelDelivery>[2], 'feed' | 'deadLetters'>> = {},
  around: (send: Send) => Send = (send) => send,
): Delivery {
  const post = createGuardedPost({ permits: addressPolicy(['127.0.0.0/8']), timeoutMs: TIMEOUT_MS });
  const channel = webhookChannel.open({ url }, { name, post, now: Date.now });
  return new ChannelDelivery(
    { name, maxEvents: channel.maxEvents, send: around((message, signal) => channel.send(message, signal)) },
    { groupWaitMs: 0 },
    {
      feed: alertFeed,
      mutes: (sinceMs) => alerts.mutes(sinceMs),
      deadLetters,
      log: silentLog,
      now: () => spans.nowMs(),
      random: Math.random,
      counts: { delivered: 0, dead: 0, failures: 0 },
      checkDuty: async () => undefined,
      giveUp: new AbortController().signal,
      ...more,
    },
  );
}

import { type ChannelPass, createChannelPass } from '../../../src/outbound/alerts/channel-pass.ts';
import {
  ALERT_DELIVERY_DEFAULTS,
  type AlertDeliveryDeps,
} from '../../../src/outbound/alerts/delivery-terms.ts';
import type { AlertMessage, AlertOutcome } from '../../../src/outbound/alerts/alert-channel.ts';
import { createWebhookChannel } from '../../../src/outbound/alerts/webhook-channel.ts';
import { addressPolicy } from '../../../src/config/addresses/private-addresses.ts';
import { createGuardedPost } from '../../../src/outbound/http/guarded-post.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import type { Store } from '../../../src/store/contracts/store.ts';

/** Much longer than a receiver on a busy machine needs: a message that is sent twice would add a step. */
const TIMEOUT_MS = 60_000;

type Send = (message: AlertMessage, signal: AbortSignal) => Promise<AlertOutcome>;

/**
 * Creates a pass that sends all alerts of a store to a web hook on loopback, without a delay. `more` replaces the store's
 * own ports. `around` wraps each attempt.
 */
export function createWebhookPass(
  { name, url }: { readonly name: string; readonly url: string },
  { alertFeed, alerts, deadLetters, spans }: Store,
  more: Partial<Pick<AlertDeliveryDeps, 'feed' | 'deadLetters'>> = {},
  around: (send: Send) => Send = (send) => send,
): ChannelPass {
  const post = createGuardedPost({ permits: addressPolicy(['127.0.0.0/8']), timeoutMs: TIMEOUT_MS });
  const channel = createWebhookChannel({ name, url }, { post, now: Date.now });
  const running = new AbortController().signal;
  return createChannelPass(
    { name, maxEvents: channel.maxEvents, send: around((message, signal) => channel.send(message, signal)) },
    { ...ALERT_DELIVERY_DEFAULTS, groupWaitMs: 0 },
    {
      feed: alertFeed,
      mutes: (sinceMs) => alerts.mutes(sinceMs),
      deadLetters,
      log: silentLog,
      now: () => spans.nowMs(),
      random: Math.random,
      isOurs: async () => true,
      stopping: running,
      giveUp: running,
      ...more,
    },
  );
}

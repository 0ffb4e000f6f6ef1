/**
 * A process that tells one web hook all alerts of a store and ends. It kills itself at a step: the ports of the delivery are
 * counted before and after each call.
 */
import { createChannelPass } from '../../src/alerts/channel-pass.ts';
import { ALERT_DELIVERY_DEFAULTS } from '../../src/alerts/delivery-terms.ts';
import { createWebhookChannel } from '../../src/alerts/webhook-channel.ts';
import { addressPolicy } from '../../src/domain/private-addresses.ts';
import { createGuardedPost } from '../../src/outbound/guarded-post.ts';
import type { AlertFeed } from '../../src/store/contracts/alert-deliveries.ts';
import { openStore, type StoreOptions } from '../../src/store/store.ts';
import { silentLog } from '../../src/telemetry/log.ts';

interface Job {
  readonly options: StoreOptions;
  readonly channels: readonly { readonly name: string; readonly url: string }[];
  /** The first is 1; 0: none. */
  readonly killAtStep: number;
}

const { options, channels, killAtStep } = JSON.parse(process.argv[2] ?? '') as Job;
let steps = 0;

function step(): void {
  steps += 1;
  if (steps === killAtStep) {
    process.kill(process.pid, 'SIGKILL');
  }
}

function counted<A extends unknown[], R>(call: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
  return async (...args) => {
    step();
    const result = await call(...args);
    step();
    return result;
  };
}

const store = await openStore({ ...options, migrate: false });
const { alertFeed, alerts, deadLetters, spans } = store;
const feed: AlertFeed = {
  pending: counted((...query) => alertFeed.pending(...query)),
  record: counted((rows) => alertFeed.record(rows)),
  told: (...query) => alertFeed.told(...query),
};
const post = createGuardedPost({ permits: addressPolicy(['127.0.0.0/8']), timeoutMs: 5_000 });
const running = new AbortController().signal;
for (const { name, url } of channels) {
  const channel = createWebhookChannel({ name, url }, { post, now: Date.now });
  const pass = createChannelPass(
    { name, maxEvents: channel.maxEvents, send: counted((...message) => channel.send(...message)) },
    { ...ALERT_DELIVERY_DEFAULTS, groupWaitMs: 0 },
    {
      feed,
      mutes: () => alerts.mutes(),
      deadLetters: { write: counted((letters) => deadLetters.write(letters)) },
      log: silentLog,
      now: () => spans.nowMs(),
      random: Math.random,
      isOurs: async () => true,
      stopping: running,
      giveUp: running,
    },
  );
  await pass.run();
}
await store.close();

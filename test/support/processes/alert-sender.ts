/**
 * Process that sends all alerts of a store to web hooks and ends. It kills itself at one step: each call of the delivery's
 * ports counts as two steps, before and after the call.
 */
import type { AlertFeed } from '../../../src/store/monitors/alert-deliveries.ts';
import { openStore, type StoreOptions } from '../../../src/store/store.ts';
import { createWebhookPass } from '../monitors/webhook-pass.ts';

interface Job {
  readonly options: StoreOptions;
  readonly channels: readonly { readonly name: string; readonly url: string }[];
  /** Number of the step, from 1; 0 for none. */
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
const { alertFeed, deadLetters } = store;
const feed: AlertFeed = {
  pending: counted((...query) => alertFeed.pending(...query)),
  record: counted((rows) => alertFeed.record(rows)),
  sent: (...query) => alertFeed.sent(...query),
};
for (const channel of channels) {
  const letters = {
    write: counted((...rows: Parameters<typeof deadLetters.write>) => deadLetters.write(...rows)),
  };
  await createWebhookPass(channel, store, { feed, deadLetters: letters }, counted).pass();
}
await store.close();

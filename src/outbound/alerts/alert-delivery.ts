import { sleep } from '../../domain/waits.ts';
import type { AlertChannel } from './alert-channel.ts';
import { createChannelPass, type ChannelCounts, type ChannelPass } from './channel-pass.ts';
import {
  ALERT_DELIVERY_DEFAULTS,
  type AlertDeliveryDeps,
  type AlertDeliveryOptions,
} from './delivery-terms.ts';

/** Running delivery of alerts over every channel. */
export interface AlertDeliveryLoop {
  /** Finishes the running attempts within `drainMs`; the next start sends the rest. May be called twice. */
  stop(): Promise<void>;
  /** Returns the counts since the start, by channel. */
  counts(): ReadonlyMap<string, Readonly<ChannelCounts>>;
}

/** Longest wait while the store is unavailable, milliseconds. */
const MAX_STORE_WAIT_MS = 60_000;

/** Starts a loop for each channel, so that a failing receiver delays no other. */
export function startAlertDelivery(
  channels: readonly AlertChannel[],
  options: AlertDeliveryOptions,
  deps: AlertDeliveryDeps,
): AlertDeliveryLoop {
  const settings = { ...ALERT_DELIVERY_DEFAULTS, ...options };
  const stopping = new AbortController();
  const giveUp = new AbortController();
  const signals = { stopping: stopping.signal, giveUp: giveUp.signal };
  const passes = channels.map((channel) => createChannelPass(channel, settings, { ...deps, ...signals }));
  let stopped: Promise<void> | undefined;

  async function serve(pass: ChannelPass): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted;) {
      try {
        await pass.run();
        failures = 0;
      } catch (error) {
        failures += 1;
        deps.log.warn('alerts could not be read or recorded, trying again', { channel: pass.name, error });
      }
      const waitMs = Math.min(settings.intervalMs * 2 ** Math.min(failures, 30), MAX_STORE_WAIT_MS);
      await sleep(waitMs, stopping.signal);
    }
  }

  async function stop(): Promise<void> {
    stopping.abort();
    const timer = setTimeout(() => giveUp.abort(), settings.drainMs);
    await Promise.all(running);
    clearTimeout(timer);
  }

  const running = passes.map(serve);
  return {
    stop: () => (stopped ??= stop()),
    counts: () => new Map(passes.map(({ name, counts }) => [name, counts])),
  };
}

import type { Mute } from '../../monitors/mute.ts';
import type { AlertFeed } from '../../store/contracts/alert-deliveries.ts';
import type { DeadLetterSink } from '../../store/contracts/dead-letters.ts';
import type { Log } from '../../telemetry/log.ts';

export interface AlertDeliveryOptions {
  /** Interval between looks for new events, milliseconds. Default 2,000. */
  readonly intervalMs?: number;
  /** Incidents that ended longer ago are not told any more to a channel that never heard of them. Default 24 h. */
  readonly lookbackMs?: number;
  /** Time that alerts of one deploy wait for each other, milliseconds. Default 30,000. */
  readonly groupWaitMs?: number;
  /** Waits after failures double from the first to the last. Defaults 1,000 and 300,000. */
  readonly firstRetryMs?: number;
  readonly maxRetryMs?: number;
  /** A message that could not be delivered for so long is given up. Default 24 h. */
  readonly giveUpAfterMs?: number;
  /** Time that `stop` waits for a reply that is due, milliseconds. Default 5,000. */
  readonly drainMs?: number;
}

export interface AlertDeliveryDeps {
  readonly feed: AlertFeed;
  /** Mutes that hold now, or that ended after a moment (Unix milliseconds). */
  readonly mutes: (sinceMs: number) => Promise<readonly Mute[]>;
  readonly deadLetters: DeadLetterSink;
  readonly log: Log;
  /** Unix milliseconds by the store's clock. */
  readonly now: () => number | Promise<number>;
  /** In [0, 1). */
  readonly random: () => number;
  /** Returns true when this process serves the channel now, among the processes that share a store. */
  readonly isOurs: (channel: string) => Promise<boolean>;
}

export const ALERT_DELIVERY_DEFAULTS = {
  intervalMs: 2_000,
  lookbackMs: 24 * 3_600_000,
  groupWaitMs: 30_000,
  firstRetryMs: 1_000,
  maxRetryMs: 5 * 60_000,
  giveUpAfterMs: 24 * 3_600_000,
  drainMs: 5_000,
} satisfies Required<AlertDeliveryOptions>;

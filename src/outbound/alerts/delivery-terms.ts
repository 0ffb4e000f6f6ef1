import type { Mute } from '../../monitors/mute.ts';
import type { AlertFeed } from '../../store/contracts/alert-deliveries.ts';
import type { DeadLetterSink } from '../../store/contracts/dead-letters.ts';
import type { Log } from '../../telemetry/log.ts';
import { DAY_MS } from '../../domain/durations.ts';

export interface AlertDeliveryOptions {
  /** Interval between reads of new events, milliseconds. Default 2,000. */
  readonly intervalMs?: number;
  /** Age after which an ended incident is not sent to a channel that never sent its beginning, milliseconds. Default 24 h. */
  readonly lookbackMs?: number;
  /** Longest wait of an alert for further alerts of the same deploy, milliseconds. Default 30,000. */
  readonly groupWaitMs?: number;
  /** First wait after a failure, milliseconds; doubled up to the last. Defaults 1,000 and 300,000. */
  readonly firstRetryMs?: number;
  readonly maxRetryMs?: number;
  /** Age after which an undelivered message becomes a dead letter, milliseconds. Default 24 h. */
  readonly giveUpAfterMs?: number;
  /** Longest wait of `stop` for a reply, milliseconds. Default 5,000. */
  readonly drainMs?: number;
}

export interface AlertDeliveryDeps {
  readonly feed: AlertFeed;
  /** Mutes that are active, or that ended after a time (Unix milliseconds). */
  readonly mutes: (sinceMs: number) => Promise<readonly Mute[]>;
  readonly deadLetters: DeadLetterSink;
  readonly log: Log;
  /** Unix milliseconds by the store's clock. */
  readonly now: () => number | Promise<number>;
  /** Random number in [0, 1). */
  readonly random: () => number;
  /** Returns true when this process is the one that serves the channel, among the processes with the same store. */
  readonly isOurs: (channel: string) => Promise<boolean>;
}

export const ALERT_DELIVERY_DEFAULTS = {
  intervalMs: 2_000,
  lookbackMs: DAY_MS,
  groupWaitMs: 30_000,
  firstRetryMs: 1_000,
  maxRetryMs: 5 * 60_000,
  giveUpAfterMs: DAY_MS,
  drainMs: 5_000,
} satisfies Required<AlertDeliveryOptions>;

import { AppError, readErrorMessage } from '../domain/errors.ts';
import { systemTimers, type Timers } from '../scoring/live/timers.ts';
import type { Log } from '../telemetry/log.ts';

export interface RepeatTerms {
  /** Time between two checks, milliseconds. */
  readonly everyMs: number;
  /** Message of the log when checks fail. */
  readonly failing: string;
  /** Aborts the wait for the next check. `stop` aborts it. */
  readonly stopping: AbortController;
  readonly log: Log;
  readonly timers?: Timers | undefined;
}

/** Checks that are repeated until they are stopped. */
export interface RepeatedCheck {
  /** Stops after the check under way. */
  stop(): Promise<void>;
}

/** Starts to repeat a check. Of failures in a row, the first one is logged. */
export function repeatCheck(check: () => Promise<void>, terms: RepeatTerms): RepeatedCheck {
  const { everyMs, failing, stopping, log, timers = systemTimers } = terms;
  let isFailing = false;

  async function checkOnce(): Promise<void> {
    try {
      await check();
      isFailing = false;
    } catch (error) {
      if (!isFailing && !stopping.signal.aborted) {
        const isBug = !(error instanceof AppError);
        log[isBug ? 'error' : 'warn'](failing, { error: isBug ? error : readErrorMessage(error) });
      }
      isFailing = true;
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await checkOnce();
      await timers.sleep(everyMs, stopping.signal);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

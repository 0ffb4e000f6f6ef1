import type { Duties } from '../ownership/duties.ts';
import type { Timers } from '../scoring/live/timers.ts';
import type { Log } from '../telemetry/log.ts';
import { repeatCheck } from './repeat-check.ts';
import type { StartedPart } from './stop-parts.ts';

export interface DutyDeps {
  readonly duties: Duties;
  readonly log: Log;
  readonly timers?: Timers | undefined;
}

/** Work that one process at a time does again and again. */
export interface RepeatedDuty {
  readonly duty: string;
  /** Time between two looks whether something is to do, milliseconds. */
  readonly everyMs: number;
  /** Message of the log when the work fails. */
  readonly failing: string;
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** Called at each look of a process that does not have the duty. */
  readonly onIdle?: () => void;
}

/** Starts work that this process does while it has the duty. */
export function startRepeatedDuty(
  { duty, everyMs, failing, work, onIdle }: RepeatedDuty,
  { duties, log, timers }: DutyDeps,
): StartedPart {
  const stopping = new AbortController();
  duties.join([duty]);
  const look = async () => {
    if ((await duties.readEpoch(duty)) === undefined) {
      onIdle?.();
    } else {
      await work(stopping.signal);
    }
  };
  const looks = repeatCheck(look, { everyMs, failing, stopping, log, timers });
  const stop = async () => {
    await looks.stop();
    await duties.leave(duty);
  };
  return { name: duty, stage: 'work', stop };
}

import { MIB } from '../domain/byte-sizes.ts';
import { AppError, readErrorMessage } from '../domain/errors.ts';
import { systemTimers, type Timers } from '../domain/waits.ts';
import type { Duties } from '../ownership/duties.ts';
import type { Log } from '../telemetry/log.ts';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * Stages of a stop in their order; parts of one stage do not need each other. Each has a time limit in milliseconds. The
 * sum is less than the 30 s that supervisors wait before they kill.
 */
const STAGES = { address: 1_000, work: 15_000, exporters: 6_000, store: 1_000, engine: 6_000 } as const;
export type StopStage = keyof typeof STAGES;

/** Started part, and the function that stops it. */
export interface StartedPart {
  readonly name: string;
  readonly stage: StopStage;
  stop(): Promise<void>;
}

/**
 * Stops parts stage by stage. Parts of one stage stop at the same time, so that a slow sender and a slow judge do not add
 * up. A part that does not stop cleanly, or not within the limit of its stage, is logged, and the stop continues. Throws an
 * `AppError` at the end when there was such a part.
 */
export async function stopParts(parts: readonly StartedPart[], log: Log): Promise<void> {
  const failures: unknown[] = [];
  const stopOne = async (part: StartedPart) => {
    try {
      await withinTime(part);
    } catch (error) {
      failures.push(error);
      log.error('a part did not stop cleanly', { part: part.name, error });
    }
  };
  for (const stage of Object.keys(STAGES)) {
    await Promise.all(parts.filter((part) => part.stage === stage).map(stopOne));
  }
  if (failures.length > 0) {
    throw new AppError('some parts did not stop cleanly; the log has the reasons', {
      code: 'bug',
      stage: 'config',
      retryable: false,
      cause: failures[0],
    });
  }
}

async function withinTime(part: StartedPart): Promise<void> {
  const limitMs = STAGES[part.stage];
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = { code: 'bug', stage: 'config', retryable: false } as const;
    late.reject(new AppError(`did not stop within ${limitMs} ms`, error));
  }, limitMs);
  try {
    await Promise.race([part.stop(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

export interface DutyDeps {
  readonly duties: Pick<Duties, 'join' | 'readEpoch' | 'leave'>;
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
  /** Gets the epoch of the duty: another process may have had it before an epoch begins. */
  readonly work: (signal: AbortSignal, epoch: number) => Promise<void>;
  /** Called at each look of a process that does not have the duty. */
  readonly onIdle?: () => void;
}

/** Starts work that this process does while it has the duty. Of failures in a row, the first one is logged. */
export function startRepeatedDuty(
  { duty, everyMs, failing, work, onIdle }: RepeatedDuty,
  { duties, log, timers = systemTimers }: DutyDeps,
): StartedPart {
  const stopping = new AbortController();
  const { signal } = stopping;
  let isFailing = false;
  duties.join([duty]);

  async function look(): Promise<void> {
    try {
      const epoch = await duties.readEpoch(duty);
      await (epoch === undefined ? onIdle?.() : work(signal, epoch));
      isFailing = false;
    } catch (error) {
      if (!isFailing && !signal.aborted) {
        const isBug = !(error instanceof AppError);
        log[isBug ? 'error' : 'warn'](failing, { error: isBug ? error : readErrorMessage(error) });
      }
      isFailing = true;
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await look();
      await timers.sleep(everyMs, signal);
    }
  }

  const running = run();
  const stop = async () => {
    stopping.abort();
    await running;
    await duties.leave(duty);
  };
  return { name: duty, stage: 'work', stop };
}

/** Size of one half of the young generation from which on it does not grow in a process with other roles than the API. */
const LARGE_HALF_BYTES = 14 * MIB;

/** Interval of the looks at its size until then, milliseconds: it doubles while modules are loaded. */
const YOUNG_LOOK_MS = 20;

/** Growth of the old generation from which on V8 collects it, percent. */
const OLD_GROWTH = 100;

/**
 * Keeps the heap small. The old generation is collected when it has doubled: by default V8 waits until it is three to four times as large, and a
 * backfill had 220 MiB of garbage beside 70 MiB of objects in use, in the same time. The young generation stays as it is in a process that
 * only serves the API, else near 64 MiB: by default it grows to 128 MiB, and garbage fills that. V8 reads these flags at each growth; its
 * flags for the largest sizes count only on the command line. During a collection V8 may use some 10 MiB more for a moment, and 24 MiB were
 * seen on a busy machine.
 */
export function limitHeap(roles: readonly string[]): void {
  setFlagsFromString(`--heap-growing-percent=${OLD_GROWTH}`);
  const stopGrowth = () => setFlagsFromString('--semi-space-growth-factor=1');
  if (roles.every((role) => role === 'api')) {
    stopGrowth();
    return;
  }
  const looking = setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    // Its pages are taken when they are needed: the space that one half has is its true size.
    if (young !== undefined && young.space_used_size + young.space_available_size >= LARGE_HALF_BYTES) {
      stopGrowth();
      clearInterval(looking);
    }
  }, YOUNG_LOOK_MS).unref();
}

import { AppError } from '../domain/errors.ts';
import type { Log } from '../telemetry/log.ts';

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

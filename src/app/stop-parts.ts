import { AppError } from '../domain/errors.ts';
import type { Log } from '../telemetry/log.ts';

/** In this order; parts of one stage do not need each other. */
const STAGES = ['address', 'work', 'exporters', 'store', 'engine'] as const;
export type StopStage = (typeof STAGES)[number];

/** A stage that takes longer is told, with the parts that are waited for: who ends the process by force wants to know. */
const TELL_AFTER_MS = 8_000;

/** Something that was started, and how it ends. */
export interface StartedPart {
  readonly name: string;
  readonly stage: StopStage;
  stop(): Promise<void>;
}

/**
 * Stops parts stage by stage, those of one stage at once: a slow sender and a slow judge do not add up. A part that does not
 * stop cleanly is told, and the rest goes on. Throws an `AppError` in the end when there was one.
 */
export async function stopParts(parts: readonly StartedPart[], log: Log): Promise<void> {
  const failures: unknown[] = [];
  const awaited = new Set<string>();
  const stopOne = async (part: StartedPart) => {
    awaited.add(part.name);
    try {
      await part.stop();
    } catch (error) {
      failures.push(error);
      log.error('a part did not stop cleanly', { part: part.name, error });
    } finally {
      awaited.delete(part.name);
    }
  };
  for (const stage of STAGES) {
    const timer = setTimeout(
      () => log.warn('still stopping', { parts: [...awaited], afterMs: TELL_AFTER_MS }),
      TELL_AFTER_MS,
    );
    await Promise.all(parts.filter((part) => part.stage === stage).map(stopOne));
    clearTimeout(timer);
  }
  if (failures.length > 0) {
    throw new AppError('not everything stopped cleanly; the log has the reasons', {
      code: 'bug',
      stage: 'config',
      retryable: false,
      cause: failures[0],
    });
  }
}

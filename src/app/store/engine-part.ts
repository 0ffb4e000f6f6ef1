import { StoreUnavailableError } from '../../domain/errors.ts';
import type { ReadinessCheck } from '../../domain/readiness-check.ts';
import type { Reading } from '../../telemetry/metrics.ts';
import { residentBytes } from '../../telemetry/process-readings.ts';
import type { StoreConnection } from './connect-store.ts';

type Engine = NonNullable<StoreConnection['engine']>;

/**
 * Creates a check that fails while the embedded engine does not run. Its message says whether the engine is starting again.
 */
export function engineCheck(engine: Engine): ReadinessCheck {
  return {
    name: 'engine',
    check: async () => {
      if (!engine.isAlive) {
        throw new StoreUnavailableError(
          engine.isRestarting
            ? 'the embedded engine has ended and is starting again'
            : 'the embedded engine has ended: this process is stopping',
        );
      }
    },
  };
}

/** Returns the metrics of the process of the embedded engine: alive, and its memory when the system reports it. */
export async function engineReadings(engine: Engine): Promise<Reading[]> {
  const resident = engine.isAlive ? await residentBytes(engine.pid) : undefined;
  return [
    { name: 'spanscore.engine.up', value: engine.isAlive ? 1 : 0 },
    ...(resident === undefined ? [] : [{ name: 'spanscore.engine.memory.usage', value: resident } as const]),
  ];
}

import { StoreUnavailableError } from '../domain/errors.ts';
import type { ReadinessCheck } from '../domain/readiness-check.ts';
import type { Reading } from '../telemetry/metrics.ts';
import { residentBytes } from '../telemetry/process-readings.ts';
import type { StoreConnection } from './connect-store.ts';

type Engine = NonNullable<StoreConnection['engine']>;

/** Fails while no process of the embedded engine serves, and says whether one is being started. */
export function engineCheck(engine: Engine): ReadinessCheck {
  return {
    name: 'engine',
    check: async () => {
      if (!engine.isAlive) {
        throw new StoreUnavailableError(
          engine.isRestarting
            ? 'the embedded engine has ended and is being started again'
            : 'the embedded engine has ended: this process is stopping',
        );
      }
    },
  };
}

/** Metrics of the embedded engine's process: alive, and its memory where the system reports it. */
export async function engineReadings(engine: Engine): Promise<Reading[]> {
  const resident = engine.isAlive ? await residentBytes(engine.pid) : undefined;
  return [
    { name: 'spanscore.engine.up', value: engine.isAlive ? 1 : 0 },
    ...(resident === undefined ? [] : [{ name: 'spanscore.engine.memory.usage', value: resident } as const]),
  ];
}

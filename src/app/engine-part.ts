import { StoreUnavailableError } from '../domain/errors.ts';
import type { ReadinessCheck } from '../domain/readiness-check.ts';
import type { Reading } from '../telemetry/metrics.ts';
import { residentBytes } from '../telemetry/process-readings.ts';
import type { StoreConnection } from './connect-store.ts';

type Engine = NonNullable<StoreConnection['engine']>;

/** Fails while the embedded engine's process is being started again. */
export function engineCheck(engine: Engine): ReadinessCheck {
  return {
    name: 'engine',
    check: async () => {
      if (!engine.isAlive) {
        throw new StoreUnavailableError('the embedded engine has ended and is being started again');
      }
    },
  };
}

/** Whether the embedded engine's process lives, and what memory it holds where the system tells. */
export async function engineReadings(engine: Engine): Promise<Reading[]> {
  const resident = engine.isAlive ? await residentBytes(engine.pid) : undefined;
  return [
    { name: 'spanscore.engine.up', value: engine.isAlive ? 1 : 0 },
    ...(resident === undefined ? [] : [{ name: 'spanscore.engine.memory.usage', value: resident } as const]),
  ];
}

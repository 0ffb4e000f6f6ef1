import type { Scorer } from '../evals/scorer.ts';
import { currentJudgeScope } from '../judge/judge-scope.ts';
import type { Log } from '../telemetry/log.ts';
import type { Reading } from '../telemetry/metrics.ts';
import { GUEST_STOCK, GuestPool } from './guest-pool.ts';
import type { GuestSpec } from './guest-spec.ts';

/** An own scorer in processes of its own; its caller uses it like any other scorer. */
interface GuestScorer {
  readonly scorer: Scorer;
  /** Returns the number of waiting runs. */
  pending(): number;
  /** Number of waiting runs below which more should be given. */
  readonly low: number;
  /** Number of waiting runs from which on no more should be given. */
  readonly high: number;
}

/** All own scorers of one process. */
export interface GuestScorers {
  /** Loads a module in a process of its own. Throws `ConfigError` for a module that cannot be used. */
  start(spec: GuestSpec): Promise<GuestScorer>;
  readings(): Reading[];
  /** Gives running runs a short time to end, then ends the processes. */
  stop(): Promise<void>;
}

export function createGuestScorers(log: Log): GuestScorers {
  const pools: GuestPool[] = [];
  return {
    async start(spec) {
      const pool = new GuestPool(spec, log);
      pools.push(pool);
      const { moduleHash: _, ...facts } = await pool.start();
      const scorer: Scorer = {
        ...facts,
        run: (input, options) =>
          pool.run(input, { scope: currentJudgeScope(), signal: options?.abortSignal }),
      };
      return { scorer, ...GUEST_STOCK, pending: () => pool.status().waiting };
    },
    readings: () => pools.flatMap(listReadings),
    stop: async () => {
      await Promise.all(pools.map((pool) => pool.stop()));
    },
  };
}

function listReadings(pool: GuestPool): Reading[] {
  const { scorer, processes, waiting, isPaused, faults } = pool.status();
  return [
    { name: 'spanscore.guest.processes', value: processes, labels: { scorer } },
    { name: 'spanscore.guest.queue', value: waiting, labels: { scorer } },
    { name: 'spanscore.guest.paused', value: isPaused ? 1 : 0, labels: { scorer } },
    ...Object.entries(faults).map(
      ([fault, value]) => ({ name: 'spanscore.guest.faults', value, labels: { scorer, fault } }) as const,
    ),
  ];
}

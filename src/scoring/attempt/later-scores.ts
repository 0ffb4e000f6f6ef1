import DataLoader from 'dataloader';
import type { Score } from '../../domain/score.ts';
import { joinTraceKey, MAX_KEYS, type ScoreStore, type TraceKey } from '../../store/contracts/stores.ts';
import type { TraceTask } from '../trace-task.ts';

/** Age up to which the scores that were read with the trace are used, milliseconds. */
const RECENT_MS = 1_000;

/** Scores of traces, read again before a judge is asked. */
export interface LaterScores {
  /** Returns the current scores of a trace; those that were read with it while they are younger than 1 s. Throws what the store throws. */
  read(task: Pick<TraceTask, 'key' | 'existing' | 'existingReadMs'>): Promise<readonly Score[]>;
}

export interface LaterScoresOptions {
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
  /** Time for which look-ups wait for others, milliseconds: a look-up costs the store the same for one trace and for many. */
  readonly waitMs: number;
}

export function createLaterScores(
  scores: Pick<ScoreStore, 'ofTraces'>,
  { monotonicMs, waitMs }: LaterScoresOptions,
): LaterScores {
  const loader = new DataLoader<TraceKey, readonly Score[]>(
    async (keys) => {
      const found = await scores.ofTraces(keys);
      return keys.map((key) => found.get(joinTraceKey(key)) ?? []);
    },
    {
      cache: false,
      maxBatchSize: MAX_KEYS,
      batchScheduleFn: (send) => void (waitMs === 0 ? setImmediate(send) : setTimeout(send, waitMs)),
    },
  );
  return {
    read: async ({ key, existing, existingReadMs }) =>
      monotonicMs() - existingReadMs < RECENT_MS ? existing : loader.load(key),
  };
}

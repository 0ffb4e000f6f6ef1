import type { ScoringLoop } from '../../scoring/live/scoring-loop.ts';
import type { JudgeStock } from '../../scoring/live/queue.ts';
import type { Reading } from '../../telemetry/metrics.ts';

/** Returns the metrics of the scorer of this process: queue and work. */
export function scorerReadings(parts: {
  readonly loop: Pick<ScoringLoop, 'status'>;
  /** Traces of which `costly` could not know the cost. */
  readonly unpriced: { readonly count: number };
  readonly judgeStock: Pick<JudgeStock, 'pending' | 'waitMs'>;
}): Reading[] {
  const status = parts.loop.status();
  const { waiting, queued, waitingForRoom, inFlight, retries, spilled, oldestQueuedMs } = status;
  const ready = queued - waitingForRoom;
  const states = {
    waiting,
    queued: ready,
    waiting_for_judge: waitingForRoom,
    running: inFlight,
    retrying: retries,
  };
  return [
    ...Object.entries(states).map(
      ([state, value]) => ({ name: 'spanscore.scoring.traces', value, labels: { state } }) as const,
    ),
    { name: 'spanscore.scoring.traces.spilled', value: spilled },
    { name: 'spanscore.sampling.unpriced', value: parts.unpriced.count },
    { name: 'spanscore.scoring.queue.age', value: (oldestQueuedMs ?? 0) / 1_000 },
    { name: 'spanscore.judge.queue', value: parts.judgeStock.pending() },
    { name: 'spanscore.judge.queue.wait', value: parts.judgeStock.waitMs() / 1_000 },
  ];
}

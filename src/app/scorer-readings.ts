import type { ScoringLoop } from '../scoring/live/scoring-loop.ts';
import type { JudgePool } from '../scoring/attempt/judge-pool.ts';
import type { Reading } from '../telemetry/metrics.ts';

/** Returns the metrics of the scorer of this process: queue and work. */
export function scorerReadings(parts: {
  readonly loop: Pick<ScoringLoop, 'status'>;
  readonly judgePool: Pick<JudgePool, 'pending'>;
}): Reading[] {
  const { waiting, queued, inFlight, retries, spilled } = parts.loop.status();
  const states = { waiting, queued, running: inFlight, retrying: retries };
  return [
    ...Object.entries(states).map(
      ([state, value]) => ({ name: 'spanscore.scoring.traces', value, labels: { state } }) as const,
    ),
    { name: 'spanscore.scoring.traces.spilled', value: spilled },
    { name: 'spanscore.judge.queue', value: parts.judgePool.pending() },
  ];
}

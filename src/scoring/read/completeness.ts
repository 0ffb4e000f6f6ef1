import { checkReadiness, type ReadinessSettings } from '../../readiness/readiness.ts';
import type { TraceTask } from '../trace-task.ts';

/**
 * `partial` for a trace that is scored although more of it may come (at the maximum wait, or because someone asked now), and
 * for one that is larger than was read of it.
 */
export function computeCompleteness(
  task: Pick<TraceTask, 'read' | 'activity'>,
  settings: ReadinessSettings,
  nowMs: number,
): 'partial' | 'complete' {
  const { read, activity } = task;
  const spans = read !== null && 'spans' in read ? read.spans : [];
  const ids = new Set(spans.map((span) => span.spanId));
  if (read !== null && 'omittedSpans' in read) {
    return 'partial';
  }
  const because = checkReadiness(
    {
      rootSeen: spans.some((span) => span.parentSpanId === ''),
      parentMissing: spans.some((span) => span.parentSpanId !== '' && !ids.has(span.parentSpanId)),
      quietMs: nowMs - activity.lastArrivalMs,
      ageMs: nowMs - activity.firstArrivalMs,
    },
    settings,
  );
  return because === 'ended' || because === 'quiet' ? 'complete' : 'partial';
}

import { checkReadiness, type ReadinessSettings } from '../../readiness/readiness.ts';
import type { TraceTask } from '../trace-task.ts';

/**
 * Returns `partial` for a trace whose spans may still come (it is scored at the maximum wait, or by a command), and for a trace
 * or a session that was too large to be read whole.
 */
export function computeCompleteness(
  task: Pick<TraceTask, 'read' | 'activity'>,
  settings: ReadinessSettings,
  nowMs: number,
): 'partial' | 'complete' {
  const { read, activity } = task;
  if (read !== null && 'session' in read) {
    return read.isPartial ? 'partial' : 'complete';
  }
  const spans = read !== null && 'spans' in read ? read.spans : [];
  const ids = new Set(spans.map((span) => span.spanId));
  if (read !== null && 'omittedSpans' in read) {
    return 'partial';
  }
  const reason = checkReadiness(
    {
      rootSeen: spans.some((span) => span.parentSpanId === ''),
      parentMissing: spans.some((span) => span.parentSpanId !== '' && !ids.has(span.parentSpanId)),
      quietMs: nowMs - activity.lastArrivalMs,
      ageMs: nowMs - activity.firstArrivalMs,
    },
    settings,
  );
  return reason === 'ended' || reason === 'quiet' ? 'complete' : 'partial';
}

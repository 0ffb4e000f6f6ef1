import type { AlertEvent } from '../../monitors/alert-event.ts';

/** Parses an event of `alert_events`. Events of earlier versions lack the agent version, or the number of late scores. */
export function storedAlert(text: string): AlertEvent {
  const event = JSON.parse(text) as Omit<AlertEvent, 'agentVersion' | 'lateScores'>;
  return { agentVersion: '', lateScores: 0, ...event };
}

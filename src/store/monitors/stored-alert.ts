import type { AlertEvent } from '../../monitors/alert-event.ts';

/** Parses an event of `alert_events`. Events from before agents had versions lack the agent version. */
export function storedAlert(text: string): AlertEvent {
  return { agentVersion: '', ...(JSON.parse(text) as Omit<AlertEvent, 'agentVersion'>) };
}

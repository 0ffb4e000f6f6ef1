import type { AlertEvent } from '../../monitors/alert-event.ts';

/** An event as it stands in `alert_events`; those of before agents had versions lack theirs. */
export function storedAlert(text: string): AlertEvent {
  return { agentVersion: '', ...(JSON.parse(text) as Omit<AlertEvent, 'agentVersion'>) };
}

import type { Replies } from './api-types.ts';
import { PREFIX } from './client.ts';
import { fillPath } from './view-models/paths/fill-path.ts';

/** A backfill, as its events have it. */
export type BackfillEvent = Replies['/backfills/{id}'];

const ENDED: readonly string[] = ['done', 'failed', 'cancelled'];

/** Calls `onChange` with each state of a backfill until it has ended. The browser connects again by itself. Returns the function that stops. */
export function followBackfill(id: string, onChange: (backfill: BackfillEvent) => void): () => void {
  const source = new EventSource(PREFIX + fillPath('/backfills/{id}/events', { id }));
  source.addEventListener('progress', ({ data }) => {
    const backfill = JSON.parse(String(data)) as BackfillEvent;
    if (ENDED.includes(backfill.status)) {
      source.close();
    }
    onChange(backfill);
  });
  return () => source.close();
}

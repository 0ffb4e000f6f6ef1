import type { Replies } from './api-types.ts';
import { PREFIX } from './client.ts';
import { fillPath } from './view-models/paths/fill-path.ts';

/** A backfill, as its events have it. */
export type BackfillEvent = Replies['/backfills/{id}'];

const ENDED: readonly string[] = ['done', 'failed', 'cancelled'];

/** Time until a refused stream is asked for again, milliseconds: the browser does so after an interrupted one only. */
const RETRY_MS = 30_000;

/** Calls `onChange` with each state of a backfill until it has ended. Returns the function that stops. */
export function followBackfill(id: string, onChange: (backfill: BackfillEvent) => void): () => void {
  let stop = () => {};
  const open = () => {
    const source = new EventSource(PREFIX + fillPath('/backfills/{id}/events', { id }));
    let retry: ReturnType<typeof setTimeout> | undefined;
    stop = () => {
      clearTimeout(retry);
      source.close();
    };
    source.addEventListener('progress', ({ data }) => {
      const backfill = JSON.parse(String(data)) as BackfillEvent;
      if (ENDED.includes(backfill.status)) {
        source.close();
      }
      onChange(backfill);
    });
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) {
        retry = setTimeout(open, RETRY_MS);
      }
    });
  };
  open();
  return () => stop();
}

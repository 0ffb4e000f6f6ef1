import { AsyncLocalStorage } from 'node:async_hooks';
import type { BatchSeat } from './batch-seat.ts';

/** Seat of a call, and the code on the markers of its prompt. */
interface SeatedCall {
  readonly seat: BatchSeat;
  readonly fenceCode: string | undefined;
}

const calls = new AsyncLocalStorage<SeatedCall>();

/** Makes a call whose request is not sent: its reply comes from the seat. */
export function callFromSeat<T>(call: SeatedCall, make: () => Promise<T>): Promise<T> {
  return calls.run(call, make);
}

/** Creates a `fetch` that takes the replies of calls with a seat from there, and asks online otherwise. */
export function createBatchedFetch(
  provider: string,
  online: typeof globalThis.fetch,
): typeof globalThis.fetch {
  return async (input, init) => {
    const call = calls.getStore();
    if (call === undefined || typeof init?.body !== 'string') {
      return online(input, init);
    }
    const { seat, fenceCode } = call;
    const { status, body } = await seat.answer({ provider, body: init.body, fenceCode });
    return new Response(body, { status, headers: { 'content-type': 'application/json' } });
  };
}

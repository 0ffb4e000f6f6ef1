import { startRequestGate, type GateAnswer, type RequestGate } from '../fakes/request-gate.ts';

/** State of a store behind a gate. `stopping`: it stops each statement at the limit of its time. */
type StoreState = 'open' | 'away' | 'hanging' | 'stopping';

/** Address of a store that a test takes away. */
export interface StoreGate extends RequestGate {
  set(state: StoreState): void;
}

const STOPPED: GateAnswer = {
  status: 500,
  headers: { 'x-clickhouse-exception-code': '159', 'content-type': 'text/plain' },
  body: 'Code: 159. DB::Exception: Timeout exceeded: elapsed 20 seconds, maximum: 20. (TIMEOUT_EXCEEDED)',
};

/** Starts a gate before a store. */
export async function startStoreGate(url: string): Promise<StoreGate> {
  let state: StoreState = 'open';
  let changed = Promise.withResolvers<void>();
  const gate = await startRequestGate(url, async (_, forward) => {
    if (state === 'open') {
      await forward();
      return true;
    }
    if (state === 'hanging') {
      await changed.promise;
    }
    return state === 'stopping' ? STOPPED : false;
  });
  return {
    ...gate,
    set(next) {
      state = next;
      changed.resolve();
      changed = Promise.withResolvers();
    },
  };
}

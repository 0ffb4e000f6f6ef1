import DataLoader from 'dataloader';
import { joinTraceKey, MAX_KEYS, type TraceKey } from '../../store/contracts/stores.ts';
import type { ScoringStores } from '../scoring-stores.ts';

/** Look-ups of one kind that run at the same time. Further ones gather until one of these has ended. */
const AT_ONCE = 2;

/** Reads something about traces. The result is keyed by `joinTraceKey` and lacks traces without it. */
type Lookup<Value> = (keys: readonly TraceKey[]) => Promise<Map<string, Value>>;

/**
 * Returns the stores with look-ups that several batches share: a look-up costs the store nearly the same for one trace and for 500. A
 * thousand batches of one trace each would keep all others waiting for a minute.
 */
export function shareLookups(stores: ScoringStores): ScoringStores {
  const { spans, decisions, scores, runs } = stores;
  return {
    ...stores,
    spans: { ...spans, activity: shareLookup((keys) => spans.activity(keys)) },
    decisions: { ...decisions, ofTraces: shareLookup((keys) => decisions.ofTraces(keys)) },
    scores: { ...scores, ofTraces: shareLookup((keys) => scores.ofTraces(keys)) },
    runs: { ...runs, ofTraces: shareLookup((keys) => runs.ofTraces(keys)) },
  };
}

function shareLookup<Value>(lookup: Lookup<Value>): Lookup<Value> {
  const waiting: (() => void)[] = [];
  let running = 0;
  const loader = new DataLoader<TraceKey, Value | undefined>(
    async (keys) => {
      try {
        const found = await lookup(keys);
        return keys.map((key) => found.get(joinTraceKey(key)));
      } finally {
        const next = waiting.shift();
        if (next === undefined) {
          running -= 1;
        } else {
          setImmediate(next);
        }
      }
    },
    {
      cache: false,
      maxBatchSize: MAX_KEYS,
      batchScheduleFn(send) {
        if (running < AT_ONCE) {
          running += 1;
          setImmediate(send);
        } else {
          waiting.push(send);
        }
      },
    },
  );
  return async (keys) => {
    const values = await Promise.all(keys.map((key) => loader.load(key)));
    const found = new Map<string, Value>();
    keys.forEach((key, index) => {
      const value = values[index];
      if (value !== undefined) {
        found.set(joinTraceKey(key), value);
      }
    });
    return found;
  };
}

import { readActivity } from '../spans/activity.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { readForeignActivity } from './foreign-activity.ts';
import type { ForeignSchema } from './foreign-schema.ts';
import type { Remembered } from './trace-bounds.ts';

/** Most traces whose times are remembered after they were looked up, for the reads that follow. */
const MOST_REMEMBERED = 10_000;

/** Time for which the spans of a trace that was just looked up are read within its known times, milliseconds. */
const RECENT_MS = 60_000;

/** Activity of traces that arrived, and of those that were never seen to. */
export interface TableActivity {
  /** By arrivals where there are any, else by the table. Keyed by `joinTraceKey`. */
  readonly of: (keys: readonly TraceKey[]) => Promise<Map<string, TraceActivity>>;
  /** By the table alone. */
  readonly inTable: (keys: readonly TraceKey[]) => Promise<Map<string, TraceActivity>>;
  /** The same, with the arrivals of those that arrived. */
  readonly asArrived: (activities: readonly TraceActivity[]) => Promise<TraceActivity[]>;
  /** Activity from an earlier look-up in the table. */
  readonly remembered: (key: TraceKey) => Remembered | undefined;
}

export function createTableActivity(
  database: Database,
  schema: () => Promise<ForeignSchema>,
  monotonicMs: () => number = () => performance.now(),
): TableActivity {
  const known = new Map<string, { activity: TraceActivity; foundMs: number }>();

  async function inTable(keys: readonly TraceKey[]): Promise<Map<string, TraceActivity>> {
    const foundMs = monotonicMs();
    const found = await readForeignActivity(database, await schema(), keys);
    for (const [name, activity] of found) {
      known.delete(name);
      known.set(name, { activity, foundMs });
    }
    for (const name of known.keys()) {
      if (known.size <= MOST_REMEMBERED) {
        break;
      }
      known.delete(name);
    }
    return found;
  }

  async function of(keys: readonly TraceKey[]): Promise<Map<string, TraceActivity>> {
    const arrived = await readActivity(database, keys);
    const others = keys.filter((key) => !arrived.has(joinTraceKey(key)));
    return others.length === 0 ? arrived : new Map([...arrived, ...(await inTable(others))]);
  }

  async function asArrived(activities: readonly TraceActivity[]): Promise<TraceActivity[]> {
    const arrived = await readActivity(database, activities);
    return activities.map((activity) => {
      const { firstArrivalMs, lastArrivalMs } = arrived.get(joinTraceKey(activity)) ?? activity;
      return { ...activity, firstArrivalMs, lastArrivalMs };
    });
  }

  function remembered(key: TraceKey): Remembered | undefined {
    const found = known.get(joinTraceKey(key));
    return found && { activity: found.activity, isRecent: monotonicMs() - found.foundMs < RECENT_MS };
  }

  return { of, inTable, asArrived, remembered };
}

import { setTimeout as sleep } from 'node:timers/promises';
import { startPostedJoins } from '../../../src/api/writes/posted-scores.ts';
import { startDuties } from '../../../src/ownership/duties.ts';
import { systemTimers } from '../../../src/domain/waits.ts';
import type { Store } from '../../../src/store/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

/** Starts what a scorer process does for posted scores, with short waits. Returns its stop. */
export function startJoins(store: Store): () => Promise<void> {
  const duties = startDuties(store.duties, { settleMs: 0, lookEveryMs: 200 });
  const timers = { ...systemTimers, sleep: () => sleep(20) };
  const part = startPostedJoins(store, { duties, log: silentLog, timers });
  return async () => {
    await part.stop();
    duties.stop();
  };
}

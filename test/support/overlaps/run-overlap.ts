import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../builders/score-streams.ts';
import { retryUntilAnswered } from '../durability/retry-until-answered.ts';
import { type BrokenPromises, countOpenWork, findBrokenPromises } from './check-record.ts';
import type { FleetRecord } from './fleet-record.ts';
import { carryOutFaults, describeFault, drawFaults } from './overlap-actions.ts';
import { OverlapFleet } from './overlap-fleet.ts';

const CALM_MS = 3_000;
/** Longest time without progress: more than a member without a beat, the following sweep, and some retries. */
const PROGRESS_WITHIN_MS = 90_000;
/** A deferred decision is waited for until its time and this. */
const RETRIED_WITHIN_MS = 45_000;
const SETTLED_WITHIN_MS = 900_000;
const POLL_MS = 1_000;
/** A late repetition would come in this time. */
const QUIET_MS = 4_000;

/** Result of one run. */
export interface OverlapResult {
  readonly faults: readonly string[];
  readonly broken: BrokenPromises;
  readonly figures: Readonly<Record<string, number>>;
  /** Ends of the outputs of all processes. */
  readonly outputs: string;
}

/** Starts a fleet, carries out two faults of the catalogue at overlapping times, heals the fleet and checks every promise. */
export async function runOverlap(seed: number, options: { calm?: boolean } = {}): Promise<OverlapResult> {
  const faults = options.calm === true ? [] : drawFaults(seededRandom(seed));
  const fleet = await OverlapFleet.create(seed);
  try {
    await fleet.start();
    fleet.traces.start();
    await sleep(CALM_MS);
    await carryOutFaults(fleet, faults);
    await fleet.heal();
    // Traces that come after the repair are decided like any others.
    await sleep(options.calm === true ? 4 * CALM_MS : CALM_MS);
    await fleet.traces.finish();
    const healedMs = performance.now();
    await waitUntilSettled(fleet).catch((error: unknown) => {
      throw new Error(`${faults.map(describeFault).join(' beside ')}\n${fleet.describe()}`, { cause: error });
    });
    const settledMs = performance.now();
    await sleep(QUIET_MS);
    const record = await fleet.record();
    const outputs = fleet.describe();
    const broken = findBrokenPromises({ ...record, leftBehind: await fleet.stop() });
    return {
      faults: faults.map(describeFault),
      broken,
      figures: {
        traces: record.acknowledged.size,
        calls: record.calls.length,
        exports: record.deliveries.length,
        settledAfterS: Math.round((settledMs - healedMs) / 1_000),
      },
      outputs,
    };
  } finally {
    await fleet.dispose();
  }
}

/** Waits until the fleet has nothing to do. Returns also when it makes no progress: the checks then name the reason. */
async function waitUntilSettled(fleet: OverlapFleet): Promise<void> {
  const startedMs = performance.now();
  let leastWork = Infinity;
  let limitMs = 0;
  for (;;) {
    const record = await retryUntilAnswered(() => fleet.record());
    const work = countOpenWork(record);
    const passedMs = performance.now() - startedMs;
    const waitMs = Math.max(
      work < leastWork ? PROGRESS_WITHIN_MS : 0,
      findLatestRetry(record) + RETRIED_WITHIN_MS,
    );
    leastWork = Math.min(leastWork, work);
    limitMs = Math.min(Math.max(limitMs, passedMs + waitMs), SETTLED_WITHIN_MS);
    if (work === 0 || passedMs > limitMs) {
      return;
    }
    await sleep(POLL_MS);
  }
}

/** Returns the time until the last retry is due, milliseconds; -Infinity without a retry in the future. */
function findLatestRetry({ decisions, storeNowMs }: FleetRecord): number {
  const waits = decisions
    .filter(({ status }) => status === 'deferred')
    .map(({ nextAttemptMs }) => (nextAttemptMs ?? 0) - storeNowMs);
  return Math.max(...waits.filter((ms) => ms > 0), -Infinity);
}

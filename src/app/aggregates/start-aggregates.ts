import type { Store } from '../../store/contracts/store.ts';
import { type DutyDeps, startRepeatedDuty } from '../repeat-duty.ts';
import type { StartedPart } from '../stop-parts.ts';
import { createDecisionAggregates } from './count-coverage.ts';
import { logRefusals, refreshAggregates } from './refresh-aggregates.ts';

/** Duty of the process that computes the aggregates. */
export const AGGREGATE_DUTY = 'aggregates';

/** Time between two looks, milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** Time between two passes over the decisions, milliseconds: only hours that have ended are summed. */
const DECISIONS_EVERY_MS = 60_000;

/**
 * Least time between two passes, as a multiple of the time of the last one. A pass computes the whole current hour, so its time grows
 * with the traffic of the hour: passes take at most 2.5 % of the time.
 */
const REST_FACTOR = 40;

/** Starts to keep the aggregates of scores and decisions up to date, in one of the scorer processes at a time. */
export function startAggregates(
  store: Pick<Store, 'aggregates' | 'decisionHours' | 'ruleVersions'>,
  deps: DutyDeps,
): StartedPart {
  const decisionHours = createDecisionAggregates(store);
  let restUntilMs = 0;
  let decisionsDueMs = 0;
  const onRefused = logRefusals(deps.log);
  const work = async (signal: AbortSignal) => {
    if (performance.now() < restUntilMs) {
      return;
    }
    const startedMs = performance.now();
    await refreshAggregates(store.aggregates, signal, onRefused);
    if (startedMs >= decisionsDueMs) {
      await refreshAggregates(decisionHours, signal, onRefused);
      decisionsDueMs = startedMs + DECISIONS_EVERY_MS;
    }
    const endedMs = performance.now();
    restUntilMs = endedMs + REST_FACTOR * (endedMs - startedMs);
  };
  const failing = 'aggregates wait: the pages show earlier numbers';
  return startRepeatedDuty({ duty: AGGREGATE_DUTY, everyMs: LOOK_EVERY_MS, failing, work }, deps);
}

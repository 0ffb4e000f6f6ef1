import type { AlertEvent } from '../../monitors/alert-event.ts';
import type { SpentCap } from '../../scoring/budget/budget-ask.ts';
import type { Timers } from '../../scoring/live/timers.ts';
import type { AlertStore } from '../../store/contracts/monitors.ts';
import type { Log } from '../../telemetry/log.ts';
import { repeatCheck, type RepeatedCheck } from '../repeat-check.ts';
import type { BudgetWatch } from './budget-watch.ts';
import { planBudgetAlerts } from './plan-budget-alerts.ts';

/** Interval of the checks of all caps, milliseconds. */
const CHECK_EVERY_MS = 10_000;

export interface BudgetAlertDeps {
  readonly alerts: Pick<AlertStore, 'open' | 'known' | 'write'>;
  readonly watch: Pick<BudgetWatch, 'read'>;
  /** Lists the caps that refuse further calls of this process. */
  readonly listSpent: (nowMs: number) => readonly SpentCap[];
  /**
   * Returns the epoch in which this process tells of budgets; undefined while another one does. Two processes for a moment write the
   * same ids. Throws what the store throws.
   */
  readonly readEpoch: () => Promise<number | undefined>;
  readonly log: Log;
  readonly timers?: Timers;
}

/**
 * Starts to check the caps of all budgets, and writes the beginnings and ends of their incidents. Each process that gets this duty reads the
 * stored incidents first, so it writes what a killed one did not write. Without budgets, it only ends the incidents of former budgets.
 * @param percents parts of a cap at which an incident begins
 */
export function startBudgetAlertLoop(percents: readonly number[], deps: BudgetAlertDeps): RepeatedCheck {
  const { readEpoch, log, timers } = deps;
  let pass: BudgetPass | undefined;

  async function check(): Promise<void> {
    const epoch = await readEpoch();
    if (pass?.epoch !== epoch) {
      pass = epoch === undefined ? undefined : await beginPass(epoch, deps);
    }
    const current = pass;
    // After a failure it is not known what was written, so the next check reads it.
    pass = undefined;
    await current?.check(percents);
    pass = current;
  }

  const stopping = new AbortController();
  const failing = 'alerts of budgets wait for the store';
  return repeatCheck(check, { everyMs: CHECK_EVERY_MS, failing, stopping, log, timers });
}

/** Checks of one epoch, in which no other process writes incidents of budgets. */
interface BudgetPass {
  readonly epoch: number;
  check(percents: readonly number[]): Promise<void>;
}

async function beginPass(epoch: number, deps: BudgetAlertDeps): Promise<BudgetPass> {
  const { alerts, watch, listSpent } = deps;
  const stored = (await alerts.open()).filter(({ budget }) => budget !== undefined);
  const open = new Map(stored.map((event) => [event.incidentId, event]));
  /** Ids of stored events. An incident begins and ends once, also when its cap is removed and comes back in the same period. */
  const written = new Set(stored.map(({ id }) => id));
  let isDone = false;

  async function listNew(events: readonly AlertEvent[]): Promise<AlertEvent[]> {
    const unknown = events.filter(({ id }) => !written.has(id));
    if (unknown.length === 0) {
      return [];
    }
    const known = await alerts.known(unknown.map(({ id }) => id));
    known.forEach((id) => written.add(id));
    return unknown.filter(({ id }) => !known.has(id));
  }

  return {
    epoch,
    async check(percents) {
      if (isDone) {
        return;
      }
      const moment = await watch.read();
      const spent = listSpent(moment.nowMs);
      const planned = planBudgetAlerts({ ...moment, spent, open: [...open.values()] }, percents);
      const events = await listNew(planned);
      if (events.length > 0) {
        await alerts.write(events);
      }
      for (const event of planned) {
        written.add(event.id);
        if (event.status === 'firing') {
          open.set(event.incidentId, event);
        } else {
          open.delete(event.incidentId);
        }
      }
      const mayBegin = moment.caps.length > 0 && percents.length > 0;
      isDone = !mayBegin && open.size === 0;
    },
  };
}

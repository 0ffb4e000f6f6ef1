import { reaches } from '../../domain/limits.ts';
import type { BudgetCap } from '../../domain/money/budget.ts';
import {
  BUDGET_ALERT,
  computeAlertEventId,
  computeBudgetIncidentId,
  type AlertEvent,
  type AlertBudget,
} from '../../monitors/alert-event.ts';
import { buildEndEvent } from '../../monitors/build-alert-event.ts';
import { computeBudgetRest, type SpentCap } from './budget-request.ts';
import { startRepeatedDuty, type DutyDeps, type StartedPart } from '../../process/parts.ts';
import type { AlertStore } from '../../store/monitors/alert-events.ts';
import type { BudgetMoment, CapState } from './budget-watch.ts';

/** Interval of the checks of all caps, milliseconds. */
const CHECK_EVERY_MS = 10_000;

interface BudgetAlertStore {
  readonly alerts: Pick<AlertStore, 'open' | 'known' | 'write'>;
  readonly readCaps: () => Promise<BudgetMoment>;
  /** Lists the caps that refuse further calls of this process. */
  readonly listSpent: (nowMs: number) => readonly SpentCap[];
}

/**
 * Starts to check the caps of all budgets, and writes the beginnings and ends of their incidents. They are planned from the stored
 * incidents, so a process writes what a killed one did not write, under the same ids. Without budgets, it only ends the incidents of former
 * budgets.
 * @param percents returns the parts of a cap at which an incident begins
 */
export function startBudgetAlerts(
  percents: () => readonly number[],
  { alerts, readCaps, listSpent }: BudgetAlertStore,
  deps: DutyDeps,
): StartedPart {
  const work = async () => {
    const open = (await alerts.open()).filter(({ budget }) => budget !== undefined);
    const moment = await readCaps();
    const spent = listSpent(moment.nowMs);
    const planned = planBudgetAlerts({ ...moment, spent, open }, percents());
    if (planned.length > 0) {
      // An incident begins and ends once, also when its cap is removed and comes back in the same period.
      const known = await alerts.known(planned.map(({ id }) => id));
      await alerts.write(planned.filter(({ id }) => !known.has(id)));
    }
  };
  const failing = 'alerts of budgets wait for the store';
  return startRepeatedDuty({ duty: 'budget alerts', everyMs: CHECK_EVERY_MS, failing, work }, deps);
}

/** Percentage of a cap whose rest pays for no further call. */
const ALL = 100;

/** Percentages from which an alert is a warning, and an error; below, it is information. */
const WARNING_FROM = 80;

interface BudgetAlertFacts extends BudgetMoment {
  /** Caps that refuse further calls of this process, which may be before the whole cap is spent. */
  readonly spent: readonly SpentCap[];
  readonly open: readonly AlertEvent[];
}

/**
 * Plans the events of budgets: for each cap the beginning at the highest percentage that is reached, and the ends of open incidents whose
 * period is over, or whose cap or percentage is not configured any more. The same facts give the same ids.
 */
function planBudgetAlerts(facts: BudgetAlertFacts, percents: readonly number[]): AlertEvent[] {
  const begins = facts.caps.flatMap((cap) => {
    const percent = findReached(cap, facts, percents);
    return percent === undefined ? [] : [buildBegin(cap, percent, facts.nowMs)];
  });
  return [...listEnds(facts, percents), ...begins];
}

/** Returns the highest percentage that is reached: lower ones need no message of their own. Undefined when a message of a higher one was sent. */
function findReached(
  cap: CapState,
  facts: BudgetAlertFacts,
  percents: readonly number[],
): number | undefined {
  const isOfPeriod = (other: BudgetCap & { renewsAtMs: number }) =>
    isSameCap(other, cap) && other.renewsAtMs === cap.renewsAtMs;
  const isSpent =
    computeBudgetRest([cap], 0, facts.nowMs).spent !== undefined ||
    facts.spent.some((each) => isOfPeriod({ ...each.cap, renewsAtMs: each.renewsAtMs }));
  const part = isSpent ? ALL : (cap.spentUsd / cap.capUsd) * ALL;
  const told = facts.open.flatMap(({ budget }) =>
    budget !== undefined && isOfPeriod(budget) ? [budget.percent] : [],
  );
  const reached = Math.max(...percents.filter((percent) => reaches(part, percent)));
  return reached > Math.max(0, ...told) ? reached : undefined;
}

function isSameCap(one: BudgetCap, other: BudgetCap): boolean {
  return (
    one.scope.kind === other.scope.kind &&
    one.scope.name === other.scope.name &&
    one.period === other.period &&
    one.capUsd === other.capUsd
  );
}

function listEnds({ open, caps, nowMs }: BudgetAlertFacts, percents: readonly number[]): AlertEvent[] {
  return open.flatMap((event) => {
    const { budget } = event;
    if (budget === undefined) {
      return [];
    }
    if (budget.renewsAtMs <= nowMs) {
      return [buildEndEvent(event, budget.renewsAtMs)];
    }
    const isConfigured = percents.includes(budget.percent) && caps.some((cap) => isSameCap(cap, budget));
    return isConfigured ? [] : [buildEndEvent(event, nowMs)];
  });
}

function buildBegin(
  { scope, period, capUsd, spentUsd, renewsAtMs }: CapState,
  percent: number,
  nowMs: number,
): AlertEvent {
  const budget: AlertBudget = { scope, period, capUsd, percent, spentUsd, renewsAtMs };
  const incidentId = computeBudgetIncidentId(budget);
  const tenant = scope.kind === 'tenant' ? scope.name : '';
  return {
    id: computeAlertEventId(incidentId, 'firing'),
    incidentId,
    status: 'firing',
    alert: BUDGET_ALERT,
    detector: 'budget',
    series: { tenant, scorer: '', fingerprint: '', agent: '', environment: '' },
    startsAtMs: nowMs,
    endsAtMs: null,
    changeBeganMs: nowMs,
    before: null,
    after: null,
    count: 0,
    lateScores: 0,
    evidenceLog10: null,
    labels: {
      severity: percent < WARNING_FROM ? 'info' : percent < ALL ? 'warning' : 'error',
      budget: `${scope.kind} ${scope.name}`.trimEnd(),
      budget_period: period,
      budget_percent: String(percent),
    },
    annotations: {},
    worstTraces: [],
    serviceVersion: '',
    agentVersion: '',
    budget,
  };
}

import type { Config } from '../config/index.ts';
import { loggedAlerts } from '../monitors/logged-alerts.ts';
import type { Duties } from '../../ownership/duties.ts';
import type { Budget } from '../../scoring/budget/budget.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StartedPart } from '../stop-parts.ts';
import { startBudgetAlertLoop } from './budget-alert-loop.ts';
import type { BudgetWatch } from './budget-watch.ts';

/** Duty of the process that writes the alerts about budgets. */
const BUDGET_DUTY = 'budget alerts';

/** Starts the alerts about budgets in a scorer process. Without budgets, it only ends open incidents of former budgets. */
export function startBudgetAlerts(
  { budgetPercents }: Pick<Config['alerts'], 'budgetPercents'>,
  options: {
    readonly store: Pick<Store, 'alerts'>;
    readonly watch: BudgetWatch;
    readonly budget: Pick<Budget, 'listSpent'>;
    readonly duties: Duties;
    readonly log: Log;
  },
): StartedPart {
  const { store, watch, budget, duties, log } = options;
  duties.join([BUDGET_DUTY]);
  const loop = startBudgetAlertLoop(budgetPercents, {
    alerts: loggedAlerts(store.alerts, log),
    watch,
    listSpent: (nowMs) => budget.listSpent(nowMs),
    readEpoch: () => duties.readEpoch(BUDGET_DUTY),
    log,
  });
  const stop = async () => {
    await loop.stop();
    await duties.leave(BUDGET_DUTY);
  };
  return { name: 'budget alerts', stage: 'work', stop };
}

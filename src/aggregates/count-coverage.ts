import { buildRuleHistory, type RuleHistory, type PreparedRule } from '../scoring/select/rule.ts';
import {
  type AggregateStore,
  asksRuns,
  type CoverageQuery,
  type CoverageReading,
  type FunnelQuery,
  type FunnelReading,
} from '../store/contracts/sums.ts';
import type { Store } from '../store/store.ts';

/** Times are Unix milliseconds, by the store's clock. */
export type CoverageRequest = Omit<CoverageQuery, 'pairs' | 'tenant'> & { readonly nowMs: number };

/**
 * Counts the decisions of a tenant, or of all, and what waits for one: undefined in a process that runs no rules, and of a service, an agent
 * or an environment, for a trace that waits has none yet. The range begins at the hour of `sinceMs`, where past hours are summed.
 * @param rules rules that this process runs; undefined: it runs none, so the stored versions of rules count, and nothing waits for it
 */
export async function countCoverage(
  stores: Store,
  { nowMs, ...query }: CoverageRequest & Pick<CoverageQuery, 'tenant'>,
  rules?: readonly PreparedRule[],
) {
  const history = buildRuleHistory(await stores.ruleVersions.list());
  const [decided, waiting] = await Promise.all([
    countByHistory(stores, query, { history, rules }),
    rules === undefined || asksRuns(query)
      ? undefined
      : stores.coverage.waiting({
          sinceMs: query.sinceMs,
          nowMs: query.untilMs ?? nowMs,
          tenant: query.tenant,
          pairs: history.coverage(rules),
        }),
  ]);
  return { decided: decided.rows, sinceMs: decided.sinceMs, waiting };
}

/** Counts the decisions on the runs that began in a range, and what waits for one. `countCoverage` counts the same rules. */
export async function countFunnel(
  { funnel, ruleVersions }: Store,
  query: Omit<FunnelQuery, 'pairs' | 'live'>,
  rules: readonly PreparedRule[] = [],
): Promise<FunnelReading> {
  const history = buildRuleHistory(await ruleVersions.list());
  const live = history.coverage(rules);
  return funnel.count({ ...query, live, pairs: [...live, ...history.formerCoverage(rules)] });
}

function countByHistory(
  { coverage }: Store,
  query: Omit<CoverageQuery, 'pairs'>,
  {
    history,
    rules = [],
  }: { readonly history: RuleHistory; readonly rules?: readonly PreparedRule[] | undefined },
): Promise<CoverageReading> {
  const pairs = [...history.coverage(rules), ...history.formerCoverage(rules)];
  return coverage.decided({ ...query, pairs });
}

/** Creates the computation of the numbers of decisions by the hour, with the stored versions of the rules. */
export function createDecisionAggregates({ decisionHours, ruleVersions }: Store): AggregateStore {
  return decisionHours(async () => buildRuleHistory(await ruleVersions.list()).formerCoverage([]));
}

import type { Item, Replies } from '../api-types.ts';
import { read } from '../client.ts';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { RangeChoice } from '../parts/range-choice.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
import { query } from '../router.ts';
import { budgetName } from '../view-models/budget-name.ts';
import { formatDuration, formatNumber, formatPercent, formatUsd, UNKNOWN } from '../view-models/format.ts';

type Judge = Item<'/judges'>;
type Hour = Judge['hours'][number];
type Budget = Replies['/judges']['budgets'][number];

const DEFAULT_RANGE = '24h';

/** The judge models: calls, cost, latency, failures, and the budgets. */
export function Judges() {
  const since = query.value.get('since') ?? DEFAULT_RANGE;
  const judges = useResource(`judges ${since}`, (signal) => read('/judges', { query: { since }, signal }));
  return (
    <Page title="Judges" lead="Models that answer the questions of judged scorers.">
      <p class="choices">
        <RangeChoice since={since} />
      </p>
      <Loaded of={judges} what="the judges">
        {({ items, budgets }) => (
          <>
            {items.length === 0 ? (
              <p>No judge is configured, and none was called in this time.</p>
            ) : (
              <Table caption="Judges" columns={JUDGE_COLUMNS} rows={items} keyOf={({ judge }) => judge} />
            )}
            {budgets.length === 0 ? (
              <p>No budget is configured: nothing limits what judges may cost.</p>
            ) : (
              <Table
                caption="Budgets"
                columns={BUDGET_COLUMNS}
                rows={budgets}
                keyOf={({ scope, rule, tenant, period }) => JSON.stringify([scope, rule, tenant, period])}
              />
            )}
            {items.map(({ judge, hours }) => (
              <Table
                key={judge}
                caption={`${judge}, hour by hour`}
                columns={HOUR_COLUMNS}
                rows={hours}
                keyOf={({ hour }) => hour ?? ''}
              />
            ))}
          </>
        )}
      </Loaded>
    </Page>
  );
}

type Counts = Pick<
  Judge,
  'calls' | 'failed' | 'inputTokens' | 'outputTokens' | 'costUsd' | 'latencyP50Ms' | 'latencyP95Ms'
>;

const COUNT_COLUMNS: readonly Column<Counts>[] = [
  { name: 'Calls', cell: ({ calls }) => formatNumber(calls), isNumber: true },
  {
    name: 'Failed',
    cell: ({ failed, calls }) =>
      calls === 0 ? '0' : `${formatNumber(failed)} (${formatPercent(failed, calls)})`,
    isNumber: true,
  },
  { name: 'Tokens in', cell: ({ inputTokens }) => formatNumber(inputTokens), isNumber: true },
  { name: 'Tokens out', cell: ({ outputTokens }) => formatNumber(outputTokens), isNumber: true },
  { name: 'Cost', cell: ({ costUsd }) => formatUsd(costUsd), isNumber: true },
  { name: 'Latency p50', cell: ({ latencyP50Ms }) => formatDuration(latencyP50Ms), isNumber: true },
  { name: 'Latency p95', cell: ({ latencyP95Ms }) => formatDuration(latencyP95Ms), isNumber: true },
];

const BREAKERS = {
  closed: '✓ calls go through',
  half_open: '◐ tries again',
  open: '✗ no calls: it failed',
} as const;

const JUDGE_COLUMNS: readonly Column<Judge>[] = [
  { name: 'Judge', cell: ({ judge }) => <Text of={judge} /> },
  ...COUNT_COLUMNS,
  {
    name: 'Answers without a call',
    cell: ({ cacheHits }) => (cacheHits === null ? UNKNOWN : formatNumber(cacheHits)),
    isNumber: true,
  },
  { name: 'State', cell: ({ breaker }) => (breaker === null ? UNKNOWN : BREAKERS[breaker]) },
  {
    name: 'Failures by reason',
    cell: ({ failures }) => (
      <Text
        of={
          Object.entries(failures)
            .map(([reason, count]) => `${reason}: ${formatNumber(count)}`)
            .join(', ') || 'none'
        }
      />
    ),
  },
  { name: 'Scorers', cell: ({ scorers }) => <Text of={scorers.join(', ')} /> },
];

const HOUR_COLUMNS: readonly Column<Hour>[] = [
  { name: 'Hour (UTC)', cell: ({ hour }) => <Time at={hour} /> },
  ...COUNT_COLUMNS,
];

const BUDGET_COLUMNS: readonly Column<Budget>[] = [
  {
    name: 'Budget',
    cell: (budget) => <Text of={budgetName(budget)} />,
  },
  {
    name: 'Spent',
    cell: ({ spentUsd, capUsd }) => `${formatUsd(spentUsd)} (${formatPercent(spentUsd, capUsd)})`,
    isNumber: true,
  },
  { name: 'Reserved', cell: ({ reservedUsd }) => formatUsd(reservedUsd), isNumber: true },
  { name: 'Left', cell: ({ leftUsd }) => formatUsd(leftUsd), isNumber: true },
  { name: 'Cap', cell: ({ capUsd }) => formatUsd(capUsd), isNumber: true },
  { name: 'Full again (UTC)', cell: ({ renewsAt }) => <Time at={renewsAt} /> },
];

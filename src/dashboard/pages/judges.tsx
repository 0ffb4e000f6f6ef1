import type { Item, Replies } from '../api-types.ts';
import { nowMs } from '../live.ts';
import { Choice } from '../parts/choice.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Figure } from '../parts/share.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useRead } from '../resource.ts';
import { adjustQuery, frame, query } from '../router.ts';
import { budgetName } from '../view-models/budget-name.ts';
import {
  buildCostChart,
  COST_FACETS,
  forecastBudget,
  priceLines,
  readCostRange,
  sumModels,
  type CostChart,
  type CostDay,
  type CostFacet,
  type ModelCost,
} from '../view-models/costs.ts';
import { formatDuration, formatNumber, formatPercent, formatUsd, UNKNOWN } from '../view-models/format.ts';

type Judge = Item<'/judges'>;
type Hour = Judge['hours'][number];
type Budget = Replies['/judges']['budgets'][number];

/** Money of agents and judges, budgets with a forecast, and how well the judges answer. */
export function Judges() {
  const judges = useRead('/judges', { query: frame.value });
  return (
    <Page title="Judges and cost">
      <CostByDay />
      <Models />
      <Loaded of={judges} what="the judges">
        {({ items, budgets, since: from }) => (
          <>
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
            {items.length === 0 ? (
              <p>No judge is configured, and none was called in this time.</p>
            ) : (
              <>
                <Table caption="Judges" columns={JUDGE_COLUMNS} rows={items} keyOf={({ judge }) => judge} />
                <p class="note">
                  Calls since <Time at={from} />. Budgets, breakers and the cache stand for all agents.
                </p>
              </>
            )}
            {items
              .filter(({ hours }) => hours.length > 0)
              .map(({ judge, hours }) => (
                <details key={judge}>
                  <summary>
                    <Text of={judge} />, hour by hour
                  </summary>
                  <Table
                    caption={`${judge}, hour by hour`}
                    isCaptionHidden
                    columns={HOUR_COLUMNS}
                    rows={hours}
                    keyOf={({ hour }) => hour ?? ''}
                  />
                </details>
              ))}
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Names of the facets of costs. */
const FACET_NAMES: Readonly<Record<CostFacet, string>> = {
  rule: 'judges, by rule',
  scorer: 'judges, by scorer',
  agent: 'agents, by agent',
  model: 'both, by model',
};

function CostByDay() {
  const by = COST_FACETS.find((facet) => facet === query.value.get('by')) ?? 'rule';
  const asked = { ...frame.value, by, bucket: '1d' };
  const costs = useRead('/costs', { query: asked });
  return (
    <Loaded of={costs} what="the costs">
      {({ items }) => (
        <CostFigure chart={buildCostChart(items, by, readCostRange(frame.value, nowMs.peek()))} by={by} />
      )}
    </Loaded>
  );
}

function CostFigure({ chart, by }: { readonly chart: CostChart; readonly by: CostFacet }) {
  const { keys, days, total } = chart;
  const columns: Column<CostDay>[] = [
    { name: 'Day', cell: ({ bucket }) => <Time at={bucket} /> },
    ...keys.map((key): Column<CostDay> => ({
      name: key || 'no name',
      cell: ({ parts }) => formatUsd(parts.find((part) => part.key === key)?.usd),
      isNumber: true,
    })),
    { name: 'All', cell: (day) => formatUsd(day.total), isNumber: true },
  ];
  return (
    <Figure
      title="Cost by day"
      conclusion={
        total === 0
          ? 'Nothing was spent in this time.'
          : `${formatUsd(total)} in ${formatNumber(days.length)} days.`
      }
      controls={
        <Choice
          label="Of"
          value={by}
          choices={COST_FACETS.map((facet) => [facet, FACET_NAMES[facet]] as const)}
          onChoice={(facet) => adjustQuery({ by: facet })}
        />
      }
      drawing={<CostBars chart={chart} />}
      table={<Table caption="Cost by day" columns={columns} rows={days} keyOf={({ bucket }) => bucket} />}
      csv={{
        file: `cost-by-${by}.csv`,
        columns: ['day', ...keys, 'all'],
        rows: days.map((day) => [day.bucket, ...day.parts.map(({ usd }) => usd), day.total]),
      }}
    />
  );
}

const WIDTH = 100;

const HEIGHT = 40;

/** Stacked bars, one a day; the numbers are in the table. */
function CostBars({ chart: { keys, days, top } }: { readonly chart: CostChart }) {
  const width = WIDTH / Math.max(days.length, 1);
  const y = (usd: number) => (top === 0 ? 0 : (usd / top) * HEIGHT);
  return (
    <>
      <svg class="cost-bars" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {days.map(({ bucket, parts }, index) =>
          parts.map(({ key, usd, from }, at) => (
            <rect
              key={`${bucket} ${key}`}
              fill={`var(--line-${at})`}
              x={index * width + width * 0.1}
              y={HEIGHT - y(from + usd)}
              width={width * 0.8}
              height={y(usd)}
            />
          )),
        )}
      </svg>
      <p class="histogram-axis" aria-hidden="true">
        <span>
          <Time at={days[0]?.bucket} isDay />
        </span>
        <span>highest day {formatUsd(top)}</span>
        <span>
          <Time at={days.at(-1)?.bucket} isDay />
        </span>
      </p>
      <ul class="legend">
        {keys.map((key, index) => (
          <li key={key}>
            <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
              <rect fill={`var(--line-${index})`} width="10" height="10" />
            </svg>{' '}
            <Text of={key || 'no name'} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** Money of each model, and the models without a price. */
function Models() {
  const asked = { ...frame.value, by: 'model', bucket: '1d' };
  const costs = useRead('/costs', { query: asked });
  return (
    <Loaded of={costs} what="the costs of models">
      {({ items }) => {
        const models = sumModels(items);
        return (
          <>
            {models.length > 0 && (
              <Table
                caption="Cost by model"
                columns={MODEL_COLUMNS}
                rows={models}
                keyOf={({ model }) => model}
              />
            )}
            <PriceLines models={models.filter(({ model, unpriced }) => model !== '' && unpriced > 0)} />
          </>
        );
      }}
    </Loaded>
  );
}

const MODEL_COLUMNS: readonly Column<ModelCost>[] = [
  { name: 'Model', cell: ({ model }) => <Text of={model || 'no name'} /> },
  { name: 'Runs', cell: ({ runs }) => formatNumber(runs), isNumber: true },
  { name: 'As an agent', cell: ({ agentUsd }) => formatUsd(agentUsd), isNumber: true },
  { name: 'As a judge', cell: ({ judgeUsd }) => formatUsd(judgeUsd), isNumber: true },
  { name: 'Runs without a cost', cell: ({ unpriced }) => formatNumber(unpriced), isNumber: true },
];

/** Models whose runs have no known cost, with the lines of the configuration that give them a price. */
function PriceLines({ models }: { readonly models: readonly ModelCost[] }) {
  return (
    <section class="card" aria-labelledby="missing-prices">
      <h2 id="missing-prices">Missing prices</h2>
      {models.length === 0 ? (
        <p>✓ Every model of this time has a price.</p>
      ) : (
        <p class="note">Write the US dollars per million tokens of your provider in place of the numbers.</p>
      )}
      {models.map(({ model, unpriced }) => (
        <div key={model} class="row">
          <span>
            <b>
              <Text of={model} />
            </b>{' '}
            {formatNumber(unpriced)} {unpriced === 1 ? 'run' : 'runs'} without a cost
          </span>
          <pre>
            <code>
              <Text of={priceLines(model)} />
            </code>
          </pre>
          <CopyButton text={priceLines(model)} what={`the price of ${model}`} />
        </div>
      ))}
    </section>
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
  { name: 'Answers without a call', cell: ({ cacheHits }) => formatNumber(cacheHits), isNumber: true },
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
  { name: 'Hour', cell: ({ hour }) => <Time at={hour} /> },
  ...COUNT_COLUMNS,
];

const BUDGET_COLUMNS: readonly Column<Budget>[] = [
  { name: 'Budget', cell: (budget) => <Text of={budgetName(budget)} /> },
  {
    name: 'Spent',
    cell: ({ spentUsd, capUsd }) => `${formatUsd(spentUsd)} (${formatPercent(spentUsd, capUsd)})`,
    isNumber: true,
  },
  { name: 'Reserved', cell: ({ reservedUsd }) => formatUsd(reservedUsd), isNumber: true },
  { name: 'Left', cell: ({ leftUsd }) => formatUsd(leftUsd), isNumber: true },
  { name: 'Cap', cell: ({ capUsd }) => formatUsd(capUsd), isNumber: true },
  {
    name: 'Forecast',
    cell: (budget) => {
      const { words, at } = forecastBudget(budget, nowMs.value);
      return (
        <>
          {words} {at !== undefined && <Time at={at} />}
        </>
      );
    },
  },
  { name: 'Full again', cell: ({ renewsAt }) => <Time at={renewsAt} /> },
];

import type { AgentDetail } from '../api-types.ts';
import { Facts } from '../parts/facts.tsx';
import { TopIssues } from '../parts/issues.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { QualityCell } from '../parts/quality.tsx';
import { RateByAgent } from '../parts/rate-by-agent.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Dotted, Text, TextLink, Time } from '../parts/text.tsx';
import { useRead } from '../resource.ts';
import { frame, framed, place } from '../router.ts';
import {
  formatDuration,
  formatNumber,
  formatPercent,
  formatScore,
  formatUsd,
} from '../view-models/format.ts';
import { comparePath, scorerPath } from '../view-models/paths/row-paths.ts';
import { formatInterval } from '../view-models/rates.ts';
import { newestFirst } from '../view-models/versions.ts';
import { visibleText } from '../view-models/visible-text.ts';

/** Versions of an agent that are columns: the newest ones. */
const VERSIONS = 5;

/** One agent: its qualities by version, tools, models, and the users who are hit most. */
export function Agent() {
  const agent = place.value?.params['agent'] ?? '';
  const { agent: _, ...filters } = frame.value;
  const detail = useRead('/agents/{agent}', { params: { agent }, query: filters });
  return (
    <Page title={visibleText(agent)}>
      <p class="row">
        {(
          [
            ['Traces', '/traces', {}],
            ['Sessions', '/sessions', {}],
            ['Issues', '/issues', {}],
            ['Worst answers', '/traces', { order: 'worst' }],
            ['Alerts', '/alerts', {}],
            ['Rules', '/rules', {}],
          ] as const
        ).map(([name, path, more]) => (
          <a key={name} class="button" href={framed(path, { agent, ...more })}>
            {name}
          </a>
        ))}
      </p>
      <Loaded of={detail} what="the agent">
        {(data) => <Detail agent={data} />}
      </Loaded>
    </Page>
  );
}

function Detail({ agent }: { readonly agent: AgentDetail }) {
  const { runs, toolErrors, costUsd, unpricedModels, p95Ms, qualities } = agent;
  const worst = qualities
    .filter(({ isDeclared }) => isDeclared)
    .toSorted((a, b) => (a.change ?? 0) - (b.change ?? 0))[0];
  return (
    <>
      <Facts
        facts={[
          ['Runs', formatNumber(runs)],
          ['Runs with a tool error', formatInterval(toolErrors)],
          ['Cost', `${formatUsd(costUsd)}${unpricedModels.length > 0 ? ' + ?' : ''}`],
          ['Cost a run', runs === 0 || costUsd === null ? '–' : formatUsd(costUsd / runs)],
          ['Time, p95', formatDuration(p95Ms)],
        ]}
      />
      <div class="split">
        <section class="card" aria-label="Qualities">
          <Versions agent={agent} />
        </section>
        <section class="card" aria-labelledby="users">
          <h2 id="users">Users hit most</h2>
          <Users agent={agent} />
        </section>
      </div>
      <Measures agent={agent} />
      <TopIssues agent={agent.agent} />
      {worst !== undefined && <RateByAgent scorer={worst.scorer} subject={agent.agent} />}
      <div class="split">
        <section class="card" aria-label="Tools">
          <Table
            caption="Tools"
            columns={TOOL_COLUMNS(agent.agent)}
            rows={agent.tools}
            keyOf={({ name }) => name}
          />
        </section>
        <section class="card" aria-label="Models">
          <Table caption="Models" columns={MODEL_COLUMNS} rows={agent.models} keyOf={({ model }) => model} />
        </section>
      </div>
    </>
  );
}

type Quality = AgentDetail['qualities'][number];

function Versions({ agent: { agent, versions, qualities } }: { readonly agent: AgentDetail }) {
  const newest = newestFirst(versions).slice(0, VERSIONS);
  const columns: Column<Quality>[] = [
    {
      name: 'Quality',
      cell: ({ scorer }) => <TextLink to={framed(scorerPath(scorer), { agent })} of={scorer} isRow />,
    },
    { name: 'All versions', cell: (quality) => <QualityCell quality={quality} /> },
    ...newest.map(({ version, runs, qualities: rates }) => ({
      name: `${version === '' ? 'no version' : version} (n = ${formatNumber(runs)})`,
      cell: ({ scorer }: Quality) =>
        formatInterval(rates.find((each) => each.scorer === scorer)?.pass ?? null),
      isNumber: true,
    })),
  ];
  const [right, left] = newest;
  return (
    <>
      <Table
        caption="Qualities by version"
        columns={columns}
        rows={qualities.filter(({ isDeclared }) => isDeclared)}
        keyOf={({ scorer }) => scorer}
        kind="agents"
      />
      <p class="small quiet">
        <Dotted>
          {newest.map(({ version, firstSeen }) => (
            <span key={version}>
              <Text of={version || 'no version'} /> since <Time at={firstSeen} isDay />
            </span>
          ))}
          {left !== undefined && right !== undefined && (
            <a href={framed(comparePath(agent, { left: left.version, right: right.version }))}>
              Compare <Text of={left.version} /> with <Text of={right.version} />
            </a>
          )}
        </Dotted>
      </p>
    </>
  );
}

/** Measures that do not say what passes: their medians. */
function Measures({ agent: { agent, qualities } }: { readonly agent: AgentDetail }) {
  const measures = qualities.filter(({ isDeclared }) => !isDeclared);
  return measures.length === 0 ? null : (
    <details class="card">
      <summary>Other measures ({measures.length})</summary>
      <Table
        caption="Other measures"
        isCaptionHidden
        columns={MEASURE_COLUMNS(agent)}
        rows={measures}
        keyOf={({ scorer }) => scorer}
      />
    </details>
  );
}

const MEASURE_COLUMNS = (agent: string): Column<Quality>[] => [
  {
    name: 'Measure',
    cell: ({ scorer }) => <TextLink to={framed(scorerPath(scorer), { agent })} of={scorer} isRow />,
  },
  { name: 'Median', cell: ({ median }) => formatScore(median), isNumber: true },
  { name: 'Before', cell: ({ medianBefore }) => formatScore(medianBefore), isNumber: true },
];

type Tool = AgentDetail['tools'][number];

const TOOL_COLUMNS = (agent: string): Column<Tool>[] => [
  {
    name: 'Tool',
    cell: ({ name }) => <TextLink to={framed('/traces', { agent, tool: name })} of={name} isRow />,
  },
  { name: 'Calls', cell: ({ calls }) => formatNumber(calls), isNumber: true },
  {
    name: 'Errors',
    cell: ({ calls, errors }) => (
      <span class={errors > 0 ? 'bad' : undefined}>
        {formatNumber(errors)} ({formatPercent(errors, calls)})
      </span>
    ),
    isNumber: true,
  },
  { name: 'p95', cell: ({ p95Ms }) => formatDuration(p95Ms), isNumber: true },
];

const MODEL_COLUMNS: readonly Column<AgentDetail['models'][number]>[] = [
  { name: 'Model', cell: ({ model }) => <Text of={model} /> },
  { name: 'Runs', cell: ({ runs }) => formatNumber(runs), isNumber: true },
  { name: 'Cost', cell: ({ costUsd }) => formatUsd(costUsd), isNumber: true },
  {
    name: 'Cost a run',
    cell: ({ runs, costUsd }) => (costUsd === null || runs === 0 ? '–' : formatUsd(costUsd / runs)),
    isNumber: true,
  },
];

/** Users of the list. */
const USERS = 10;

function Users({ agent: { agent, users } }: { readonly agent: AgentDetail }) {
  return users.length === 0 ? (
    <p>No run names its user.</p>
  ) : (
    <ul class="plain" aria-label="Users hit most">
      {users.slice(0, USERS).map(({ userId, runs, failing }) => (
        <li key={userId} class="row between">
          <TextLink to={framed('/traces', { agent, userId })} of={userId} isRow />
          <span>
            <span class={failing > 0 ? 'bad' : undefined}>{formatNumber(failing)} failing</span> of{' '}
            {formatNumber(runs)}
          </span>
        </li>
      ))}
    </ul>
  );
}

import type { AgentItem, AgentQuality } from '../api-types.ts';
import { framed, query } from '../router.ts';
import { buildSparkline, SPARK_HEIGHT, SPARK_WIDTH } from '../view-models/charts/sparkline.ts';
import {
  formatDuration,
  formatNumber,
  formatPercent,
  formatScore,
  formatUsd,
} from '../view-models/format.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { newestFirst } from '../view-models/versions.ts';
import { describeMedians, describePoints, formatChecked, formatInterval } from '../view-models/rates.ts';
import { useEstimates, type Estimate } from './checked.tsx';
import { Columns } from './columns.tsx';
import { Table, type Column } from './table.tsx';
import { Dotted, Text, Time } from './text.tsx';

interface SparkProps {
  readonly points: readonly (number | null)[];
  /** Greatest value of the drawing; the least one is 0. */
  readonly top?: number;
}

/** Small line of shares over time. The numbers beside it say the same. */
export function Spark({ points, top = 1 }: SparkProps) {
  const line = points.map((mean) => ({ n: 1, mean }));
  return (
    <svg
      class="spark"
      aria-hidden="true"
      viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`}
      width={SPARK_WIDTH}
      height={SPARK_HEIGHT}
    >
      <path d={buildSparkline(line, { scoreMin: 0, scoreMax: top })} />
    </svg>
  );
}

/** Pass rate of a quality with its change, tinted when chance does not explain it. */
export function QualityCell({
  quality,
  checked,
}: {
  readonly quality: AgentQuality | undefined;
  /** Pass rate of the last 30 days that labels correct. */
  readonly checked?: Estimate | undefined;
}) {
  if (quality === undefined) {
    return <span class="cell none">no rule</span>;
  }
  if (quality.pass === null) {
    return <span class="cell none">no score</span>;
  }
  const { tone, text, words } = describePoints(quality);
  const colour = tone === 'better' ? 'good' : tone === 'none' ? 'quiet' : 'bad';
  return (
    <span
      class={`cell ${tone}`}
      title={`${formatInterval(quality.pass)}, n ${formatNumber(quality.pass.n)}; ${words}`}
    >
      <b>{formatPercent(quality.pass.value)}</b> <span class={`points ${colour}`}>{text}</span>
      <span class="unseen">, {words}</span>
      <Spark points={quality.points} />
      {checked !== undefined && checked.estimate !== null && (
        <small class="quiet">people: {formatChecked(checked)}</small>
      )}
    </span>
  );
}

/** Lists the scorers of agents that say what passes: a column each, the one with the most agents first. */
export function listQualities(agents: readonly AgentItem[]): string[] {
  const counts = new Map<string, number>();
  const all = agents.flatMap(({ qualities }) => qualities);
  const declared = all.filter(({ isDeclared }) => isDeclared);
  for (const { scorer } of declared.length === 0 ? all : declared) {
    counts.set(scorer, (counts.get(scorer) ?? 0) + 1);
  }
  return [...counts].toSorted(([a, x], [b, y]) => y - x || a.localeCompare(b)).map(([scorer]) => scorer);
}

/** Lists the other scorers of agents: measures without a line from which they pass. */
function listMeasures(agents: readonly AgentItem[], qualities: readonly string[]): string[] {
  const all = agents.flatMap((agent) => agent.qualities.map(({ scorer }) => scorer));
  return [...new Set(all)].filter((scorer) => !qualities.includes(scorer)).toSorted();
}

/** Median of a measure with its change. Only its own past says what is usual. */
function MeasureCell({ quality }: { readonly quality: AgentQuality | undefined }) {
  return quality === undefined || quality.median === null ? (
    <span class="cell none">{quality === undefined ? 'no rule' : 'no score'}</span>
  ) : (
    <span class="cell">
      <b>{formatScore(quality.median)}</b> <span class="quiet">{describeMedians(quality)}</span>
    </span>
  );
}

/** Scorers whose labels are read for the table. */
const MOST_CHECKED = 4;

interface AgentsTableProps {
  readonly caption: string;
  readonly agents: readonly AgentItem[];
}

/** Agents as rows, qualities as columns. */
export function AgentsTable({ caption, agents }: AgentsTableProps) {
  const scorers = listQualities(agents);
  const measures = listMeasures(agents, scorers);
  const estimates = useEstimates(scorers.slice(0, MOST_CHECKED), 'agent');
  const unchecked = scorers.filter((scorer) =>
    estimates.every((each) => each.scorer !== scorer || each.estimate === null),
  );
  const columns: Column<AgentItem>[] = [
    { name: 'Agent', cell: (agent) => <AgentName agent={agent} /> },
    ...scorers.map((scorer) => ({
      name: scorer,
      cell: ({ agent, qualities }: AgentItem) => (
        <QualityCell
          quality={qualities.find((each) => each.scorer === scorer)}
          checked={estimates.find((each) => each.scorer === scorer && each.series === agent)}
        />
      ),
    })),
    ...measures
      .filter((scorer) => query.value.getAll('show').includes(scorer))
      .map((scorer) => ({
        name: scorer,
        cell: ({ qualities }: AgentItem) => (
          <MeasureCell quality={qualities.find((each) => each.scorer === scorer)} />
        ),
      })),
    { name: 'Tool errors', cell: ({ toolErrors }) => formatPercent(toolErrors?.value), isNumber: true },
    { name: 'Cost · p95', cell: (agent) => <AgentCost agent={agent} /> },
  ];
  return (
    <>
      <Table
        caption={caption}
        columns={columns}
        rows={agents}
        keyOf={({ agent, service }) => `${agent} ${service}`}
        isCaptionHidden
        kind="agents"
      />
      {measures.length > 0 && <Columns parameter="show" names={measures} />}
      {unchecked.length > 0 && (
        <p class="note small">
          Not checked by people: <Text of={unchecked.join(', ')} />.{' '}
          <a href={framed('/review', { scorer: unchecked[0] })}>Label some answers</a>
        </p>
      )}
    </>
  );
}

function AgentName({ agent: { agent, service, runs, versions } }: { readonly agent: AgentItem }) {
  const [newest] = newestFirst(versions);
  const name = agent === '' ? service : agent;
  return (
    <>
      <a href={framed(fillPath('/agents/:agent', { agent: name }))} data-row-link class="agent-name">
        <Text of={name} />
      </a>
      <small class="quiet below">
        <Dotted>
          <>{formatNumber(runs)} runs</>
          {newest !== undefined && newest.version !== '' && (
            <>
              <Text of={newest.version} /> since <Time at={newest.firstSeen} isDay />
            </>
          )}
        </Dotted>
      </small>
    </>
  );
}

function AgentCost({ agent: { costUsd, unpricedModels, p95Ms } }: { readonly agent: AgentItem }) {
  const isUnpriced = unpricedModels.length > 0;
  return (
    <>
      {(!isUnpriced || (costUsd ?? 0) > 0) && formatUsd(costUsd)}
      {isUnpriced && (
        <>
          {' '}
          + ? <a href={framed('/judges')}>add price</a>
        </>
      )}
      <small class="quiet below">{formatDuration(p95Ms)} p95</small>
    </>
  );
}

import type { Funnel as FunnelReply } from '../api-types.ts';
import { Choice } from '../parts/choice.tsx';
import { Figure } from '../parts/share.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, TextLink, Time } from '../parts/text.tsx';
import { TimeChart } from '../parts/time-chart.tsx';
import type { TimePoint } from '../view-models/charts/time-axis.ts';
import { useRead } from '../resource.ts';
import { adjustQuery, frame, framed, query } from '../router.ts';
import {
  buildBar,
  COVERAGE_GROUPS,
  describeEstimate,
  nameLine,
  OUTCOMES,
  withShare,
  type CoverageGroup,
  type CoverageLine,
} from '../view-models/coverage-rows.ts';
import { formatNumber, formatPercent } from '../view-models/format.ts';
import {
  buildFunnel,
  describeFunnel,
  listTrend,
  nameReason,
  type FunnelStep,
} from '../view-models/funnel.ts';

/** Page of the coverage: the scored share of the traffic, and for the rest the reason, its traces and what mends it. */
export function Coverage() {
  const asked = frame.value;
  const funnel = useRead('/coverage/funnel', { query: asked });
  return (
    <Page title="Coverage">
      <Loaded
        of={funnel}
        what="the coverage"
        isEmpty={({ runs, arrived }) => runs + arrived === 0}
        empty={
          <p>
            Nothing was decided in this time. Choose a longer range, or{' '}
            <a href="/welcome">connect an agent</a>.
          </p>
        }
      >
        {(data) => (
          <>
            <Funnel funnel={data} />
            <Parts funnel={data} />
          </>
        )}
      </Loaded>
      <Lines />
    </Page>
  );
}

function Funnel({ funnel }: { readonly funnel: FunnelReply }) {
  return (
    <section class="card" aria-labelledby="funnel">
      <h2 id="funnel" class="unseen">
        Funnel
      </h2>
      <p>
        <strong>
          <Text of={describeFunnel(funnel)} />
        </strong>
      </p>
      <ol class="plain funnel" aria-labelledby="funnel">
        {buildFunnel(funnel).map((step) => (
          <Step key={step.name} step={step} />
        ))}
      </ol>
      <p class="note">
        Counts of (run, rule, scorer) by the start of the run: each scorer of a rule counts once for each run.
        Live decisions only.
      </p>
    </section>
  );
}

const TREND_HEIGHT = 120;

/** Scored share over time, and of each agent. */
function Parts({ funnel }: { readonly funnel: FunnelReply }) {
  const points = listTrend(funnel);
  const last = points.findLast(({ value }) => value !== null)?.value ?? null;
  return (
    <div class="split">
      <Figure
        title="Scored of eligible over time"
        drawing={
          <TimeChart
            label={last === null ? 'nothing was eligible' : `the last share is ${formatPercent(last)}`}
            lines={[{ name: 'scored', points, isSubject: true }]}
            from={Date.parse(funnel.since)}
            to={Date.parse(funnel.until)}
            height={TREND_HEIGHT}
            format={(value) => formatPercent(value)}
            bottom={0}
            top={1}
          />
        }
        table={
          <Table
            caption={`Scored in buckets of ${funnel.bucket}`}
            columns={TREND_COLUMNS}
            rows={points}
            keyOf={({ at }) => String(at)}
          />
        }
        csv={{
          file: 'scored-of-eligible.csv',
          columns: ['bucket', 'eligible', 'scored'],
          rows: points.map(({ at, n = 0, value }) => [
            new Date(at).toISOString(),
            n,
            Math.round(n * (value ?? 0)),
          ]),
        }}
      />
      <Table
        caption="Coverage by agent"
        columns={AGENT_COLUMNS}
        rows={funnel.agents}
        keyOf={({ agent }) => agent}
      />
    </div>
  );
}

const TREND_COLUMNS: readonly Column<TimePoint>[] = [
  { name: 'Bucket', cell: ({ at }) => <Time at={new Date(at).toISOString()} /> },
  { name: 'Eligible', cell: ({ n = 0 }) => formatNumber(n), isNumber: true },
  { name: 'Scored', cell: ({ n = 0, value }) => formatPercent(n * (value ?? 0), n), isNumber: true },
];

const AGENT_COLUMNS: readonly Column<FunnelReply['agents'][number]>[] = [
  {
    name: 'Agent',
    cell: ({ agent }) =>
      agent === '' ? 'not known' : <TextLink to={framed('/coverage', { agent })} of={agent} />,
  },
  { name: 'Eligible', cell: ({ eligible }) => formatNumber(eligible), isNumber: true },
  { name: 'Scored', cell: ({ scored, eligible }) => formatPercent(scored, eligible), isNumber: true },
];

function Step({ step: { name, count, share, note, losses } }: { readonly step: FunnelStep }) {
  const id = `step-${name}`;
  return (
    <li aria-labelledby={id}>
      <div class="funnel-step">
        <span id={id} class="funnel-name">
          {name} <b>{formatNumber(count)}</b>
        </span>
        <svg class="funnel-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
          <rect fill="var(--line-0)" width={100 * share} height="10" />
        </svg>
        <span class="note">{note}</span>
      </div>
      {losses.map(({ reason, count: lost, runs, traces, mend }) => (
        <div key={reason} class="funnel-loss">
          <a href={traces}>
            <Text of={nameReason(reason)} /> {formatNumber(lost)}
            <span class="unseen"> on {formatNumber(runs)} runs</span>
          </a>
          <span class="note">{formatNumber(runs)} runs</span>
          <span>
            {mend !== null && (
              <>
                Mend: <Mend of={mend} />
              </>
            )}
          </span>
        </div>
      ))}
    </li>
  );
}

/** Shows the remedy of a loss: the key of the configuration, or a sentence. */
function Mend({ of }: { readonly of: string }) {
  return /\s/u.test(of) ? (
    <Text of={of} />
  ) : (
    <code>
      <Text of={of} />
    </code>
  );
}

/** Outcomes by scorer, rule, service or reason. */
function Lines() {
  const by = COVERAGE_GROUPS.find((group) => group === query.value.get('by')) ?? 'scorer';
  const coverage = useRead('/coverage', { query: { ...frame.value, by } });
  return (
    <>
      <p class="choices">
        <Choice
          label="Lines by"
          value={by}
          choices={COVERAGE_GROUPS}
          onChoice={(group) => adjustQuery({ by: group })}
        />
      </p>
      <Loaded of={coverage} what="the outcomes" empty={<p>No decisions in this time.</p>}>
        {({ items }) => <CoverageTable items={items} by={by} />}
      </Loaded>
    </>
  );
}

function CoverageTable({
  items,
  by,
}: {
  readonly items: readonly CoverageLine[];
  readonly by: CoverageGroup;
}) {
  return (
    <>
      <Table
        caption={`Coverage by ${by}`}
        columns={listColumns(by)}
        rows={items}
        keyOf={(line) => nameLine(line, by)}
      />
      <p class="legend" aria-hidden="true">
        {OUTCOMES.map(({ name, color }) => (
          <span key={name}>
            <svg class="swatch" viewBox="0 0 10 10">
              <rect fill={color} width="10" height="10" />
            </svg>{' '}
            {name}{' '}
          </span>
        ))}
      </p>
      <p class="note">
        Targets whose last span arrived since <Time at={items[0]?.since} />. Eligible: the conditions of a
        rule select them. Estimate: the same for all traffic, from the weights of the sample.
      </p>
    </>
  );
}

function listColumns(by: CoverageGroup): Column<CoverageLine>[] {
  const count = (name: string, key: 'sampled' | (typeof OUTCOMES)[number]['key']): Column<CoverageLine> => ({
    name,
    cell: (line) => withShare(line[key], line),
    isNumber: true,
  });
  return [
    { name: by === 'reason' ? 'Reason' : `By ${by}`, cell: (line) => <Text of={nameLine(line, by)} /> },
    { name: 'Shares', cell: (line) => <Bar line={line} /> },
    { name: 'Eligible', cell: ({ eligible }) => formatNumber(eligible), isNumber: true },
    count('Sampled', 'sampled'),
    ...OUTCOMES.map(({ key, name }) => count(name, key)),
    { name: 'Filtered', cell: ({ filtered }) => formatNumber(filtered), isNumber: true },
    ...(by === 'scorer' || by === 'rule'
      ? [{ name: 'Waiting', cell: ({ waiting }: CoverageLine) => formatNumber(waiting), isNumber: true }]
      : []),
    { name: 'Scored of eligible, estimate', cell: describeEstimate, isNumber: true },
  ];
}

function Bar({ line }: { readonly line: CoverageLine }) {
  return (
    <svg class="coverage-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      {buildBar(line).map(({ outcome: { key, color }, from, share }) => (
        <rect key={key} fill={color} x={100 * from} width={100 * share} height="10" />
      ))}
    </svg>
  );
}

import { read } from '../client.ts';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { RangeChoice } from '../parts/range-choice.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
import { adjustQuery, query } from '../router.ts';
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
import { formatNumber } from '../view-models/format.ts';

const DEFAULT_RANGE = '24h';

/** Page of the coverage: the scored share of the traffic, and the reasons for the rest. */
export function Coverage() {
  const since = query.value.get('since') ?? DEFAULT_RANGE;
  const by = COVERAGE_GROUPS.find((group) => group === query.value.get('by')) ?? 'scorer';
  const coverage = useResource(`coverage ${since} ${by}`, (signal) =>
    read('/coverage', { query: { since, by }, signal }),
  );
  return (
    <Page
      title="Coverage"
      lead="What the rules decided. Each scorer of a rule counts once for each target. Live decisions only."
    >
      <p class="choices">
        <RangeChoice since={since} />{' '}
        <label>
          Lines by{' '}
          <select value={by} onChange={({ currentTarget }) => adjustQuery({ by: currentTarget.value })}>
            {COVERAGE_GROUPS.map((group) => (
              <option key={group} value={group} selected={group === by}>
                {group}
              </option>
            ))}
          </select>
        </label>
      </p>
      <Loaded
        of={coverage}
        what="the coverage"
        isEmpty={({ items }) => items.length === 0}
        empty={
          <p>
            Nothing was decided in this time. Choose a longer range, or{' '}
            <a href="/welcome">connect an agent</a>.
          </p>
        }
      >
        {({ items }) => <CoverageTable items={items} by={by} />}
      </Loaded>
    </Page>
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
        {OUTCOMES.map(({ key, name }) => (
          <span key={key}>
            <svg class="swatch" viewBox="0 0 10 10">
              <rect class={`part ${key}`} width="10" height="10" />
            </svg>{' '}
            {name}{' '}
          </span>
        ))}
      </p>
      <p class="note">
        Eligible: targets that the conditions of a rule select. Estimate: the same for all traffic, from the
        weights of the sample.
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
      ? [
          {
            name: 'Waiting',
            cell: ({ waiting }: CoverageLine) => (waiting === undefined ? '–' : formatNumber(waiting)),
            isNumber: true,
          },
        ]
      : []),
    { name: 'Scored of eligible, estimate', cell: describeEstimate, isNumber: true },
  ];
}

function Bar({ line }: { readonly line: CoverageLine }) {
  return (
    <svg class="coverage-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      {buildBar(line).map(({ key, from, share }) => (
        <rect key={key} class={`part ${key}`} x={100 * from} width={100 * share} height="10" />
      ))}
    </svg>
  );
}

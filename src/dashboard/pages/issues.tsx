import type { Issue } from '../api-types.ts';
import { Choice } from '../parts/choice.tsx';
import { IssueLink, IssuePoints, IssueState } from '../parts/issues.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useRead } from '../resource.ts';
import { adjustQuery, frame, framed, query } from '../router.ts';
import { formatNumber } from '../view-models/format.ts';
import {
  describeProof,
  formatShare,
  isOfState,
  issueFilters,
  KIND_CHOICES,
  nameKind,
  STATE_CHOICES,
} from '../view-models/issues.ts';

/** Versions of an issue that the list names. */
const VERSIONS = 3;

/** Kinds of failures that runs share: how often, since when, and in which state. */
export function Issues() {
  const filters = issueFilters(frame.value);
  const state = query.value.get('state') ?? '';
  const kind = query.value.get('kind') ?? '';
  const issues = useRead('/issues', { query: filters });
  const choose = (items: readonly Issue[]): readonly Issue[] =>
    items.filter((issue) => isOfState(issue, state) && (kind === '' || issue.kind === kind));
  return (
    <Page title="Issues">
      <p class="choices">
        <Choice
          label="State"
          value={state}
          choices={STATE_CHOICES}
          onChoice={(value) => adjustQuery({ state: value })}
        />
        <Choice
          label="Kind"
          value={kind}
          choices={[['', 'all'], ...KIND_CHOICES]}
          onChoice={(value) => adjustQuery({ kind: value })}
        />
      </p>
      <Loaded
        of={issues}
        what="the issues"
        isEmpty={({ items }) => choose(items).length === 0}
        empty={
          <p>
            There are no issues of this choice: choose a longer range or another state. The worst answers are
            in <a href={framed('/traces', { order: 'worst' })}>Traces</a>, and what got worse is in{' '}
            <a href={framed('/alerts')}>Alerts</a>.
          </p>
        }
      >
        {({ items }) => (
          <>
            <Table
              caption="Issues"
              isCaptionHidden
              kind="issues"
              columns={COLUMNS}
              rows={choose(items)}
              keyOf={({ tenant, id }) => `${tenant} ${id}`}
            />
            <p class="note">
              An issue is one failure that many runs share. Its share counts all runs of its agent in the
              chosen range and environment, also those that the sample left out, with the 95 % interval.
            </p>
          </>
        )}
      </Loaded>
    </Page>
  );
}

const COLUMNS: readonly Column<Issue>[] = [
  {
    name: 'Issue',
    cell: (issue) => (
      <>
        <IssueLink issue={issue} />
        <small class="below">
          {nameKind(issue.kind)} · <Text of={issue.agent} />
        </small>
      </>
    ),
  },
  { name: 'Share', cell: ({ share }) => formatShare(share), isNumber: true },
  {
    name: 'State',
    cell: (issue) => (
      <>
        <IssueState state={issue.state} />
        {describeProof(issue) !== undefined && (
          <small class="below">
            <Text of={describeProof(issue) ?? ''} />
          </small>
        )}
      </>
    ),
  },
  { name: 'Over time', cell: ({ points }) => <IssuePoints points={points} /> },
  { name: 'Runs', cell: ({ runs }) => formatNumber(runs), isNumber: true },
  { name: 'Users', cell: ({ users }) => formatNumber(users), isNumber: true },
  {
    name: 'Versions',
    cell: ({ versions }) => (
      <Text
        of={
          versions
            .slice(0, VERSIONS)
            .map(({ version }) => version || 'no version')
            .join(', ') + (versions.length > VERSIONS ? ' …' : '')
        }
      />
    ),
  },
  { name: 'First seen', cell: ({ firstSeen }) => <Time at={firstSeen} isDay /> },
  { name: 'Last seen', cell: ({ lastSeen }) => <Time at={lastSeen} /> },
];

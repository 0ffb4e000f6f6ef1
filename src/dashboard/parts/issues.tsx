import type { Issue, IssueName } from '../api-types.ts';
import { useRead } from '../resource.ts';
import { frame, framed } from '../router.ts';
import { formatShare, isOfState, issueFilters, nameKind, readState } from '../view-models/issues.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { Spark } from './quality.tsx';
import { Text, Time } from './text.tsx';

/** Link to the page of an issue; names between backticks are code. */
export function IssueLink({ issue: { id, title, kind } }: { readonly issue: IssueName }) {
  return (
    <a href={framed(fillPath('/issues/:issueId', { issueId: id }))} data-row-link>
      {(title === '' ? nameKind(kind) : title).split('`').map((part, index) =>
        index % 2 === 0 ? (
          <Text key={index} of={part} />
        ) : (
          <code key={index}>
            <Text of={part} />
          </code>
        ),
      )}
    </a>
  );
}

/** State of an issue with its sign. */
export function IssueState({ state }: Pick<Issue, 'state'>) {
  const { sign, tone } = readState(state);
  return (
    <span class={`issue-state ${tone}`}>
      <span aria-hidden="true">{sign}</span> {state}
    </span>
  );
}

/** Share of an issue over the range. */
export function IssuePoints({ points }: Pick<Issue, 'points'>) {
  return <Spark points={points} top={Math.max(...points.map((point) => point ?? 0), Number.EPSILON)} />;
}

/** Open issues that are shown. */
const SHOWN = 3;

/** Greatest open issues of the range, where there are some. */
export function TopIssues({ agent }: { readonly agent?: string }) {
  const filters = { ...issueFilters(frame.value), ...(agent === undefined ? {} : { agent }) };
  const issues = useRead('/issues', { query: filters });
  const open = issues.kind === 'ready' ? issues.data.items.filter((each) => isOfState(each, '')) : [];
  return open.length === 0 ? null : (
    <section class="card" aria-labelledby="top-issues">
      <div class="row between">
        <h2 id="top-issues">
          Top issues <span class="quiet">· share of all runs of the agent</span>
        </h2>
        <a href={framed('/issues', agent === undefined ? {} : { agent })}>
          {open.length > SHOWN ? `all ${open.length}` : 'all'}
        </a>
      </div>
      <ul class="plain top-issues">
        {open.slice(0, SHOWN).map((issue) => (
          <li key={issue.id}>
            <span>
              <IssueLink issue={issue} />
            </span>
            <span class="quiet">
              <Text of={issue.agent} />
            </span>
            <span>{formatShare(issue.share)}</span>
            <IssuePoints points={issue.points} />
            <IssueState state={issue.state} />
            <span class="quiet">
              since <Time at={issue.firstSeen} isDay />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

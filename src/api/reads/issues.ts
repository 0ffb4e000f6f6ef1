import { NotFoundError, RequestError } from '../../domain/errors.ts';
import type { FailureKind, IssueRow } from '../../domain/failure.ts';
import { buildReadings, type IssueReading, type IssueState, orderOf } from '../../issues/read-issues.ts';
import type { Store } from '../../store/store.ts';
import type { IssueQuery } from '../../store/contracts/issues.ts';
import type { Listed, ListKey, ListPage } from '../../store/contracts/lists.ts';
import type { Caller } from '../access/request-access.ts';

type IssueStores = Pick<Store, 'failures' | 'spans'>;

/** Range and conditions as a request gives them. */
export type IssueFilter = Omit<IssueQuery, 'tenant' | 'issueId'>;

/** Conditions of a list: any of the values of each. */
export interface IssueListFilter extends Omit<IssueFilter, 'agent'> {
  readonly agents?: readonly string[] | undefined;
  readonly kinds?: readonly FailureKind[] | undefined;
  readonly states?: readonly IssueState[] | undefined;
}

/** Most examples of an issue, and most of its traces. */
const MAX_EXAMPLES = 5;
const MAX_TRACES = 500;

/** Creates the reads of issues for one tenant, or for all. */
export function createIssueReads({ failures, spans }: IssueStores, tenant: string | undefined) {
  const read = async (issues: readonly IssueRow[], query: IssueQuery): Promise<IssueReading[]> => {
    const [counts, runs] = await Promise.all([failures.counts(query), failures.runs(query)]);
    return buildReadings(issues, { counts, runs }, await spans.nowMs());
  };
  const readAll = async (query: IssueQuery): Promise<IssueReading[]> => {
    const [issues, counts, runs, nowMs] = await Promise.all([
      failures.issues(tenant),
      failures.counts(query),
      failures.runs(query),
      spans.nowMs(),
    ]);
    return buildReadings(issues, { counts, runs }, nowMs);
  };
  return {
    /** Lists the issues with a run in the range, the greatest share first. */
    list: async ({ agents, kinds, states, ...filter }: IssueListFilter, page: ListPage) => {
      const agent = agents?.length === 1 ? agents[0] : undefined;
      const found = await readAll({ ...filter, agent, tenant });
      return takePage(
        found.filter(
          (issue) =>
            (agents?.includes(issue.agent) ?? true) &&
            (kinds?.includes(issue.kind) ?? true) &&
            (states?.includes(issue.shownState) ?? true),
        ),
        page,
      );
    },
    /** Reads an issue by its id or an alias, with its newest examples. Throws a `NotFoundError`. */
    read: async (id: string, filter: IssueFilter) => {
      const issue = findIssue(await failures.issues(tenant), id);
      const query = { ...filter, tenant: issue.tenant, agent: issue.agent, issueId: issue.issueId };
      const [[found], examples] = await Promise.all([
        read([issue], query),
        failures.examples(query, MAX_EXAMPLES),
      ]);
      return { issue: found ?? buildQuiet(issue), examples };
    },
    /** Reads the newest runs with an issue. Throws a `NotFoundError`. */
    traces: async (id: string, filter: IssueFilter) => {
      const { tenant: of, issueId } = findIssue(await failures.issues(tenant), id);
      return failures.examples({ ...filter, tenant: of, issueId }, MAX_TRACES);
    },
  };
}

/** Takes a page of issues that are in order. */
function takePage(issues: readonly IssueReading[], { limit, after }: ListPage): Listed<IssueReading> {
  const keys = issues.map((issue): ListKey => ({ atMs: orderOf(issue), id: issue.issueId }));
  const isLater = ({ atMs, id }: ListKey) =>
    after === undefined || atMs < after.atMs || (atMs === after.atMs && id > after.id);
  const first = keys.findIndex(isLater);
  const end = first < 0 ? issues.length : first + limit;
  return {
    items: first < 0 ? [] : issues.slice(first, end),
    next: end < issues.length ? (keys[end - 1] ?? null) : null,
  };
}

/** Builds the reading of an issue without a run in the range. */
function buildQuiet(issue: IssueRow): IssueReading {
  const state = issue.state === 'open' ? 'ongoing' : issue.state;
  const { firstSeen } = issue;
  const none = { runs: 0, users: 0, sessions: 0, points: [], versions: [], share: null };
  return { ...issue, ...none, shownState: state, firstMs: firstSeen, lastMs: firstSeen };
}

function findIssue(issues: readonly IssueRow[], id: string): IssueRow {
  const found =
    issues.find(({ issueId }) => issueId === id) ?? issues.find(({ aliases }) => aliases.includes(id));
  if (found === undefined) {
    throw new NotFoundError(`there is no issue ${id}; to list them: spanscore issues`);
  }
  return found;
}

/** A change of an issue by hand. */
export type IssueChange = { readonly id: string } & (
  | { readonly what: 'resolve'; readonly version?: string | undefined }
  | { readonly what: 'reopen' | 'ignore' }
  | { readonly what: 'merge'; readonly into: string }
);

const STATES = { resolve: 'resolved', reopen: 'open', ignore: 'ignored' } as const;

/** Changes an issue. Throws a `NotFoundError` for an unknown one, and a `RequestError` for a merge into itself or into another agent's. */
export async function changeIssue(
  { failures, spans }: IssueStores,
  change: IssueChange,
  { tenant, name }: Caller,
): Promise<void> {
  const issues = await failures.issues(tenant);
  const issue = findIssue(issues, change.id);
  const event = { at: new Date(await spans.nowMs()).toISOString(), by: name };
  if (change.what !== 'merge') {
    const version = change.what === 'resolve' ? (change.version ?? '') : '';
    const what = version === '' ? change.what : `${change.what} in ${version}`;
    const history = [...issue.history, { ...event, what }];
    await failures.writeIssues([{ ...issue, state: STATES[change.what], resolvedVersion: version, history }]);
    return;
  }
  const into = findIssue(issues, change.into);
  if (into.issueId === issue.issueId || into.agent !== issue.agent || into.tenant !== issue.tenant) {
    throw new RequestError(`${issue.issueId} cannot go into ${into.issueId}: name two issues of one agent`);
  }
  const ids = [issue.issueId, ...issue.aliases];
  const history = [...into.history, { ...event, what: `merge of ${issue.issueId}` }];
  const aliases = [...new Set([...into.aliases, ...ids])].toSorted();
  await failures.writeIssues([
    { ...into, aliases, history, firstSeen: Math.min(into.firstSeen, issue.firstSeen) },
    { ...issue, title: '', subject: null, isDeleted: true },
  ]);
  await failures.relink(into, ids);
}

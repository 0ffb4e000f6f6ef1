import { NotFoundError, RequestError } from '../../domain/errors.ts';
import type { IssueRow } from '../../domain/failure.ts';
import { buildReadings, type IssueReading, readState } from '../../issues/read-issues.ts';
import { verifyIssue } from '../../issues/verify-issue.ts';
import { WATCHED_MS } from '../../issues/watch-share.ts';
import { DAY_MS } from '../../domain/durations.ts';
import type { Store } from '../../store/store.ts';
import type { IssueQuery } from '../../store/contracts/issues.ts';
import type { Caller } from '../access/request-access.ts';
import type { CaseStores } from './issue-cases.ts';

type IssueStores = Pick<Store, 'failures' | 'spans'>;

/** Range and conditions as a request gives them. */
export type IssueFilter = Omit<IssueQuery, 'tenant' | 'issueId'>;

/** Most examples of an issue, and most of its traces. */
const MAX_EXAMPLES = 5;
const MAX_TRACES = 500;

/** Creates the reads of issues for one tenant, or for all. */
export function createIssueReads({ config, store }: CaseStores, tenant: string | undefined) {
  const { failures, spans } = store;
  const read = async (issues: readonly IssueRow[], query: IssueQuery): Promise<IssueReading[]> => {
    const [counts, runs] = await Promise.all([failures.counts(query), failures.runs(query)]);
    return buildReadings(issues, { counts, runs }, await spans.nowMs());
  };
  return {
    /** Lists the issues with a run in the range, the greatest share first. */
    list: async (filter: IssueFilter) => read(await failures.issues(tenant), { ...filter, tenant }),
    /** Reads an issue by its id or an alias, with its newest examples. Throws a `NotFoundError`. */
    read: async (id: string, filter: IssueFilter) => {
      const issue = findIssue(await failures.issues(tenant), id);
      const query = { ...filter, tenant: issue.tenant, agent: issue.agent, issueId: issue.issueId };
      const [[found], examples] = await Promise.all([
        read([issue], query),
        failures.examples(query, MAX_EXAMPLES),
      ]);
      return { issue: found ?? buildQuiet(issue, await spans.nowMs()), examples };
    },
    /** Reads the newest runs with an issue. Throws a `NotFoundError`. */
    traces: async (id: string, filter: IssueFilter) => {
      const { tenant: of, issueId } = findIssue(await failures.issues(tenant), id);
      return failures.examples({ ...filter, tenant: of, issueId }, MAX_TRACES);
    },
    /** Reads failures of an issue as tests. Throws a `NotFoundError`. */
    cases: async (id: string, limit: number) => {
      const issue = findIssue(await failures.issues(tenant), id);
      const { readCases } = await import('./issue-cases.ts');
      return { issue, cases: await readCases({ config, store }, issue, limit) };
    },
  };
}

/** Builds the reading of an issue without a run in the range. */
function buildQuiet(issue: IssueRow, nowMs: number): IssueReading {
  const { firstSeen } = issue;
  const none = { runs: 0, users: 0, sessions: 0, points: [], versions: [], share: null };
  return { ...issue, ...none, shownState: readState(issue, nowMs), firstMs: firstSeen, lastMs: firstSeen };
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
  const nowMs = await spans.nowMs();
  const event = { at: new Date(nowMs).toISOString(), by: name };
  if (change.what !== 'merge') {
    const version = change.what === 'resolve' ? (change.version ?? '') : '';
    const what = version === '' ? change.what : `${change.what} in ${version}`;
    const history = [...issue.history, { ...event, what }];
    const changed = { ...issue, state: STATES[change.what], resolvedVersion: version, history };
    const verification = version === '' ? null : await beginVerification(failures, changed, nowMs);
    await failures.writeIssues([{ ...changed, verification }]);
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

/** Begins the test of the version that an issue is resolved in, with the runs that there are. */
async function beginVerification(failures: IssueStores['failures'], issue: IssueRow, nowMs: number) {
  const { tenant, agent, issueId } = issue;
  const query = { tenant, agent, sinceMs: nowMs - WATCHED_MS, untilMs: nowMs + DAY_MS };
  const [failing, runs] = await Promise.all([
    failures.failingHours({ ...query, issueId }),
    failures.runHours(query),
  ]);
  return verifyIssue({ ...issue, verification: null }, { failing, runs }, { resolvedMs: nowMs, nowMs });
}

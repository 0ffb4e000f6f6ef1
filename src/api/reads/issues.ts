import { isDifferent, type Rate } from '../../domain/agreement/rate.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { NotFoundError, RequestError } from '../../domain/errors.ts';
import { computeIssueId, type FailureKind, type IssueEvent, type IssueRow } from '../../domain/failure.ts';
import {
  buildReadings,
  estimateShare,
  type IssueReading,
  type IssueState,
  orderOf,
  readState,
} from '../../issues/read-issues.ts';
import { emptyIssue } from '../../issues/update-issues.ts';
import { verifyIssue } from '../../issues/verify-issue.ts';
import { WATCHED_MS } from '../../issues/watch-share.ts';
import { joinTraceKey, type TraceKey } from '../../store/contracts/stores.ts';
import type { Store } from '../../store/store.ts';
import type { IssueQuery } from '../../store/contracts/issues.ts';
import type { Listed, ListKey, ListPage } from '../../store/contracts/lists.ts';
import type { Caller } from '../access/request-access.ts';
import type { CaseStores } from './issue-cases.ts';

type IssueStores = Pick<Store, 'failures' | 'spans'>;

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

export type IssueReads = ReturnType<typeof createIssueReads>;

/** Example of an issue with its run; undefined when the run is not known. */
export type IssueExample = Awaited<ReturnType<IssueReads['read']>>['examples'][number];

/** Creates the reads of issues for one tenant, or for all. */
export function createIssueReads({ config, store }: CaseStores, tenant: string | undefined) {
  const { failures, spans } = store;
  const read: ReadIssues = async (rows, query) => {
    const reads = [failures.counts(query), failures.runs(query), spans.nowMs()] as const;
    const [issues, counts, runs, nowMs] = await Promise.all([rows, ...reads]);
    return buildReadings(issues, { counts, runs }, nowMs);
  };
  return {
    /** Finds an issue by its id or an alias. Throws a `NotFoundError`. */
    find: async (id: string) => findIssue(await failures.issues(tenant), id),
    ofTrace: async (key: TraceKey) => {
      const found = (await failures.ofTraces([key])).get(joinTraceKey(key)) ?? [];
      const ids = new Set(found.map(({ issueId }) => issueId));
      const all = ids.size === 0 ? [] : await failures.issues(key.tenant);
      return all.filter(({ issueId }) => ids.has(issueId)).map(nameIssue);
    },
    /** Lists the issues of an agent whose share is greater in a range than in the week before. Times are Unix milliseconds. */
    grown: (of: GrowthQuery) => listGrown(failures, read, of),
    /** Lists the issues with a run in the range, the greatest share first. */
    list: async ({ agents, kinds, states, ...filter }: IssueListFilter, page: ListPage) => {
      const agent = agents?.length === 1 ? agents[0] : undefined;
      const found = await read(failures.issues(tenant), { ...filter, agent, tenant });
      return takePage(
        found.filter((issue) => isListed(issue, { agents, kinds, states })),
        page,
      );
    },
    /** Reads an issue by its id or an alias, with its newest examples. Throws a `NotFoundError`. */
    read: async (id: string, filter: IssueFilter) => {
      const issue = findIssue(await failures.issues(tenant), id);
      const query = { ...filter, tenant: issue.tenant, agent: issue.agent, issueId: issue.issueId };
      const [[found], examples, segments] = await Promise.all([
        read([issue], query),
        failures.examples(query, MAX_EXAMPLES),
        failures.segments(query),
      ]);
      const runs = await store.runs.ofTraces(examples);
      return {
        issue: found ?? buildQuiet(issue, await spans.nowMs()),
        examples: examples.map((failure) => ({
          failure,
          run: runs.get(joinTraceKey(failure))?.find(({ targetId }) => targetId === failure.targetId),
        })),
        segments: segments.map(({ dimension, value, all, ...count }) => ({
          dimension,
          value,
          runs: count.runs,
          share: estimateShare([count], [{ runs: all }]),
        })),
      };
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

function isListed(
  { agent, kind, shownState }: IssueReading,
  { agents, kinds, states }: Pick<IssueListFilter, 'agents' | 'kinds' | 'states'>,
): boolean {
  return [agents?.includes(agent), kinds?.includes(kind), states?.includes(shownState)].every(
    (has) => has ?? true,
  );
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

/** Range before an incident with which it is compared. */
const BEFORE_MS = 7 * DAY_MS;

export interface GrowthQuery {
  readonly tenant: string;
  /** '' for all agents. */
  readonly agent: string;
  readonly fromMs: number;
  readonly toMs: number;
}

type ReadIssues = (
  issues: readonly IssueRow[] | Promise<readonly IssueRow[]>,
  query: IssueQuery,
) => Promise<IssueReading[]>;

async function listGrown(
  failures: Pick<Store['failures'], 'issues'>,
  read: ReadIssues,
  { tenant, agent, fromMs, toMs }: GrowthQuery,
) {
  const issues = (await failures.issues(tenant)).filter((issue) => agent === '' || issue.agent === agent);
  if (issues.length === 0) {
    return [];
  }
  const within = { tenant, ...(agent === '' ? {} : { agent }) };
  const [now, before] = await Promise.all([
    read(issues, { ...within, sinceMs: fromMs, untilMs: toMs }),
    read(issues, { ...within, sinceMs: fromMs - BEFORE_MS, untilMs: fromMs }),
  ]);
  const former = new Map(before.map((issue) => [issue.issueId, issue.share]));
  return now.filter(({ issueId, share }) => hasGrown(former.get(issueId) ?? null, share)).map(nameIssue);
}

function hasGrown(before: Rate | null, share: Rate | null): boolean {
  return share !== null && (before === null || (share.value > before.value && isDifferent(before, share)));
}

function nameIssue({ issueId, title, kind }: IssueRow) {
  return { id: issueId, title, kind };
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
  | { readonly what: 'split'; readonly traceIds: readonly string[] }
);

const STATES = { resolve: 'resolved', reopen: 'open', ignore: 'ignored' } as const;

/**
 * Changes an issue. Returns the id of the issue that the change is about: of a split, the new one. Throws a `NotFoundError` for an unknown
 * issue or trace, and a `RequestError` for a merge into itself or into another agent's, and for a split that leaves nothing.
 */
export async function changeIssue(
  { failures, spans }: IssueStores,
  change: IssueChange,
  { tenant, name }: Caller,
): Promise<string> {
  const issues = await failures.issues(tenant);
  const issue = findIssue(issues, change.id);
  const nowMs = await spans.nowMs();
  const event = { at: new Date(nowMs).toISOString(), by: name };
  if (change.what === 'split') {
    return splitIssue(failures, { issues, issue, traceIds: change.traceIds, event });
  }
  if (change.what !== 'merge') {
    const version = change.what === 'resolve' ? (change.version ?? '') : '';
    const what = version === '' ? change.what : `${change.what} in ${version}`;
    const history = [...issue.history, { ...event, what }];
    const changed = { ...issue, state: STATES[change.what], resolvedVersion: version, history };
    const verification = version === '' ? null : await beginVerification(failures, changed, nowMs);
    await failures.writeIssues([{ ...changed, verification }]);
    return issue.issueId;
  }
  const into = findIssue(issues, change.into);
  if (into.issueId === issue.issueId || into.agent !== issue.agent || into.tenant !== issue.tenant) {
    throw new RequestError(`${issue.issueId} cannot go into ${into.issueId}: name two issues of one agent`);
  }
  const ids = [issue.issueId, ...issue.aliases];
  const history = [...into.history, { ...event, what: `merge of ${issue.issueId}` }];
  const aliases = [...new Set([...into.aliases, ...ids])].toSorted();
  const split = [...into.split, ...issue.split];
  const apart = [...new Set([...into.apart, ...issue.apart])].filter(
    (id) => ![into.issueId, ...aliases].includes(id),
  );
  const rows = issues.map((each) =>
    // A merge ends an earlier split of the two.
    each.issueId === into.issueId ? { ...into, split, apart } : each,
  );
  await failures.writeIssues([
    { ...into, aliases, split, apart, history, firstSeen: Math.min(into.firstSeen, issue.firstSeen) },
    emptyIssue(issue),
  ]);
  await failures.relink(into, ids, rows);
  return into.issueId;
}

/** Lists an issue with the issues that it was split from or into: what is taken out of it now is apart from them, too. */
function listApart(issues: readonly IssueRow[], issue: IssueRow): string[] {
  const others = issues.filter(
    ({ tenant, apart }) => tenant === issue.tenant && apart.includes(issue.issueId),
  );
  return [...new Set([issue.issueId, ...issue.apart, ...others.map(({ issueId }) => issueId)])].toSorted();
}

interface Split {
  readonly issues: readonly IssueRow[];
  readonly issue: IssueRow;
  readonly traceIds: readonly string[];
  readonly event: Omit<IssueEvent, 'what'>;
}

/**
 * Takes the failures of some traces out of an issue, as an issue of their own. A signature that is in these traces alone goes with them, so
 * that later runs with it follow; else the traces are noted.
 */
async function splitIssue(
  failures: Store['failures'],
  { issues, issue, traceIds, event }: Split,
): Promise<string> {
  const signatures = await failures.tracesOf(issue, traceIds);
  const found = signatures.filter(({ named }) => named.length > 0);
  const [first] = found;
  const known = new Set(found.flatMap(({ named }) => named));
  const unknown = traceIds.find((id) => !known.has(id));
  if (first === undefined || unknown !== undefined) {
    throw new NotFoundError(
      `trace ${unknown ?? ''} has no failure of the issue ${issue.issueId}; to list its traces: GET /api/v1/issues/${issue.issueId}/traces`,
    );
  }
  if (signatures.every(({ others }) => others === 0)) {
    throw new RequestError(`the traces are all that the issue ${issue.issueId} has: leave some of them out`);
  }
  const moved = found
    .filter(({ signatureId, others }) => others === 0 && issue.aliases.includes(signatureId))
    .map(({ signatureId }) => signatureId);
  const { tenant, agent } = issue;
  const issueId =
    moved[0] ??
    computeIssueId(tenant, agent, `split ${issue.issueId} ${first.signatureId} ${first.firstTrace}`);
  const taken = found
    .filter(({ signatureId }) => !moved.includes(signatureId))
    .flatMap(({ signatureId, named }) => named.map((traceId) => `${traceId} ${signatureId}`));
  const left = issue.split.filter((entry) => !taken.includes(entry.slice(0, entry.lastIndexOf(' '))));
  const made: IssueRow = {
    ...issue,
    issueId,
    named: [],
    state: 'open',
    resolvedVersion: '',
    firstSeen: first.firstSeen,
    aliases: moved.filter((id) => id !== issueId),
    split: taken.map((entry) => `${entry} ${issueId}`),
    apart: listApart(issues, issue),
    history: [{ ...event, what: `split from ${issue.issueId}` }],
  };
  const rest: IssueRow = {
    ...issue,
    aliases: issue.aliases.filter((id) => !moved.includes(id)),
    split: left,
    history: [...issue.history, { ...event, what: `split of ${issueId}` }],
  };
  await failures.writeIssues([rest, made]);
  const others = issues.filter((each) => each.issueId !== issue.issueId);
  await failures.relink(made, [issueId, ...moved], [...others, rest, made]);
  return issueId;
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

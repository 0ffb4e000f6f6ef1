import { isDeepStrictEqual } from 'node:util';
import type { IssueRow, StoredIssue } from '../domain/failure.ts';
import { SECOND_MS } from '../domain/durations.ts';
import { type DutyDeps, startRepeatedDuty, type StartedPart } from '../process/parts.ts';
import type { Signature } from '../store/contracts/issues.ts';
import type { Store } from '../store/store.ts';
import { StateDecisions, type StateStores, type StateTerms } from './decide-states.ts';
import { formatTitle, groupSignatures, type SignatureSet } from './group-failures.ts';

/** Time between two groupings, and the rest after one as a multiple of the time that it took. */
const EVERY_MS = 5 * SECOND_MS;
const GROUP_REST = 200;

/** Rest after decisions, as a multiple of the time that they took: their interval keeps them rare. */
const DECIDE_REST = 5;

/** Longest rest, milliseconds, unless work took more than a twentieth of it: on a busy machine, short work takes long. */
const MOST_REST_MS = 60 * SECOND_MS;
const LEAST_REST = 20;

/** Time by which a look may be early, milliseconds: looks come a little more often than the work. */
const PACE_SLACK_MS = 100;

/** Settings of issues, as configured. */
interface IssueSettings extends StateTerms {
  readonly enabled: boolean;
  /** Time between two decisions on states, milliseconds. */
  readonly intervalMs: number;
}

/** Starts the grouping of failures to issues and the decisions on their states, in one process at a time. */
export function startIssues(
  store: StateStores,
  readSettings: () => IssueSettings,
  deps: DutyDeps,
): StartedPart {
  const states = new StateDecisions(store);
  const group = createPacedWork(() => updateIssues(store), GROUP_REST);
  const decide = createPacedWork(() => states.decide(readSettings()), DECIDE_REST);
  const work = async () => {
    const { enabled, intervalMs } = readSettings();
    if (enabled) {
      await group(EVERY_MS);
      await decide(intervalMs);
    }
  };
  const failing = 'failures are not grouped: the lists of issues show the last grouping';
  return startRepeatedDuty(
    { duty: 'issues', everyMs: EVERY_MS, failing, work, onIdle: () => states.forget() },
    deps,
  );
}

/** Creates work that is done again after a time, and after a rest as long as the work is costly. */
function createPacedWork(work: () => Promise<void>, rest: number) {
  let nextMs = 0;
  return async (everyMs: number): Promise<void> => {
    const startedMs = performance.now();
    if (startedMs >= nextMs) {
      await work();
      const endedMs = performance.now();
      const tookMs = endedMs - startedMs;
      const restMs = Math.min(rest * tookMs, Math.max(MOST_REST_MS, LEAST_REST * tookMs));
      nextMs = Math.max(startedMs + everyMs - PACE_SLACK_MS, endedMs + restMs);
    }
  };
}

/**
 * Groups all failures, and stores the issues that changed. An issue keeps its id when an earlier failure comes later, and the id that it
 * would have is an alias. An issue without failures is deleted. Each row follows the version that was read, so the row of a person or a
 * judge who writes meanwhile wins, and the next grouping takes it up.
 */
export async function updateIssues({ failures }: Pick<Store, 'failures'>): Promise<void> {
  const version = await failures.version();
  const stored = await failures.issues(undefined);
  const signatures = await failures.signatures(stored);
  const changed: StoredIssue[] = [];
  const kept = new Set<IssueRow>();
  const ownersOf = readOwners(stored);
  for (const set of groupSignatures(signatures, stored)) {
    const { tenant } = set[0];
    const owners = new Set(set.flatMap(({ signatureId }) => ownersOf.get(`${tenant} ${signatureId}`) ?? []));
    const before = [...owners].toSorted(
      (a, b) => a.firstSeen - b.firstSeen || (a.issueId < b.issueId ? -1 : 1),
    );
    const isOfOther = (id: string) => {
      const owner = ownersOf.get(`${tenant} ${id}`);
      return owner !== undefined && !owners.has(owner);
    };
    const issue = buildIssue(set, before, { version, isOfOther });
    if (!isDeepStrictEqual(issue, before[0])) {
      changed.push(issue);
    }
    changed.push(...before.slice(1).map(emptyIssue));
    before.forEach((each) => kept.add(each));
    const strays = set.filter(({ issueIds }) => issueIds.some((id) => id !== issue.issueId));
    if (strays.length > 0) {
      await failures.relink(
        issue,
        strays.map(({ signatureId }) => signatureId),
        stored,
      );
    }
  }
  const gone = stored.filter((issue) => !kept.has(issue));
  await failures.regroup(
    [...changed, ...gone.map(emptyIssue)].map((row) => ({ ...row, version: row.version + 1 })),
  );
}

/** Maps each id to the issue that has it; its own id counts more than an alias of another issue. */
function readOwners(stored: readonly StoredIssue[]): Map<string, StoredIssue> {
  const aliases = stored.flatMap((issue) =>
    issue.aliases.map((id) => [`${issue.tenant} ${id}`, issue] as const),
  );
  return new Map([
    ...aliases,
    ...stored.map((issue) => [`${issue.tenant} ${issue.issueId}`, issue] as const),
  ]);
}

/** Returns the row of an issue that is no more. */
export function emptyIssue<Row extends IssueRow>(issue: Row): Row {
  return { ...issue, title: '', named: [], subject: null, isDeleted: true };
}

interface StoredFacts {
  /** Version of a new row. */
  readonly version: number;
  /** True for an id of an issue that is no part of the set. */
  readonly isOfOther: (id: string) => boolean;
}

function buildIssue(
  [first, ...others]: SignatureSet,
  before: readonly StoredIssue[],
  { version, isOfOther }: StoredFacts,
): StoredIssue {
  const [former] = before;
  const issueId = former?.issueId ?? first.signatureId;
  const ids = [
    ...before.flatMap((each) => [each.issueId, ...each.aliases]),
    ...[first, ...others].map(({ signatureId }) => signatureId),
  ];
  const { tenant, agent, kind, subject, firstSeen } = first;
  return {
    tenant,
    issueId,
    agent,
    kind,
    ...chooseTitle(first, before),
    subject,
    state: former?.state ?? 'open',
    resolvedVersion: former?.resolvedVersion ?? '',
    firstSeen,
    aliases: [...new Set(ids)].filter((id) => id !== issueId && !isOfOther(id)).toSorted(),
    split: [...new Set(before.flatMap((each) => each.split))].toSorted(),
    apart: [...new Set(before.flatMap((each) => each.apart))].filter((id) => !ids.includes(id)).toSorted(),
    history: former?.history ?? [],
    verification: former?.verification ?? null,
    isDeleted: false,
    version: former?.version ?? version,
  };
}

/** Returns the title that a judge gave one of the issues; else one by rule. */
function chooseTitle(
  { kind, subject }: Signature,
  before: readonly StoredIssue[],
): Pick<IssueRow, 'title' | 'named'> {
  const { named, title } = before.find((each) => each.named.length > 0) ?? { named: [], title: '' };
  return { title: (named.some(Boolean) && title) || formatTitle(kind, subject), named };
}

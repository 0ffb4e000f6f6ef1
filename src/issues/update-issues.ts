import { isDeepStrictEqual } from 'node:util';
import type { IssueRow } from '../domain/failure.ts';
import { SECOND_MS } from '../domain/durations.ts';
import { type DutyDeps, startRepeatedDuty, type StartedPart } from '../process/parts.ts';
import type { Store } from '../store/store.ts';
import { formatTitle, groupSignatures, type SignatureSet } from './group-failures.ts';

/** Time between two groupings, and part of the time that they may take. */
const EVERY_MS = 5 * SECOND_MS;
const REST_FACTOR = 200;

/** Starts the grouping of failures to issues, in one process at a time. */
export function startIssues(store: Pick<Store, 'failures'>, deps: DutyDeps): StartedPart {
  let restUntilMs = 0;
  const work = async () => {
    const startedMs = performance.now();
    if (startedMs >= restUntilMs) {
      await updateIssues(store);
      restUntilMs = performance.now() + REST_FACTOR * (performance.now() - startedMs);
    }
  };
  const failing = 'failures are not grouped: the lists of issues show the last grouping';
  return startRepeatedDuty({ duty: 'issues', everyMs: EVERY_MS, failing, work }, deps);
}

/**
 * Groups all failures, and stores the issues that changed. An issue keeps its id when an earlier failure comes later, and the id that it
 * would have is an alias. An issue without failures is deleted.
 */
export async function updateIssues({ failures }: Pick<Store, 'failures'>): Promise<void> {
  const [signatures, stored] = await Promise.all([failures.signatures(), failures.issues(undefined)]);
  const changed: IssueRow[] = [];
  const kept = new Set<IssueRow>();
  const ownersOf = new Map(
    stored.flatMap((issue) =>
      [issue.issueId, ...issue.aliases].map((id) => [`${issue.tenant} ${id}`, issue] as const),
    ),
  );
  for (const set of groupSignatures(signatures, stored)) {
    const { tenant } = set[0];
    const owners = new Set(set.flatMap(({ signatureId }) => ownersOf.get(`${tenant} ${signatureId}`) ?? []));
    const before = [...owners].toSorted(
      (a, b) => a.firstSeen - b.firstSeen || (a.issueId < b.issueId ? -1 : 1),
    );
    const issue = buildIssue(set, before);
    if (!isDeepStrictEqual(issue, before[0])) {
      changed.push(issue);
    }
    changed.push(
      ...before.slice(1).map((other) => ({ ...other, title: '', subject: null, isDeleted: true })),
    );
    before.forEach((each) => kept.add(each));
    const strays = set.filter(({ issueIds }) => issueIds.some((id) => id !== issue.issueId));
    if (strays.length > 0) {
      await failures.relink(
        issue,
        strays.map(({ signatureId }) => signatureId),
      );
    }
  }
  const gone = stored.filter((issue) => !kept.has(issue));
  await failures.writeIssues([
    ...changed,
    ...gone.map((issue) => ({ ...issue, title: '', subject: null, isDeleted: true })),
  ]);
}

function buildIssue([first, ...others]: SignatureSet, before: readonly IssueRow[]): IssueRow {
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
    title: formatTitle(kind, subject),
    subject,
    state: former?.state ?? 'open',
    resolvedVersion: former?.resolvedVersion ?? '',
    firstSeen,
    aliases: [...new Set(ids)].filter((id) => id !== issueId).toSorted(),
    history: former?.history ?? [],
    isDeleted: false,
  };
}

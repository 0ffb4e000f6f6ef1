import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import { computeIssueId, type Failure, signFailure } from '../../../src/domain/failure.ts';
import { findFailures } from '../../../src/issues/find-failures.ts';
import { updateIssues } from '../../../src/issues/update-issues.ts';
import { openStore, type Store } from '../../../src/store/store.ts';
import { makeRuns } from '../../bench/issues/planted-runs.ts';
import { buildFailure } from '../../support/builders/a-failure.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';
import { testStore, type TestStore } from '../../support/store/store-rows.ts';

/** Failures of made runs, the earliest first. */
const FAILURES: readonly Failure[] = [...makeRuns(2_000, seededRandom(11))].flatMap(({ request, judged }) =>
  readTraces(request)
    .flatMap(({ runs }) => runs)
    .flatMap((run) =>
      findFailures(run, { judged }).map((found) => {
        const signatureId = computeIssueId('', 'shop', signFailure(found));
        const traceTimestamp = Date.parse(run.startedAt);
        const { traceId } = run.target;
        return buildFailure({
          ...found,
          agent: 'shop',
          signatureId,
          traceId,
          traceTimestamp,
          evidenceUntil: Date.now(),
        });
      }),
    ),
);

let stores: TestStore[] = [];

beforeAll(async () => {
  stores = await Promise.all([testStore(), testStore(), testStore()]);
});
afterAll(() => Promise.all(stores.map((each) => each.stop())));

/** Writes failures in parts, and groups after each. */
async function storeParts(
  { failures }: Store,
  all: readonly Failure[],
  group: (part: number) => Promise<unknown>,
): Promise<void> {
  const parts = 6;
  for (let part = 0; part < parts; part += 1) {
    await failures.write(all.filter((_, index) => Math.floor((index * parts) / all.length) === part));
    await group(part);
  }
}

/** Groups once more, and reads the issues with the runs of each, without which of its ids an issue has. */
async function readIssues(store: Store) {
  await updateIssues(store);
  const counts = await store.failures.counts({ tenant: '', sinceMs: 0, untilMs: Date.now() });
  const runsOf = new Map(counts.map(({ issueId, runs }) => [issueId, runs]));
  const issues = await store.failures.issues('');
  return issues
    .map(({ issueId, aliases, title, firstSeen }) => ({
      ids: [issueId, ...aliases].toSorted(),
      title,
      firstSeen,
      runs: runsOf.get(issueId),
    }))
    .toSorted((a, b) => ((a.ids[0] ?? '') < (b.ids[0] ?? '') ? -1 : 1));
}

/** A store whose process ends before it writes issues. */
function killedBeforeWrite({ failures }: Store): Pick<Store, 'failures'> {
  return { failures: { ...failures, regroup: () => Promise.reject(new Error('killed')) } };
}

describe('the issues of the same runs', () => {
  it('are the same at once, after a kill amid a grouping, and from two processes in the opposite order', async () => {
    const [whole, killed, pair] = stores as [TestStore, TestStore, TestStore];
    await whole.store.failures.write(FAILURES);
    const expected = await readIssues(whole.store);
    expect(expected.length).toBeGreaterThan(20);

    const outcomes: string[] = [];
    await storeParts(killed.store, FAILURES, async (part) => {
      const store = part % 2 === 0 ? killed.store : killedBeforeWrite(killed.store);
      const [{ status }] = await Promise.allSettled([updateIssues(store)]);
      outcomes.push(status);
    });
    expect(outcomes).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled', 'rejected']);
    expect(await readIssues(killed.store)).toEqual(expected);

    const other = await openStore(pair.options);
    await storeParts(pair.store, FAILURES.toReversed(), () =>
      Promise.all([updateIssues(pair.store), updateIssues(other)]),
    );
    const ofPair = await readIssues(pair.store);
    expect(ofPair).toEqual(expected);
    await other.close();
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTrace } from '../../../src/conventions/index.ts';
import type { Failure } from '../../../src/domain/failure.ts';
import { nameIssues } from '../../../src/issues/name-issues.ts';
import { updateIssues } from '../../../src/issues/update-issues.ts';
import { createJudgeRegistry } from '../../../src/judge/judge-registry.ts';
import { NOTHING_PURGED, type PurgedTraces } from '../../../src/store/contracts/purge.ts';
import type { Store } from '../../../src/store/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { buildFailure } from '../../support/builders/a-failure.ts';
import { readFencedPrompt } from '../../support/builders/fenced-prompt.ts';
import { type JudgeServer, replyText, startJudgeServer } from '../../support/fakes/judge-server.ts';
import { createScoring, type TestLimits } from '../../support/scoring/bare-scoring.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { openEmptied, testStore, type TestStore } from '../../support/store/store-rows.ts';

const PRIVATE = 'Order 7731 of Ada Lovelace (ada@example.org) was sent to "12 Old Street" on 2026-03-04';
const TITLE = 'Orders are said to be sent before they are';

let base: TestStore;
let store: Store;
let judge: JudgeServer;

beforeAll(async () => {
  [base, judge] = await Promise.all([testStore(), startJudgeServer(() => replyText(TITLE))]);
});
beforeEach(async () => {
  store = await openEmptied(base.options);
  judge.requests.length = 0;
  judge.script(() => replyText(TITLE));
});
afterAll(() => Promise.all([judge.close(), base.stop()]));

/** Names issues as a process that has just started. */
function name(limits: TestLimits = {}, purged: PurgedTraces = NOTHING_PURGED): Promise<void> {
  const judges = createJudgeRegistry({
    default: 'local/m',
    providers: { local: { baseURL: judge.baseUrl } },
    prices: { 'local/m': { input: 1, output: 1 } },
  });
  const ports = { stores: store, readTrace, log: silentLog, judgeScope: { judges }, purged };
  return nameIssues(store, createScoring(ports, limits), new AbortController().signal);
}

async function storeFailures(...failures: readonly Partial<Failure>[]): Promise<void> {
  await store.failures.write(failures.map((failure) => buildFailure(failure)));
  await updateIssues(store);
}

const claim = (signatureId: string, text = PRIVATE): Partial<Failure> => ({
  signatureId,
  failureId: signatureId,
  kind: 'claim',
  subject: { tool: 'get_order', path: 'status', verdict: 'contradicted' },
  text,
  evidence: { source: 'get_order', quote: '{"status":"packed","owner":"Ada Lovelace"}', spanId: '' },
});

const readTitles = async () => (await store.failures.issues(undefined)).map(({ title }) => title);
const readCalls = () =>
  queryRows<{ Scorer: string; Status: string; texts: string }>(
    base.options,
    'SELECT Scorer, Status, concat(Prompt, Reply, Error) AS texts FROM judge_calls',
  );

const RULE = 'answer contradicts `get_order`: status';

describe('a judge that names issues', () => {
  it('is asked once an issue, not once a failure, by any process, and the title stays', async () => {
    await storeFailures(claim('a'), claim('a'), claim('a'), { signatureId: 'b' });
    await name();
    expect(judge.requests).toHaveLength(2);
    expect(await readTitles()).toEqual([TITLE, TITLE]);
    await storeFailures(claim('a'), { ...claim('a'), traceTimestamp: 1_000 });
    await name();
    expect(judge.requests).toHaveLength(2);
    expect(await readTitles()).toEqual([TITLE, TITLE]);
    expect(await readCalls()).toEqual(
      Array.from({ length: 2 }, () => ({ Scorer: 'issues', Status: 'success', texts: '' })),
    );
  });

  it('sees five examples as marked data, in which nothing of a person is left', async () => {
    await storeFailures(...Array.from({ length: 7 }, () => claim('a')));
    await name();
    const [{ prompt }] = judge.requests as [JudgeServer['requests'][number]];
    const { json, task } = readFencedPrompt(prompt)!;
    const { examples, rule } = JSON.parse(json) as {
      examples: { says: string; against: string }[];
      rule: string;
    };
    expect(examples).toHaveLength(5);
    expect(rule).toBe(RULE);
    expect(examples[0]!.says).toContain('<name>');
    expect(prompt).not.toMatch(/ada|lovelace|example\.org|7731|old street|2026/iu);
    expect(task).toContain('80 characters');
  });

  it.each([
    ['long', 'word '.repeat(40), /^(?:word ?){10,16}…$/u],
    ['in quotes, with more lines', '\n“Refunds fail.”\nBecause of the gateway.', /^Refunds fail$/u],
    ['empty', '', /^answer contradicts/u],
  ])('may give a title that is %s', async (_, reply, expected) => {
    judge.script(() => replyText(reply));
    await storeFailures(claim('a'));
    await name();
    await storeFailures(claim('a'));
    const [title = ''] = await readTitles();
    expect(title).toMatch(expected);
    expect(title.length).toBeLessThanOrEqual(80);
    await name();
    expect(judge.requests).toHaveLength(1);
  });

  it('is asked again when it did not answer, and not without money', async () => {
    await storeFailures(claim('a'));
    await expect(name({ budgets: { total: { perDay: 0.000_001 } } })).rejects.toMatchObject({
      code: 'budget_exhausted',
    });
    expect(judge.requests).toHaveLength(0);
    judge.script(() => ({ kind: 'raw', status: 500, body: 'down' }));
    await expect(name()).rejects.toMatchObject({ code: 'judge_unavailable' });
    expect([judge.requests.length, await readTitles()]).toEqual([1, [RULE]]);
    judge.script(() => replyText(TITLE));
    await name();
    expect(await readTitles()).toEqual([TITLE]);
  });

  it('gives no title from a trace that is purged meanwhile', async () => {
    await storeFailures(claim('a'));
    await name({}, { ...NOTHING_PURGED, isEmpty: false, has: () => judge.requests.length > 0 });
    expect([judge.requests.length, await readTitles()]).toEqual([1, [RULE]]);
  });

  it('is not asked about purged traces whose rows still wait for their deletion', async () => {
    await storeFailures(claim('a'));
    const purged = { ...NOTHING_PURGED, isEmpty: false, has: () => true };
    await name({}, purged);
    await name({}, purged);
    expect([judge.requests.length, await readTitles()]).toEqual([0, [RULE]]);
  });

  it('gives a name that goes with the issue into a merge by similarity', async () => {
    const text = 'the gift is wrapped in red paper';
    const said = (signatureId: string, words: string, traceTimestamp: number) => ({
      ...claim(signatureId),
      subject: { verdict: 'unsupported', text: words },
      traceTimestamp,
    });
    await storeFailures(said('a', `${text} for all of our guests from abroad`, 2_000));
    await name();
    await storeFailures(said('b', `${text} now`, 1_000));
    await name();
    expect([judge.requests.length, await readTitles()]).toEqual([1, [TITLE]]);
  });
});

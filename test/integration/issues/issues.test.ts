import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../../src/domain/durations.ts';
import type { Failure } from '../../../src/domain/failure.ts';
import type { RunRecord } from '../../../src/domain/run-record.ts';
import type { IssueCase } from '../../../src/domain/issue-case.ts';
import { updateIssues } from '../../../src/issues/update-issues.ts';
import { decodeOtlpJson } from '../../../src/wire/otlp-json.ts';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';
import { buildFailure } from '../../support/builders/a-failure.ts';
import { anAlert } from '../../support/builders/an-alert.ts';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { buildScore, newTraceId } from '../../support/store/store-rows.ts';
import { agentRunSpans, store } from '../../support/store/stored-agent.ts';

const ADMIN = tokenOf('admin', 'a');
const [SHARED, FIRST, LATER, OTHER] = [
  '00000000000000a0',
  '00000000000000a1',
  '00000000000000a2',
  '00000000000000a3',
];
const NOW_MS = Date.now();

let world: ApiWorld;

beforeAll(async () => {
  world = await apiWorld();
});
afterAll(() => world.stop());

/** Stores runs of an agent, each with the failures that it had. */
async function storeRuns(
  agent: string,
  failures: readonly (Partial<Failure> | null)[],
  environmentOf: (index: number) => string = () => 'production',
): Promise<void> {
  const runs = failures.map((_, index) =>
    buildRunRecord({
      tenant: 'a',
      agent,
      agentVersion: index % 2 === 0 ? '1' : '2',
      environment: environmentOf(index),
      startedAt: NOW_MS - 2 * DAY_MS + index * 1_000,
      evidenceUntil: NOW_MS,
    }),
  );
  await world.store.runs.write(runs);
  await world.store.failures.write(
    failures.flatMap((failure, index) => {
      const { traceId, startedAt, agentVersion } = runs[index]!;
      const own = {
        tenant: 'a',
        agent,
        agentVersion,
        traceId,
        traceTimestamp: startedAt,
        evidenceUntil: NOW_MS,
      };
      return failure === null ? [] : [buildFailure({ ...own, userId: `user-${index}`, ...failure })];
    }),
  );
  await updateIssues(world.store);
}

const read = async (path: string) => (await world.ask({ path, token: ADMIN })).body;
const change = async (path: string, body: object) =>
  (await world.ask({ method: 'POST', path, body, token: ADMIN })).body;

describe('the issues of an agent', () => {
  it('have shares of all its runs, also those without a failure', async () => {
    const failing = { signatureId: SHARED };
    const old = { ...failing, traceTimestamp: NOW_MS - 20 * DAY_MS };
    await storeRuns('share', [failing, failing, old, ...Array.from({ length: 37 }, () => null)]);
    const { items } = (await read('/issues?agent=share')) as { items: Record<string, unknown>[] };
    expect(items).toMatchObject([
      {
        id: SHARED,
        title: 'tool `get_weather` fails: HTTP 504',
        state: 'ongoing',
        runs: 2,
        users: 2,
        firstSeen: new Date(old.traceTimestamp).toISOString(),
        lastSeen: new Date(NOW_MS - 2 * DAY_MS + 1_000).toISOString(),
        share: { value: 0.05 },
        versions: expect.arrayContaining([
          expect.objectContaining({ version: '1', runs: 1, share: expect.objectContaining({ value: 0.05 }) }),
        ]),
      },
    ]);
    expect(await read(`/issues/${SHARED}`)).toMatchObject({
      examples: [{ error: 'HTTP 504: no reply' }, { error: 'HTTP 504: no reply' }],
    });
    expect(await read(`/issues/${SHARED}/traces`)).toMatchObject({
      items: [{ version: '2' }, { version: '1' }],
    });
  });

  it('of an environment have shares of its runs alone', async () => {
    const timeout = { signatureId: '000000000000ce00' };
    const subject = { verdict: 'unsupported', text: 'the door is open' };
    const claim = { signatureId: '000000000000ce01', kind: 'claim' as const, subject };
    const none = Array.from({ length: 37 }, () => null);
    await storeRuns('placed', [timeout, claim, timeout, ...none], (index) =>
      index % 4 === 1 ? 'test' : 'live',
    );
    const shares = async (query: string) => {
      const { items } = (await read(`/issues?agent=placed&${query}`)) as {
        items: { runs: number; share: { value: number } }[];
      };
      return items.map(({ runs, share }) => [runs, share.value]);
    };
    expect(await shares('')).toEqual([
      [2, 2 / 40],
      [1, 1 / 40],
    ]);
    expect(await shares('environment=live')).toEqual([[2, 2 / 30]]);
    expect(await shares('environment=test&since=90d')).toEqual([[1, 1 / 10]]);
    expect(await shares('environment=live&environment=test')).toHaveLength(2);
    expect(await shares('environment=nowhere')).toEqual([]);
  });

  it('are one when similar, are resolved and merged by hand, and answer to each of their ids', async () => {
    const text = 'the gift is wrapped in red paper';
    const claim = (signatureId: string | undefined, words: string) => ({
      signatureId: signatureId ?? '',
      failureId: signatureId ?? '',
      kind: 'claim' as const,
      subject: { verdict: 'unsupported', text: words },
    });
    await storeRuns('merged', [
      claim(FIRST, `${text} today`),
      claim(LATER, `${text} now`),
      claim(OTHER, 'a refund is due'),
    ]);
    const list = async () =>
      ((await read('/issues?agent=merged')) as { items: { id: string; aliases: string[]; runs: number }[] })
        .items;
    expect(await list()).toMatchObject([
      { id: FIRST, aliases: [LATER], runs: 2 },
      { id: OTHER, runs: 1 },
    ]);
    expect(await change(`/issues/${LATER}/resolve`, { version: '3' })).toMatchObject({
      id: FIRST,
      state: 'resolved',
      resolvedVersion: '3',
    });
    expect(await change(`/issues/${OTHER}/merge`, { into: FIRST })).toMatchObject({ id: FIRST, runs: 3 });
    await updateIssues(world.store);
    expect(await list()).toMatchObject([{ id: FIRST, aliases: [LATER, OTHER], runs: 3, state: 'resolved' }]);
    expect(await read(`/issues/${OTHER}`)).toMatchObject({
      id: FIRST,
      history: [{ what: 'resolve in 3' }, { what: `merge of ${OTHER}` }],
    });
  });

  it('are listed page by page in one order, with any of the values of a filter', async () => {
    const ids = ['00000000000000b0', '00000000000000b1', '00000000000000b2', '00000000000000b3'];
    const failing = ids.map((signatureId, index) => ({
      signatureId,
      kind: index < 2 ? ('loop' as const) : ('tool-error' as const),
      subject: { tool: `tool-${index}` },
    }));
    await storeRuns('pages', [failing[3]!, failing[3]!, ...failing.slice(0, 3)]);
    const paths = [
      'agent=pages',
      'agent=pages&agent=share&kind=loop&kind=tool-error&state=ongoing&state=new',
    ];
    const pages = await Promise.all(
      paths.map(async (query) => {
        const found: string[] = [];
        let next: string | null = '';
        while (next !== null) {
          const cursor: string = next === '' ? '' : `&cursor=${next}`;
          const body = (await read(`/issues?${query}&limit=2${cursor}`)) as {
            items: { id: string }[];
            next: string | null;
          };
          found.push(...body.items.map(({ id }) => id));
          next = body.next;
        }
        return found;
      }),
    );
    expect(pages).toEqual([
      [ids[3], ids[0], ids[1], ids[2]],
      [ids[3], ids[0], ids[1], ids[2], SHARED],
    ]);
    expect(await read('/issues?agent=pages&kind=loop&version=1')).toMatchObject({ items: [{ id: ids[0] }] });
  });

  it('count every run of a trace with several', async () => {
    const failing = { signatureId: '00000000000000c0' };
    await storeRuns('twice', [failing]);
    const [first] = (await world.store.failures.examples(
      { tenant: 'a', sinceMs: 0, untilMs: NOW_MS, issueId: '00000000000000c0' },
      1,
    )) as [Failure];
    const { traceId, traceTimestamp: startedAt } = first;
    await world.store.runs.write([
      buildRunRecord({ tenant: 'a', agent: 'twice', traceId, targetId: 'b1b1b1b1b1b1b1b1', startedAt }),
    ]);
    expect(await read('/issues?agent=twice')).toMatchObject({ items: [{ runs: 1, share: { value: 0.5 } }] });
  });

  it('are unknown to other tenants, and gone without a failure', async () => {
    expect((await world.ask({ path: `/issues/${FIRST}`, token: tokenOf('admin', 'b') })).status).toBe(404);
    const stored = await world.store.failures.examples(
      { tenant: 'a', sinceMs: 0, untilMs: NOW_MS, issueId: FIRST },
      100,
    );
    await world.store.failures.write(stored.map((failure) => ({ ...failure, isDeleted: true })));
    await updateIssues(world.store);
    expect(await read('/issues?agent=merged')).toMatchObject({ items: [] });
  });
});

describe('the failures of an issue', () => {
  it('come back as cases while their spans are stored, equal ones once, with a stable id', async () => {
    const answers = ["I can't help with that.", "I can't help with refunds.", "I can't help with that."];
    const traces = answers.map((answer) => decodeOtlpJson(anAgentTrace().answering(answer).request()).spans);
    for (const spans of traces) {
      await store(world.store, spans, 'a');
    }
    const failure = {
      signatureId: '0000000000000090',
      kind: 'answer' as const,
      subject: { answer: 'refusal' },
    };
    await storeRuns('asked', [
      ...traces.map((spans) => ({ ...failure, traceId: spans[0]!.traceId, targetId: spans[0]!.traceId })),
      failure,
    ]);
    const { items } = (await read('/issues/0000000000000090/tests')) as { items: IssueCase[] };
    expect(items.map(({ output }) => output)).toEqual(expect.arrayContaining(answers.slice(0, 2)));
    expect(items).toHaveLength(2);
    expect(items[0]).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{12}$/u),
      input: 'What is the weather in Paris?',
      tags: ['issue:0000000000000090', 'answer'],
      metadata: {
        issue: '0000000000000090',
        expect: { scorer: 'behaviour-answered', min: 1 },
        score: 0,
        flaky: false,
      },
    });
    expect(await read('/issues/0000000000000090/tests')).toEqual({ items, next: null });
    expect(await read('/issues/0000000000000090/tests?limit=1')).toMatchObject({ items: [items[0]] });
  });
});

describe('a split by hand', () => {
  const [KEPT, MOVED, LATE] = ['00000000000000f0', '00000000000000f1', '00000000000000f2'] as const;
  const claim = (signatureId: string, text: string) => ({
    signatureId,
    failureId: signatureId,
    kind: 'claim' as const,
    subject: { verdict: 'unsupported', text },
  });
  const list = async () =>
    ((await read('/issues?agent=split')) as { items: { id: string; aliases: string[]; runs: number }[] })
      .items;
  const idsOf = async (id: string) =>
    ((await read(`/issues/${id}/traces`)) as { items: { traceId: string }[] }).items.map(
      ({ traceId }) => traceId,
    );

  it('takes a signature with its later runs, or some traces of one, and stays through later groupings', async () => {
    const text = 'the gift is wrapped in red paper';
    const [first, second, third, moved] = Array.from({ length: 4 }, newTraceId);
    const kept = (traceId: string) => ({ ...claim(KEPT, `${text} today`), traceId, targetId: traceId });
    const failures = [
      kept(first!),
      kept(second!),
      kept(third!),
      { ...claim(MOVED, `${text} now`), traceId: moved!, targetId: moved! },
    ];
    await storeRuns('split', failures);
    expect(await list()).toMatchObject([{ id: KEPT, aliases: [MOVED], runs: 4 }]);

    expect(await change(`/issues/${KEPT}/split`, { traceIds: [moved] })).toMatchObject({
      id: MOVED,
      runs: 1,
      state: 'ongoing',
    });
    const made = (await change(`/issues/${KEPT}/split`, { traceIds: [second] })) as { id: string };
    expect(made).toMatchObject({ runs: 1, aliases: [] });
    // A run that is read again writes its failure with the plain signature; a new one is similar to both sides.
    await storeRuns('split', [failures[1]!, { ...claim(MOVED, `${text} now`) }, claim(LATE, `${text} soon`)]);
    const sides = await Promise.all([KEPT, MOVED, made.id].map(idsOf));
    expect(sides[0]).toEqual(expect.arrayContaining([first, third]));
    expect(sides[1]).toContain(moved);
    expect(sides[2]).toContain(second);
    const all = sides.flat();
    expect({ runs: all.length, different: new Set(all).size }).toEqual({ runs: 6, different: 6 });
    expect(sides[1]!.length).toBeGreaterThanOrEqual(2);
    expect(await read(`/issues/${KEPT}`)).toMatchObject({
      history: [{ what: `split of ${MOVED}` }, { what: `split of ${made.id}` }],
    });

    await change(`/issues/${made.id}/merge`, { into: KEPT });
    await updateIssues(world.store);
    expect(await idsOf(KEPT)).toEqual(expect.arrayContaining([first, second, third]));
    expect(await list()).toHaveLength(2);
  });

  it('is refused for all traces of an issue, and for a trace without the issue', async () => {
    const post = (traceIds: readonly unknown[]) =>
      world.ask({ method: 'POST', path: `/issues/${MOVED}/split`, body: { traceIds }, token: ADMIN });
    expect(await post(await idsOf(MOVED))).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('leave some of them out') },
    });
    expect(await post([newTraceId()])).toMatchObject({ status: 404 });
  });
});

describe('what people do while failures are grouped', () => {
  const text = 'the gift is wrapped in red paper';
  const claim = (id: string, words: string) => ({
    signatureId: id,
    failureId: id,
    kind: 'claim' as const,
    subject: { verdict: 'unsupported', text: words },
  });

  it.each([
    ['a resolve', 'resolve', { version: '9' }, { state: 'resolved', resolvedVersion: '9' }],
    ['an ignore', 'ignore', {}, { state: 'ignored' }],
    ['a merge', 'merge', { into: 'other' }, { id: 'other', aliases: ['first', 'last', 'later'], runs: 4 }],
    ['a split', 'split', { traceIds: 'later' }, { id: 'first' }],
  ])('stays, as %s', async (_, what, body, expected) => {
    const [at, ids] = [`overlap-${what}`, ['first', 'later', 'other', 'last'] as const];
    const idOf = (name: string) => ((ids as readonly string[]).includes(name) ? `${what}-${name}` : name);
    const [first, later, other, last] = ids.map(idOf) as [string, string, string, string];
    const moved = newTraceId();
    await storeRuns(at, [
      claim(first, `${text} today`),
      { ...claim(later, `${text} now`), traceId: moved, targetId: moved },
      claim(other, 'a refund is due'),
    ]);
    const given = Object.fromEntries(
      Object.entries(body).map(([key, value]) => [key, key === 'traceIds' ? [moved] : idOf(value)]),
    );
    const { failures } = world.store;
    await failures.write([
      buildFailure({
        tenant: 'a',
        agent: at,
        ...claim(last, `${text} soon`),
        traceTimestamp: NOW_MS - DAY_MS,
      }),
    ]);
    // The person acts after the grouping has read, and before it writes.
    const regroup: typeof failures.regroup = async (rows) => {
      expect(rows.map(({ issueId }) => issueId)).toContain(first);
      expect(await change(`/issues/${first}/${what}`, given)).toMatchObject({ id: expect.any(String) });
      await failures.regroup(rows);
    };
    await updateIssues({ failures: { ...failures, regroup } });
    await updateIssues(world.store);
    await updateIssues(world.store);
    const wanted = Object.entries(expected).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.map(idOf) : typeof value === 'string' ? idOf(value) : value,
    ]);
    const found = await read(`/issues/${first}`);
    expect(found).toMatchObject(Object.fromEntries(wanted));
    expect(found['history']).toContainEqual(expect.objectContaining({ what: expect.stringContaining(what) }));
    // The new failure is similar to both sides of a split: it is in one of them.
    const side = await read(`/issues/${later}`);
    expect([side['id'] === later, Number(side['runs']) + Number(found['runs'])]).toEqual(
      what === 'split' ? [true, 3] : [false, 2 * Number(found['runs'])],
    );
  });
});

describe('an issue', () => {
  it('shows what was asked and answered, and in which segments its runs are', async () => {
    const signatureId = '00000000000000d0';
    const runs = [1, 2, 3, 4].map((number) =>
      buildRunRecord({
        tenant: 'a',
        agent: 'shown',
        agentVersion: number < 3 ? '1' : '2',
        models: [number < 4 ? 'small' : 'large'],
        startedAt: NOW_MS - 2 * DAY_MS,
        evidenceUntil: NOW_MS,
        question: `Question ${number}?`,
        answer: 'An answer.',
      }),
    );
    await world.store.runs.write(runs);
    const [{ traceId, targetId }] = runs as [RunRecord];
    const own = { tenant: 'a', agent: 'shown', traceId, targetId, traceTimestamp: NOW_MS - 2 * DAY_MS };
    await world.store.failures.write([buildFailure({ ...own, signatureId })]);
    await updateIssues(world.store);
    const { examples, segments } = (await read(`/issues/${signatureId}`)) as {
      examples: unknown;
      segments: unknown[];
    };
    expect(examples).toEqual([
      {
        traceId,
        at: expect.any(String),
        question: 'Question 1?',
        answer: 'An answer.',
        claim: null,
        evidence: null,
        error: 'HTTP 504: no reply',
        comment: null,
      },
    ]);
    expect(segments).toEqual(
      expect.arrayContaining([
        {
          dimension: 'model',
          value: 'small',
          runs: 1,
          share: expect.objectContaining({ value: 1 / 3, n: 3 }),
        },
        { dimension: 'version', value: '1', runs: 1, share: expect.objectContaining({ value: 0.5, n: 2 }) },
      ]),
    );
    expect(segments).not.toContainEqual(expect.objectContaining({ value: 'large' }));
  });
});

describe('an issue is named', () => {
  const signatureId = '00000000000000e0';
  const name = { id: signatureId, title: 'tool `get_weather` fails: HTTP 504', kind: 'tool-error' };
  let failing: RunRecord;

  beforeAll(async () => {
    const at = (ageMs: number) =>
      buildRunRecord({ tenant: 'a', agent: 'named', startedAt: NOW_MS - ageMs, evidenceUntil: NOW_MS });
    failing = at(DAY_MS / 2);
    await world.store.runs.write([failing, ...Array.from({ length: 30 }, () => at(2 * DAY_MS))]);
    const { traceId } = failing;
    const own = {
      tenant: 'a',
      agent: 'named',
      traceId,
      targetId: traceId,
      traceTimestamp: failing.startedAt,
    };
    await world.store.failures.write([buildFailure({ ...own, signatureId })]);
    const other = newTraceId();
    for (const each of [traceId, other]) {
      await store(world.store, agentRunSpans(each), 'a');
    }
    const scores = [traceId, other].map((each) =>
      buildScore({ tenant: 'a', traceId: each, targetId: each, scorer: 'tone', agent: 'named' }),
    );
    await world.store.scores.write(scores);
    await updateIssues(world.store);
  });

  it('on the trace that has it', async () => {
    expect(await read(`/traces/${failing.traceId}`)).toMatchObject({ issues: [name] });
  });

  it('on the incident in which its share grew, since the change began', async () => {
    const series = { ...anAlert().series, tenant: 'a', agent: 'named' };
    const incident = (startsAtMs: number, changeBeganMs = startsAtMs) =>
      anAlert({ series, startsAtMs, changeBeganMs });
    const during = incident(NOW_MS - DAY_MS);
    const after = incident(NOW_MS - DAY_MS / 4);
    const foundLate = incident(NOW_MS - DAY_MS / 5, NOW_MS - DAY_MS);
    await world.store.alerts.write([during, after, foundLate]);
    expect(await read(`/alerts/${during.incidentId}`)).toMatchObject({ issues: [name] });
    expect(await read(`/alerts/${after.incidentId}`)).toMatchObject({ issues: [] });
    expect(await read(`/alerts/${foundLate.incidentId}`)).toMatchObject({ issues: [name] });
  });

  it('by a queue that is drawn from it', async () => {
    const queue = async (more: string) =>
      (
        (await read(`/labels/queue?scorer=tone&reviewer=ann${more}`)) as { items: { traceId: string }[] }
      ).items.map(({ traceId }) => traceId);
    expect(await queue('')).toHaveLength(2);
    expect(await queue(`&issue=${signatureId}`)).toEqual([failing.traceId]);
    expect((await world.ask({ path: '/labels/queue?scorer=tone&issue=0', token: ADMIN })).status).toBe(404);
  });
});

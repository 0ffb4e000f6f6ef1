import { updateIssues } from '../../../../src/issues/update-issues.ts';
import { buildFailure, buildIssueRow } from '../../../support/builders/a-failure.ts';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { chooseExitCode } from '../../../../src/cli/exit-codes.ts';
import { readTrace } from '../../../../src/conventions/index.ts';
import type { TargetKind } from '../../../../src/domain/trace/agent-run.ts';
import { rescoreKind } from '../../../../src/jobs/rescore.ts';
import { BACKFILL, buildRescoreSpec, RESCORE } from '../../../../src/jobs/stored-job.ts';
import { scoreTraces } from '../../../../src/scoring/score-traces.ts';
import { createScoring } from '../../../support/scoring/bare-scoring.ts';
import { liveMode } from '../../../../src/scoring/scoring-mode.ts';
import { recordRules, prepareRule } from '../../../../src/scoring/select/rule.ts';
import { NO_SESSION_WAIT } from '../../../../src/scoring/sessions/score-session.ts';
import { decodeOtlpJson } from '../../../../src/wire/otlp-json.ts';
import { anAgentTrace } from '../../../support/builders/agent-trace.ts';
import { buildBackfillSpec, createBackfillKind } from '../../../support/scoring/backfill-runs.ts';
import { buildRule, judged } from '../../../support/scoring/scoring-world.ts';
import { store as storeSpans } from '../../../support/store/stored-agent.ts';
import { followJob, openJob } from '../../../../src/jobs/follow-job.ts';
import { startJobRunner, type JobRunner } from '../../../../src/jobs/job-runner.ts';
import {
  purgeLateTraces,
  createPurgeKind,
  findOpenPurge,
  preparePurge,
} from '../../../../src/purge/purge.ts';
import { createPurgeKey } from '../../../../src/purge/purge-key.ts';
import { watchPurgedTraces, type WatchedTraces, withoutPurged } from '../../../../src/purge/purged-traces.ts';
import type { Job } from '../../../../src/store/contracts/jobs.ts';
import type { PurgeSubject } from '../../../../src/store/contracts/purge.ts';
import type { PurgeStore } from '../../../../src/store/purge/purge-store.ts';
import type { Store } from '../../../../src/store/store.ts';
import { joinTraceKey } from '../../../../src/store/contracts/stores.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { aLetter } from '../../../support/builders/a-letter.ts';
import { jsonSpan, traceRequest } from '../../../support/builders/otlp-requests.ts';
import { requestBytes } from '../../../support/builders/otlp-proto-writer.ts';
import { callOn, framed, grpcConnection } from '../../../support/collector/grpc-call.ts';
import { post } from '../../../support/collector/otlp-post.ts';
import { startTestCollector } from '../../../support/collector/test-collector.ts';
import { queryRows, runCommand } from '../../../support/store/clickhouse-query.ts';
import { findTexts } from '../../../support/store/find-texts.ts';
import { buildRunRecord } from '../../../support/store/run-rows.ts';
import {
  buildDecision,
  buildLog,
  buildScore,
  buildSpan,
  logBlock,
  newTraceId,
  openEmptied,
  spanBlock,
  testStore,
  type TestStore,
} from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

const KEY = createPurgeKey('a secret of sixteen characters');
const FAST = { settleMs: 50, lookEveryMs: 500, beatEveryMs: 1_000, ttlMs: 4_000 };

const HOUR_MS = 3_600_000;

let it: TestStore;
let store: Store;
let purged: WatchedTraces;
const runners: JobRunner[] = [];

beforeAll(async () => {
  it = await testStore();
});
beforeEach(async () => {
  store = await openEmptied(it.options);
  purged = await watchPurgedTraces({ tombstones: store.tombstones, nowMs, key: KEY, log: silentLog });
});
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  purged.stop();
  await store.close();
});
afterAll(async () => {
  await it.stop();
});

const nowMs = () => store.spans.nowMs();

function startRunner(purges: PurgeStore = store.purges, duties = store.duties): JobRunner {
  const kind = createPurgeKind({ purges, jobs: store.jobs, key: KEY, nowMs, secondPassMs: 0 });
  const deps = { jobs: store.jobs, duties, nowMs, kinds: [kind], log: silentLog };
  const runner = startJobRunner(deps, { lookEveryMs: 500, firstRetryMs: 10, lease: FAST });
  runners.push(runner);
  return runner;
}

const prepare = (subject: Partial<PurgeSubject>, beforeMs?: number) =>
  preparePurge(
    { ...store, nowMs },
    KEY,
    { kind: 'user', id: 'ann', tenant: undefined, ...subject },
    beforeMs,
  );

async function follow(id: string): Promise<Job> {
  return followJob(store.jobs, id, { onChange: () => undefined, signal: new AbortController().signal });
}

async function purge(subject: Partial<PurgeSubject>, beforeMs?: number): Promise<Job> {
  const id = await (await prepare(subject, beforeMs)).start();
  startRunner();
  return follow(id);
}

interface Run {
  readonly userId?: string;
  readonly sessionId?: string;
  readonly tenant?: string;
  readonly evidenceUntil?: number;
}

/** Stores a run of a user in every table that names a trace or a session. Returns its trace id. */
async function storeRun({
  userId = 'ann',
  sessionId = `${userId}-chat`,
  tenant = '',
  ...rest
}: Run = {}): Promise<string> {
  const traceId = newTraceId();
  const evidenceUntil = rest.evidenceUntil ?? (await nowMs());
  const common = { tenant, evidenceUntil };
  const said = `the umbrella of ${userId}`;
  const attributes = new Map([
    ['user.id', userId],
    ['gen_ai.output.messages', said],
  ]);
  const id = newTraceId();
  await store.sink.insert(spanBlock([buildSpan({ traceId, attributes })], tenant), `${id}-s`);
  await store.sink.insert(logBlock([buildLog({ traceId, body: said })], tenant), `${id}-l`);
  const score = buildScore({ ...common, traceId, userId, sessionId, reason: said });
  const ofSession = { ...common, traceId: '', target: 'session' as const, targetId: sessionId, sessionId };
  const sessionScore = buildScore({ ...ofSession, reason: `turns: ${said}`, userId: '' });
  await store.scores.write([score, sessionScore]);
  await store.runs.write([
    buildRunRecord({
      ...common,
      traceId,
      targetId: traceId,
      userId,
      sessionId,
      question: said,
      answer: said,
    }),
    buildRunRecord({ ...ofSession, userId }),
  ]);
  const failure = buildFailure({
    ...common,
    traceId,
    userId,
    sessionId,
    signatureId: `issue-${id}`,
    text: said,
  });
  await store.failures.write([failure]);
  await store.failures.writeIssues([
    buildIssueRow(failure, { title: said, split: [`${traceId} issue-${id} other`] }),
  ]);
  await store.decisions.write([
    buildDecision({ ...common, traceId, targetId: traceId, reason: said }),
    buildDecision({ ...common, traceId: '', target: 'session', targetId: sessionId }),
  ]);
  const call = {
    tenant,
    scorer: 'h',
    step: 's',
    model: 'm',
    servedModel: '',
    status: 'success',
    prompt: said,
    reply: said,
    error: '',
    inputTokens: 1,
    outputTokens: 1,
    costUsd: 1,
    durationMs: 1,
    calledAtMs: evidenceUntil,
  } as const;
  await store.judgeCalls.write(
    [score, sessionScore].map((each) => ({ ...call, traceId: each.traceId, scoreId: each.scoreId })),
  );
  await store.scoreFeed.record('webhook', [
    {
      scoreId: score.scoreId,
      revision: 1,
      isDeleted: false,
      round: 1,
      outcome: 'delivered',
      writtenAtMs: evidenceUntil,
    },
  ]);
  await store.deadLetters.write([
    aLetter({
      tenant,
      body: Buffer.concat([Buffer.from([10, 16]), Buffer.from(traceId, 'hex'), Buffer.from([255])]),
    }),
  ]);
  await runCommand(
    it.options,
    `INSERT INTO alert_events (EventId, IncidentId, Tenant, Status, Alert, StartsAt, Event)
     SELECT generateUUIDv4(), generateUUIDv4(), '${tenant}', 'firing', 'Worse', now64(3), '${JSON.stringify({ worstTraces: [{ traceId, score: 0 }] })}'`,
  );
  return traceId;
}

async function countRows(table: string, where = '1'): Promise<number> {
  const [row] = await queryRows<{ n: string }>(
    it.options,
    `SELECT count() AS n FROM ${table} WHERE ${where}`,
  );
  return Number(row?.n);
}

test('a purged user is in no column of any table; other users keep all rows', async () => {
  const ofAnn = [await storeRun(), await storeRun({ sessionId: 'shared-chat' })];
  const ofBob = await storeRun({ userId: 'bob', sessionId: 'shared-chat' });
  const texts = [...ofAnn, 'of ann', '"ann"', 'ann-chat'];
  const before = await findTexts(it.options, texts);
  const bobBefore = await findTexts(it.options, [ofBob, 'umbrella of bob']);
  const job = await purge({ id: 'ann' });

  expect([...new Set(before.map((hit) => hit.split(':')[0]))].join(' ')).toBe(
    'alert_events decision_arrivals decisions failures issues judge_calls otel_logs otel_traces run_starts runs score_arrivals score_starts scores trace_activity trace_arrivals trace_starts',
  );
  expect(job).toMatchObject({ status: 'done', error: '', report: { traces: 2, sessions: 2, mentions: 0 } });
  expect(job.report['rows']).toMatchObject({ otel_traces: 2, otel_logs: 2, dead_letters: 2, deliveries: 4 });
  expect(await findTexts(it.options, texts)).toEqual([]);
  expect(await countRows('purge_items')).toBe(0);
  // The row of the shared session goes, too: it quotes a turn of the purged user.
  // Titles of the tenant are emptied, and made again from the failures that stay.
  const kept = bobBefore.filter((hit) => !hit.startsWith('issues:'));
  const bobAfter = await findTexts(it.options, [ofBob, 'umbrella of bob']);
  expect(bobAfter.filter((hit) => !hit.startsWith('issues:'))).toEqual(kept);
  expect(await countRows('scores', "Target = 'session'")).toBe(0);
  expect(await countRows('dead_letters')).toBe(1);
  expect(await countRows('deliveries', "Kind = 'score'")).toBe(1);
  expect(await countRows('decisions', "Target = 'session' AND TargetId = 'shared-chat'")).toBe(0);
});

test('the title of an issue is made again from what other users have', async () => {
  const claim = async (userId: string, age: number) => {
    const traceId = await storeRun({ userId });
    const failure = buildFailure({
      traceId,
      userId,
      signatureId: `claim-of-${age}`,
      kind: 'claim',
      subject: { verdict: 'unsupported', text: `the red umbrella was sent with a card of ${userId}` },
      traceTimestamp: (await nowMs()) - age,
    });
    await store.failures.write([failure]);
  };
  await claim('ann', 2_000);
  await claim('bob', 1_000);
  const readTitles = async () => {
    await updateIssues(store);
    const issues = await store.failures.issues(undefined);
    return issues.filter(({ kind }) => kind === 'claim').map(({ issueId, title }) => ({ issueId, title }));
  };
  const title = (userId: string) =>
    `answer has a claim that is unsupported: the red umbrella was sent with a card of ${userId}`;
  expect(await readTitles()).toEqual([{ issueId: 'claim-of-2000', title: title('ann') }]);
  expect(await purge({ id: 'ann' })).toMatchObject({ status: 'done' });
  expect(await findTexts(it.options, ['of ann', '"ann"'])).toEqual([]);
  expect(await readTitles()).toEqual([{ issueId: 'claim-of-2000', title: title('bob') }]);
  expect(await findTexts(it.options, ['of ann', '"ann"'])).toEqual([]);
});

test('the title that a judge wrote from a purged example is made again, and other titles stay', async () => {
  const named = async (userId: string, id: string, words: string) => {
    const traceId = await storeRun({ userId });
    const failure = buildFailure({ traceId, userId, signatureId: id, failureId: id, subject: { tool: id } });
    await store.failures.write([failure]);
    await updateIssues(store);
    await store.failures.name(buildIssueRow(failure), { title: words, named: [traceId] });
  };
  await named('ann', 'lookup', 'the umbrella of ann is lost');
  await named('bob', 'refund', 'the umbrella of bob is lost');
  expect(await purge({ id: 'ann' })).toMatchObject({ status: 'done' });
  expect(await findTexts(it.options, ['of ann', '"ann"'])).toEqual([]);
  await updateIssues(store);
  const issues = await store.failures.issues(undefined);
  expect(issues.map(({ issueId, title }) => [issueId, title])).toEqual(
    expect.arrayContaining([['refund', 'the umbrella of bob is lost']]),
  );
  expect(issues.filter(({ issueId }) => issueId === 'lookup')).toEqual([]);
});

test('a session of which turns are left is found by the search for undecided sessions', async () => {
  await storeRun({ sessionId: 'shared-chat' });
  await storeRun({ userId: 'bob', sessionId: 'shared-chat' });
  await purge({ id: 'ann' });
  const pair = { rule: 'r', scorer: 's', fromMs: 0, untilMs: Infinity };
  const found = await store.sessions.undecided({ sinceMs: 0, pairs: [pair], shards: null, limit: 9 });

  expect(found.map(({ sessionId }) => sessionId)).toEqual(['shared-chat']);
  expect((await store.sessions.turns({ tenant: '', sessionId: 'shared-chat' }, 9)).count).toBe(1);
});

const nest = (value: unknown): string => JSON.stringify({ about: JSON.stringify(value) });
/** Writes every character as its number, as JSON may. */
const number = (id: string): string =>
  id.replace(/[^]/g, (char) => String.raw`\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Texts that name an id as a value, texts that name it in plain text, and texts of others. */
const SPELLINGS: readonly (readonly [id: string, values: string[], plain: string[], others: string[]])[] = [
  [
    'user-9417',
    [
      'user-9417',
      nest({ userId: 'user-9417' }),
      `{"user": "${number('user-9417')}"}`,
      nest({ user: 'user-9417' }).replaceAll(String.raw`\"`, String.raw`\u0022`),
      "{'user': 'user-9417'}",
      '{"user-9417":{"plan":"big"}}',
      ' user-9417\n',
      'https://x.io/?plan=big&user=user-9417#top',
      'https://x.io/?ctx=%7B%22user%22%3A%22user-9417%22%7D',
    ],
    ['user-9417,gold', 'id:user-9417', 'https://x.io/u/user-9417?a=1', 'USER-9417', String.raw`a\nuser-9417`],
    ['user-94170', '{"user":"user-94171"}', 'superuser-9417'],
  ],
  [
    '94170001',
    [
      '94170001',
      '{"user_id":94170001}',
      '[1, 94170001]',
      nest({ ids: [1, 94170001, 2] }),
      JSON.stringify({ a: JSON.stringify({ id: 94170001 }, null, 2) }),
      '{"user_id":"94170001"}',
      '{"user_id":94170001.0}',
      '[9.4170001E7]',
      '{"a":"{\\"b\\": 9.4170001e+07}"}',
      '?id=94170001&a=1',
    ],
    ['{"a":-94170001}', '{"a":94170001.5}', 'call 94170001'],
    ['{"a":194170001}', '{"a":941700010}', '{"a":94170001e3}', '{"a":19.4170001e7}', '{"a":9.4170001e8}'],
  ],
  ['900', ['9.0e2', '{"a":[9e2]}'], [], ['{"a":9e3}']],
  [
    'müller-9417',
    [
      String.raw`{"user_id": "m\u00fcller-9417"}`,
      String.raw`{"user_id": "m\u00FCller-9417"}`,
      nest({ id: 'müller-9417' }),
      JSON.stringify({ a: String.raw`{"id":"m\u00fcller-9417"}` }),
      'https://x.io/?back=%2F%3Fuser%3D%2522m%25C3%25BCller-9417%2522',
      '/?user=m%c3%bcller-9417',
    ],
    ['MÜLLER-9417', '/u/m%C3%BCller-9417', String.raw`of m\u00fcller-9417!`],
    [String.raw`"m\u00fdller-9417"`, 'muller-9417'],
  ],
  [
    'org/9417\\"ä',
    [String.raw`{"id":"org\/9417\\\"\u00e4"}`, nest({ id: 'org/9417\\"ä' }), JSON.stringify('org/9417\\"ä')],
    [],
    ['org-9417'],
  ],
  [
    'zoé-9417',
    [
      'zoe\u0301-9417',
      nest({ id: 'zoe\u0301-9417' }),
      String.raw`{"id":"zoe\u0301-9417"}`,
      String.raw`{"id":"zo\u00e9-9417"}`,
      '/?user=zoe%CC%81-9417',
    ],
    ['of zoe\u0301-9417!'],
    // Letters that only look alike are another id.
    ['zoe-9417', '\uff5a\uff4f\u00e9-9417'],
  ],
  ['\u1100\u1175\u11b7', ['\uae40', String.raw`{"id":"\uae40"}`], [], ['\uae34']],
  ['ann 😀', [String.raw`{"id":"ann \ud83d\ude00"}`, String.raw`"ann\u0020\uD83D\uDE00"`], [], ['"ann 😁"']],
];

test('an id is found as a value in every spelling of JSON; other ids are not, and plain text is counted', async () => {
  const inPlaces = (text: string) => {
    const attributes = new Map([['a', text]]);
    return [
      buildSpan({ attributes }),
      buildSpan({ events: [{ name: 'e', timeUnixNano: 1n, attributes }] }),
      buildSpan({ links: [{ traceId: newTraceId(), spanId: 'b'.repeat(16), traceState: '', attributes }] }),
      buildSpan({ resourceAttributes: attributes }),
      buildSpan({ statusCode: 'Error', statusMessage: text }),
      buildSpan({ attributes: new Map([[text, 'big']]) }),
      buildSpan({ scopeName: text }),
    ];
  };
  const expected = new Map<string, string>();
  const spans = SPELLINGS.flatMap(([id, values, plain, others]) => [
    ...values.flatMap(inPlaces).map((span) => (expected.set(span.traceId, id), span)),
    ...[...plain, ...others].map((text) => buildSpan({ attributes: new Map([['a', text]]) })),
  ]);
  const logs = SPELLINGS.map(([id, [, value = '']]) => [id, buildLog({ body: value })] as const);
  logs.forEach(([id, { traceId }]) => expected.set(traceId, id));
  await store.sink.insert(spanBlock(spans), 'spellings');
  await store.sink.insert(logBlock(logs.map(([, log]) => log)), 'spelt logs');
  const ofNumber = { key: 'user.id', value: { intValue: '94170001' } };
  const letter = aLetter({ body: requestBytes(traceRequest([jsonSpan({ attributes: [ofNumber] })])) });
  await store.deadLetters.write([letter, aLetter({ body: Buffer.from([24, 209, 217, 244]) })]);
  for (const [jobId, [id, , plain]] of SPELLINGS.entries()) {
    const subject = { kind: 'user', id, tenant: undefined } as const;
    await store.purges.collect(`job ${jobId}`, subject);
    const found = await queryRows<{ Id: string }>(
      it.options,
      `SELECT Id FROM purge_items WHERE Kind = 'trace' AND JobId = 'job ${jobId}'`,
    );
    const named = [...expected].filter(([, owner]) => owner === id).map(([traceId]) => traceId);

    expect([id, found.map(({ Id }) => Id).sort()]).toEqual([id, named.sort()]);
    expect([id, await store.purges.countMentions(`job ${jobId}`, subject)]).toEqual([id, plain.length]);
  }
  const letters = await queryRows<{ Id: string }>(
    it.options,
    "SELECT Id FROM purge_items WHERE Kind = 'letter'",
  );
  expect(letters).toEqual([{ Id: letter.id }]);
  await expect(prepare({ id: 'gold' })).rejects.toThrow('1 further text names the id in plain text');
  for (const id of ['é"'.repeat(5_000), '김"'.repeat(125)]) {
    await store.purges.collect('long', { kind: 'user', id, tenant: undefined });
  }
});

test('late spans over HTTP and gRPC are a partial success and are not stored; their neighbours are', async () => {
  const traceId = await storeRun();
  await purge({ id: 'ann' });
  const collector = await startTestCollector({
    sink: store.sink,
    deadLetters: store.deadLetters,
    purged,
    log: silentLog,
    grpc: { host: '127.0.0.1', port: 0 },
  });
  await until(() => !purged.isEmpty);
  const other = newTraceId();
  const late = traceRequest([jsonSpan({ traceId }), jsonSpan({ traceId: other }), jsonSpan({ traceId })]);
  const overHttp = await post(collector.address, { body: late });
  const session = grpcConnection(collector.grpcAddress!);
  const overGrpc = await callOn(session, {
    body: framed(requestBytes(traceRequest([jsonSpan({ traceId })]))),
  });
  session.close();
  await collector.stop();

  expect(overHttp.status).toBe(200);
  expect(JSON.parse(overHttp.body)).toEqual({
    partialSuccess: { rejectedSpans: '2', errorMessage: '2 spans rejected: 2 records of purged traces' },
  });
  expect(overGrpc.status).toBe(0);
  expect(overGrpc.body.toString()).toContain('1 spans rejected: 1 record of purged traces');
  expect(collector.count('spanscore.receiver.records.purged')).toBe(3);
  expect(collector.count('spanscore.receiver.records.written traces')).toBe(1);
  expect(collector.count('spanscore.receiver.records.rejected')).toBe(0);
  expect(await countRows('otel_traces', `TraceId = '${other}'`)).toBe(1);
  expect(await findTexts(it.options, [traceId])).toEqual([]);
});

test('scorers that still work on a purged trace write nothing, and find nothing', async () => {
  const traceId = await storeRun();
  const guarded = withoutPurged(store, purged);
  await purge({ id: 'ann' });
  await until(() => !purged.isEmpty);
  await store.sink.insert(spanBlock([buildSpan({ traceId })]), 'raced');
  const key = { tenant: '', traceId };
  await guarded.scores.write([buildScore({ traceId })]);
  await guarded.decisions.write([buildDecision({ traceId }), buildDecision()]);
  await guarded.runs.write([buildRunRecord({ traceId })]);

  expect(await countRows('scores', `TraceId = '${traceId}'`)).toBe(0);
  expect(await countRows('runs', `TraceId = '${traceId}'`)).toBe(0);
  expect(await countRows('decisions')).toBe(1);
  expect((await guarded.spans.activity([key])).size).toBe(0);
  expect((await guarded.spans.read([key])).get(joinTraceKey(key))).toBeUndefined();
});

test('a trace that had begun before the purge goes when its last spans name the user; a new trace stays', async () => {
  const begun = newTraceId();
  await store.sink.insert(spanBlock([buildSpan({ traceId: begun })]), 'begun');
  await storeRun();
  await purge({ id: 'ann' });
  await until(() => purged.findUser('', 'ann') !== undefined);
  const fresh = newTraceId();
  await store.sink.insert(spanBlock([begun, fresh].map((traceId) => buildSpan({ traceId }))), 'last spans');
  const deps = { ...store, nowMs, purged, key: KEY, log: silentLog };
  const guarded = withoutPurged(store, purged, (records) => purgeLateTraces(deps, records));
  await guarded.runs.write(
    [begun, fresh].map((traceId) => buildRunRecord({ traceId, targetId: traceId, userId: 'ann' })),
  );
  await until(async () => (await store.jobs.listOpen()).length === 0);

  expect((await store.jobs.list({ kind: 'purge' }, { limit: 9 })).items).toHaveLength(2);
  expect(await findTexts(it.options, [begun])).toEqual([]);
  expect(await countRows('otel_traces', `TraceId = '${fresh}'`)).toBe(1);
});

test('a trace that an open purge of its user has collected gets no purge of its own', async () => {
  const traceId = await storeRun();
  // No process has taken the purge yet, as after a kill.
  const id = await (await prepare({ id: 'ann' })).start();
  await until(() => purged.findUser('', 'ann') !== undefined);
  const deps = { ...store, nowMs, purged, key: KEY, log: silentLog };
  const guarded = withoutPurged(store, purged, (records) => purgeLateTraces(deps, records));
  await guarded.runs.write([buildRunRecord({ traceId, targetId: traceId, userId: 'ann' })]);

  expect((await store.jobs.listOpen()).map((job) => job.id)).toEqual([id]);
  startRunner();
  expect(await follow(id)).toMatchObject({ status: 'done', report: { traces: 1 } });
  expect(await findTexts(it.options, [traceId])).toEqual([]);
});

test('a killed purge is finished by another process, and counts each row once', async () => {
  const traceId = await storeRun();
  let isDead = false;
  const failing = async (): Promise<never> => {
    throw new Error('killed');
  };
  const { duties, purges } = store;
  const first = startRunner(
    {
      ...purges,
      // The process is killed after the deletion from some tables.
      remove: async (id, tables, signal) => {
        await purges.remove(id, tables.slice(0, 5), signal);
        isDead = true;
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      },
    },
    {
      ...duties,
      beat: (beats) => (isDead ? failing() : duties.beat(beats)),
      readMembers: (names, ttlMs) => (isDead ? failing() : duties.readMembers(names, ttlMs)),
    },
  );
  const id = await (await prepare({ id: 'ann' })).start();
  await until(() => isDead);
  expect(await findOpenPurge(store.jobs, KEY, { kind: 'user', id: 'ann', tenant: undefined }, false)).toBe(
    id,
  );
  expect(await findTexts(it.options, [traceId])).not.toEqual([]);
  startRunner();
  const job = await follow(id);
  await first.stop();

  expect(job).toMatchObject({ status: 'done', report: { traces: 1, sessions: 1 } });
  expect(job.report['rows']).toMatchObject({
    otel_traces: 1,
    otel_logs: 1,
    scores: 2,
    runs: 2,
    decisions: 2,
  });
  expect(await findTexts(it.options, [traceId, 'of ann', 'ann-chat'])).toEqual([]);
});

test('rows that an insert under way adds after the first pass are deleted by the second', async () => {
  await storeRun({ userId: 'zoé' });
  const { purges } = store;
  let late = '';
  // The late row has the other normal form of the id.
  const startedAtMs = await nowMs();
  const id = await (await prepare({ id: 'zoé' })).start();
  startRunner({
    ...purges,
    // The insert was stamped before the purge began, and became visible after its first pass.
    collectByHash: async (...terms) => {
      const span = buildSpan({ attributes: new Map([['user.id', 'zoé']]) });
      late = span.traceId;
      await store.sink.insert(spanBlock([span]), 'late');
      const before = new Date(startedAtMs - 1_000).toISOString().replace(/[TZ]/g, ' ');
      await runCommand(
        it.options,
        `INSERT INTO otel_traces (TraceId, SpanId, SpanAttributes, ArrivedAt)
        SELECT '${newTraceId()}', 's', map('enduser.id', 'zoe\u0301'), '${before}'`,
      );
      await runCommand(
        it.options,
        `ALTER TABLE otel_traces DELETE WHERE TraceId = '${late}' SETTINGS mutations_sync = 1`,
      );
      await purges.collectByHash(...terms);
    },
  });
  await follow(id);

  expect(late).not.toBe('');
  expect(await countRows('otel_traces')).toBe(0);
});

test('a tenant is purged from every table with tenants; sums of money stay', async () => {
  await storeRun({ tenant: 'acme' });
  const kept = await storeRun({ tenant: 'other' });
  const before = await findTexts(it.options, [kept, 'other']);
  const job = await purge({ kind: 'tenant', id: 'acme' });

  expect(job).toMatchObject({ status: 'done', tenant: '', report: { traces: 1 } });
  expect(await findTexts(it.options, ['acme'])).toEqual(['tombstones: acme']);
  expect(await findTexts(it.options, [kept, 'other'])).toEqual(before);
});

test('with a limit of age, traces with younger data stay', async () => {
  const monthAgoMs = (await nowMs()) - 30 * 86_400_000;
  const old = newTraceId();
  await store.runs.write([
    buildRunRecord({ traceId: old, targetId: old, userId: 'ann', evidenceUntil: monthAgoMs }),
  ]);
  const young = await storeRun();
  const job = await purge({ id: 'ann' }, monthAgoMs + 86_400_000);

  expect(job.report).toMatchObject({ traces: 1, rows: { runs: 1 } });
  expect(await findTexts(it.options, [old])).toEqual([]);
  expect(await countRows('otel_traces', `TraceId = '${young}'`)).toBe(1);
});

test('an id of several tenants and an unknown id are refused, and nothing is left of the search', async () => {
  await storeRun({ tenant: 'acme' });
  await storeRun({ tenant: 'other' });

  const refused = await prepare({ id: 'ann' }).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    message:
      'several tenants have the user ann: "acme", "other"; name one (--tenant, or the parameter tenant)',
  });
  expect(chooseExitCode(refused)).toBe(2);
  await expect(prepare({ id: 'nobody' })).rejects.toThrow('nothing of the user nobody is stored');
  expect(await countRows('purge_items')).toBe(0);
  expect(await purge({ id: 'ann', tenant: 'acme' })).toMatchObject({ status: 'done', tenant: 'acme' });
  expect(await countRows('otel_traces', "Tenant = 'other'")).toBe(1);
});

test('a process with another key refuses to start, and leaves the job to others', async () => {
  await storeRun();
  const id = await (await prepare({ id: 'ann' })).start();
  const other = createPurgeKey('another secret of some characters');
  const deps = { tombstones: store.tombstones, nowMs, key: other, log: silentLog };

  await expect(watchPurgedTraces(deps)).rejects.toThrow('the same store.purgeKey');
  const kind = createPurgeKind({
    purges: store.purges,
    jobs: store.jobs,
    key: other,
    nowMs,
    secondPassMs: 0,
  });
  expect(kind.refuse?.((await store.jobs.find(id))!)).toContain('store.purgeKey');
});

test('jobs and tombstones hold no id', async () => {
  const traceId = await storeRun({ userId: 'ann-marie' });
  await purge({ id: 'ann-marie' });
  const rows = await queryRows<{ text: string }>(
    it.options,
    `SELECT formatRow('JSONEachRow', *) AS text FROM jobs UNION ALL SELECT formatRow('JSONEachRow', *) FROM tombstones`,
  );

  expect(rows.length).toBeGreaterThan(3);
  expect(rows.filter(({ text }) => text.includes('ann-marie') || text.includes(traceId))).toEqual([]);
});

test('no row of a job names what was purged: a backfill and a rescore go on, and one about the user is cancelled', async () => {
  const chats = ['ann-chat', 'bob-chat', 'cy-chat'];
  const traceIds = chats.map(newTraceId);
  for (const [n, traceId] of traceIds.entries()) {
    const trace = anAgentTrace(traceId, Date.now() - 24 * HOUR_MS + n).withAttributes({
      'gen_ai.conversation.id': chats[n]!,
      'user.id': chats[n]!.split('-')[0]!,
    });
    await storeSpans(store, decodeOtlpJson(trace.request()).spans);
  }
  const deps = { stores: store, readTrace, log: silentLog };
  const scoring = createScoring(deps, { decisionWaitMs: 1, judgeAttempts: 1 });
  const rules = ['trace', 'session'].map((target) =>
    buildRule([judged(`a-${target}`)], { name: target, target: target as TargetKind }),
  );
  const fails = prepareRule(
    buildRule([
      judged('f', () => {
        throw new Error('no number');
      }),
    ]),
  );
  const history = await recordRules(store.ruleVersions, [fails], (await nowMs()) - 60_000);
  const keys = traceIds.map((traceId) => ({ tenant: '', traceId }));
  await until(async () => {
    const outcomes = await scoreTraces(scoring, keys, liveMode([fails], history));
    return outcomes.every(({ waitUntilMs }) => waitUntilMs === null);
  });
  const range = { fromMs: Date.now() - 48 * HOUR_MS, toMs: Date.now() };
  const where = { attributes: { 'user.id': ['ann'] } };
  const kinds = [
    createBackfillKind(scoring, { rules, pageSize: 1 }),
    rescoreKind({
      scoring,
      repairs: store.repairs,
      rules: [fails],
      sessions: NO_SESSION_WAIT,
      settleMs: 0,
      hide: KEY.hide,
    }),
  ];
  const open = async (kind: string, spec: object) =>
    openJob(store.jobs, { kind, tenant: '', spec: { ...spec } }, KEY.hide);
  const backfill = await open(BACKFILL, buildBackfillSpec({ ...range, rules }));
  const ofAnn = await open(BACKFILL, buildBackfillSpec({ ...range, rules: rules.slice(0, 1), where }));
  const rescore = await open(RESCORE, buildRescoreSpec([fails], {}));
  const runner = startJobRunner(
    { jobs: store.jobs, duties: store.duties, nowMs, kinds, log: silentLog },
    { lookEveryMs: 500, firstRetryMs: 10, maxRunning: 3, lease: FAST },
  );
  runners.push(runner);
  for (const id of [backfill, ofAnn, rescore]) {
    expect(await follow(id)).toMatchObject({ status: 'done' });
  }
  const paused = await open(BACKFILL, buildBackfillSpec({ ...range, rules, where }));
  await store.jobs.order(paused, 'pause');

  await purge({ id: 'ann' });

  expect(await findTexts(it.options, [traceIds[0]!, '"ann"', 'ann-chat'])).toEqual([]);
  expect(await findTexts(it.options, traceIds)).not.toEqual([]);
  expect((await findTexts(it.options, traceIds)).filter((hit) => hit.startsWith('jobs'))).toEqual([]);
  expect(await store.jobs.find(paused)).toMatchObject({
    status: 'cancelled',
    left: expect.stringContaining('a purge cancelled the job'),
    spec: { where: { attributes: { 'user.id': [`hmac:${KEY.compute('user', '', 'ann')}`] } } },
  });
  expect(await store.jobs.find(ofAnn)).toMatchObject({ status: 'done', left: '' });
});

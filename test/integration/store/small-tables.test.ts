import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSignIns } from '../../../src/api/writes/audit.ts';
import { chooseRange } from '../../../src/domain/behaviour/measures.ts';
import { DAY_MS } from '../../../src/domain/durations.ts';
import { QueryStoppedError } from '../../../src/domain/errors.ts';
import type { RunRecord } from '../../../src/domain/run-record.ts';
import type { Score } from '../../../src/domain/score.ts';
import { type BehaviourRunInput, createBehaviourScorer } from '../../../src/scorers/prebuilt/behaviour.ts';
import { AgentPasts } from '../../../src/scoring/read/lookups.ts';
import { type AgentKey, joinAgentKey, joinTraceKey } from '../../../src/store/contracts/stores.ts';
import { openStore } from '../../../src/store/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { aLetter } from '../../support/builders/a-letter.ts';
import { buildRun } from '../../support/builders/judged-cases.ts';
import { queryRows, runCommand } from '../../support/store/clickhouse-query.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import {
  buildScore,
  buildSpan,
  newTraceId,
  openEmptied,
  spanBlock,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';

// Tables with few cases share one store. The case that empties all tables comes last but for the cases on its keys.

let it: TestStore;

beforeAll(async () => {
  it = await testStore();
});
afterAll(() => it.stop());

test('every member that beats sees itself and the other members, with their work', async () => {
  const names = async (member: string) =>
    (await it.store.members.beat(member, { pairs: [member, 'shared'] })).members.map(({ name }) => name);
  expect(await names('a')).toEqual(['a']);
  expect(await names('b')).toEqual(['a', 'b']);
  const { members } = await it.store.members.beat('a', { pairs: ['changed'] });
  expect(members).toMatchObject([
    { name: 'a', pairs: ['changed'], isLeaving: false },
    { name: 'b', pairs: ['b', 'shared'], isLeaving: false },
  ]);
});

test('a beat is stamped by the store', async () => {
  const first = await it.store.members.beat('stamped', { pairs: [] });
  const second = await it.store.members.beat('stamped', { pairs: [] });
  const find = ({ members }: typeof first) => members.find(({ name }) => name === 'stamped')!.beatAtMs;
  expect(find(first)).toBeLessThanOrEqual(first.nowMs);
  expect(find(second)).toBeGreaterThan(find(first));
  expect(find(second)).toBeLessThanOrEqual(second.nowMs);
});

test('a member that leaves is marked, and may come back', async () => {
  const isLeaving = async (leaving: boolean) =>
    (await it.store.members.beat('c', { pairs: [], leaving })).members.find(({ name }) => name === 'c')
      ?.isLeaving;
  expect(await isLeaving(false)).toBe(false);
  expect(await isLeaving(true)).toBe(true);
  expect(await isLeaving(false)).toBe(false);
});

test('all members are dismissed at once, and one that still runs comes back with its next beat', async () => {
  for (const member of ['killed', 'runs', 'left']) {
    await it.store.members.beat(member, { pairs: ['work'], leaving: member === 'left' });
  }

  await it.store.members.dismissAll();

  const { members } = await it.store.members.beat('runs', { pairs: ['work'] });
  expect(members.filter(({ isLeaving }) => !isLeaving)).toMatchObject([{ name: 'runs', pairs: ['work'] }]);
  expect(members.find(({ name }) => name === 'killed')).toMatchObject({ pairs: ['work'], isLeaving: true });
});

test('beats and reads of one moment are one insert and one read, and each caller gets its own members', async () => {
  const { members, duties } = it.store;
  const beat = (member: string, duty: string) => ({ duty, member, joinedAtMs: undefined, isLeaving: false });
  for (let round = 0; round < 5; round += 1) {
    const [scorer] = await Promise.all([
      members.beat(`scorer ${round}`, { pairs: ['work'] }),
      duties.beat([beat(`member ${round}`, 'along')]),
      duties.beat([beat(`member ${round}`, 'apart')]),
    ]);
    const [along, apart, aged] = await Promise.all([
      duties.readMembers(['along'], 15_000),
      duties.readMembers(['apart'], 15_000),
      duties.readMembers(['apart'], 0),
    ]);
    const own = scorer.members.find(({ name }) => name === `scorer ${round}`);
    expect(own).toMatchObject({ pairs: ['work'], isLeaving: false });
    expect(scorer.members.filter(({ name }) => name.startsWith('member'))).toEqual([]);
    const mate = along.find(({ member }) => member === `member ${round}`);
    // Rows of one insert have one stamp, and those of one read one clock.
    expect(mate?.beatAtMs).toBe(own?.beatAtMs);
    expect([along.length, apart.length]).toEqual([round + 1, round + 1]);
    expect(apart[0]?.nowMs).toBe(along[0]?.nowMs);
    expect(aged.every(({ beatAtMs, nowMs }) => beatAtMs >= nowMs)).toBe(true);
  }
});

test('the duties of all members are free at once after a dismissal', async () => {
  const { duties } = it.store;
  const beat = (member: string) =>
    duties.beat([{ duty: 'exporter a', member, joinedAtMs: undefined, isLeaving: false }]);
  const names = async () => (await duties.readMembers(['exporter a'], 15_000)).map(({ member }) => member);
  await beat('killed');
  await duties.dismissAll();
  await beat('started');

  expect(await names()).toEqual(['started']);

  await duties.dismissAll();
  expect(await names()).toEqual([]);
});

test.runIf(process.platform === 'linux')(
  'a duty of a process of this machine that was killed is free at once, and one of another machine is not',
  async () => {
    const { duties } = it.store;
    const own = duties.nameMember();
    // This process has another start: a killed one had its pid.
    const killed = own.replace(/\d+$/, (start) => String(Number(start) - 1));
    const elsewhere = killed.replace(/ \S+ /, ` ${'f'.repeat(16)} `);
    await duties.beat(
      [killed, elsewhere, own].map((member) => ({
        duty: 'job 1',
        member,
        joinedAtMs: undefined,
        isLeaving: false,
      })),
    );
    const members = await duties.readMembers(['job 1'], 15_000);
    expect(members.map(({ member }) => member).sort()).toEqual([elsewhere, own].sort());
  },
);

test('the runs of the members that evaluate monitors reach from the first to the last beat, also after a dismissal', async () => {
  const { duties, monitors } = it.store;
  const joinedAtMs = (await monitors.nowMs()) - 3_600_000;
  const beat = (member: string, joined?: number) =>
    duties.beat([{ duty: 'monitors', member, joinedAtMs: joined, isLeaving: false }]);
  await beat('one', joinedAtMs);
  await beat('two');
  const before = await monitors.runs();
  expect(before).toHaveLength(2);
  expect(before[0]?.fromMs).toBe(joinedAtMs);

  await duties.dismissAll();

  const after = await monitors.runs();
  expect(after.map(({ toMs }) => toMs)).toEqual(before.map(({ toMs }) => toMs + 1));
});

const PATH = 'weather → answer';

/** Stores what the scorer writes for runs of an agent: the steps with their path, and the tokens. */
async function writeRuns(agent: string, runs: number, more: Partial<Score> = {}): Promise<void> {
  const nowMs = more.scoredAt ?? Date.now();
  const row = { agent, scoredAt: nowMs, day: new Date(nowMs).toISOString().slice(0, 10), ...more };
  const ofRun = (_: unknown, index: number) => [
    buildScore({ ...row, scorer: 'behaviour-steps', score: 2, scoreMin: 0, scoreMax: 10, reason: PATH }),
    buildScore({
      ...row,
      scorer: 'behaviour-tokens',
      score: 1_000 * (index + 1),
      scoreMin: 0,
      scoreMax: 20_000,
    }),
  ];
  await it.store.scores.write(Array.from({ length: runs }, ofRun).flat());
}

function keyOf(agent: string): AgentKey {
  return { tenant: '', target: 'trace', agent };
}

/** Returns the rows that a run of this agent gets, with their ranges. */
async function scoreRun(past: BehaviourRunInput['past']) {
  const input = { ...buildRun(), usage: { totalTokens: 900 }, ...(past === undefined ? {} : { past }) };
  const { scores = [] } = await createBehaviourScorer().run(input as BehaviourRunInput);
  return new Map(scores.map((row) => [row.name, row]));
}

test('a run has a path from 20 stored runs of its agent on, and the range of their tokens', async () => {
  await writeRuns('young', 19);
  await writeRuns('grown', 20);
  const pasts = await it.store.agentPasts.read((name) => name);
  const young = await scoreRun(pasts.get(joinAgentKey(keyOf('young'))));
  const grown = await scoreRun(pasts.get(joinAgentKey(keyOf('grown'))));
  expect([young.has('behaviour-path'), grown.has('behaviour-path')]).toEqual([false, true]);
  expect(grown.get('behaviour-path')?.score).toBeLessThan(0.2);
  expect(young.get('behaviour-tokens')?.range).toEqual([0, 20_000]);
  expect(grown.get('behaviour-tokens')?.range?.[1]).toBeGreaterThan(40_000);
});

test('only live rows of the same tenant, kind and week are the past of an agent', async () => {
  await writeRuns('mixed', 3);
  await writeRuns('mixed', 5, { scoredAt: Date.now() - 9 * DAY_MS });
  await writeRuns('mixed', 5, { tenant: 'b' });
  await writeRuns('mixed', 5, { target: 'agent' });
  await writeRuns('mixed', 5, { scoredBy: 'reviewer' });
  await writeRuns('mixed', 5, { isDeleted: true });
  await writeRuns('', 4, { serviceName: 'nameless' });
  const pasts = await it.store.agentPasts.read((name) => name);
  const countRuns = (key: AgentKey) => pasts.get(joinAgentKey(key))?.transitions.runs;
  expect([
    countRuns(keyOf('mixed')),
    countRuns({ ...keyOf('mixed'), tenant: 'b' }),
    countRuns(keyOf('nameless')),
  ]).toEqual([3, 5, 4]);
});

test('two processes, and one after a restart, choose the same ranges', async () => {
  await writeRuns('shared', 60);
  const other = await openStore(it.options);
  try {
    const clock = { monotonicMs: () => 0, log: silentLog };
    const processes = [it.store, other, it.store].map((store) => new AgentPasts(store.agentPasts, clock));
    const found = await Promise.all(processes.map((pasts) => pasts.find('behaviour', keyOf('shared'))));
    const ranges = found.map((past) => chooseRange('tokens', past?.measures.get('tokens')));
    expect(new Set(ranges).size).toBe(1);
    expect(ranges[0]).toBeGreaterThan(120_000);
  } finally {
    await other.close();
  }
});

test('a process reads the past again while it scores, and not for each run', async () => {
  let nowMs = 0;
  let reads = 0;
  const counted: typeof it.store.agentPasts = {
    read: (nameRow) => {
      reads += 1;
      return it.store.agentPasts.read(nameRow);
    },
  };
  const pasts = new AgentPasts(counted, { monotonicMs: () => nowMs, log: silentLog });
  const countRuns = async () => (await pasts.find('behaviour', keyOf('new')))?.transitions.runs;
  expect(await countRuns()).toBeUndefined();
  await writeRuns('new', 20);
  nowMs = 4_999;
  expect([await countRuns(), reads]).toEqual([undefined, 1]);
  nowMs = 5_000;
  await expect.poll(countRuns).toBe(20);
  expect(reads).toBe(2);
});

async function readRuns(traceId: string, tenant = ''): Promise<RunRecord[]> {
  const key = { tenant, traceId };
  return (await it.store.runs.ofTraces([key])).get(joinTraceKey(key)) ?? [];
}

describe('runs', () => {
  test('come back equal in every field', async () => {
    const full = buildRunRecord({
      tenant: 't',
      costUsd: 0.000_31,
      cachedInputTokens: 3,
      errorType: 'Timeout',
    });
    const bare = buildRunRecord({
      inputTokens: null,
      outputTokens: null,
      totalTokens: null,
      toolCalls: null,
      toolErrors: null,
      turns: null,
      models: [],
      status: '',
      readFrom: 'facts',
      completeness: 'partial',
    });
    await it.store.runs.write([full, bare]);
    expect(await readRuns(full.traceId, 't')).toEqual([full]);
    expect(await readRuns(full.traceId)).toEqual([]);
    expect(await readRuns(bare.traceId)).toEqual([bare]);
  });

  test('of newer evidence win, in any order of writes; for the same evidence the one that was read', async () => {
    const newer = buildRunRecord({ evidenceUntil: 2_000 });
    await it.store.runs.write([newer]);
    await it.store.runs.write([{ ...newer, evidenceUntil: 1_000, agent: 'older' }]);
    await it.store.runs.write([{ ...newer, readFrom: 'facts', agent: 'facts' }]);
    expect(await readRuns(newer.traceId)).toEqual([newer]);
    await it.store.runs.write([{ ...newer, evidenceUntil: 2_001, isDeleted: true }]);
    expect(await readRuns(newer.traceId)).toEqual([]);
    const back = { ...newer, evidenceUntil: 2_002 };
    await it.store.runs.write([back]);
    expect(await readRuns(newer.traceId)).toEqual([back]);
  });

  test('take times before 1970 and after 2262 at the bounds of the column', async () => {
    const traceId = newTraceId();
    const run = buildRunRecord({ traceId, targetId: traceId });
    await it.store.runs.write([
      { ...run, startedAt: -5 },
      { ...run, targetId: `${traceId}/1`, startedAt: 8_640_000_000_000_000 },
    ]);
    expect((await readRuns(traceId)).map((each) => each.startedAt)).toEqual([0, 9_223_372_036_854]);
  });

  test('without content have session, user, model and version from the facts of new spans', async () => {
    const span = buildSpan({
      resourceAttributes: new Map([
        ['service.name', 'shop'],
        ['service.version', '2.1'],
      ]),
      attributes: new Map([
        ['gen_ai.conversation.id', 'resp_123'],
        ['mlflow.trace.session', '"sess-1"'],
        ['user.id', 'None'],
        ['enduser.id', 'ann'],
        ['gen_ai.request.model', 'gpt-5-mini'],
        ['gen_ai.response.model', 'gpt-5-mini-2025-08-07'],
      ]),
    });
    await it.store.sink.insert(spanBlock([span]), 'runs-facts');
    const key = { tenant: '', traceId: span.traceId };
    expect((await it.store.spans.facts([key], [])).get(joinTraceKey(key))).toMatchObject({
      sessions: ['sess-1'],
      users: ['ann'],
      models: ['gpt-5-mini-2025-08-07'],
      modelNames: ['gpt-5-mini', 'gpt-5-mini-2025-08-07'],
      serviceVersions: ['2.1'],
    });
  });
});

describe('dead letters', () => {
  test('are read back as they were written, once for each record', async () => {
    const { deadLetters } = it.store;
    const letter = aLetter();
    await deadLetters.write([letter]);
    await deadLetters.write([letter]);
    await deadLetters.write([{ ...letter, attempts: 2, reason: 'still no protobuf' }]);
    const [read, ...others] = await deadLetters.list({ limit: 10, ids: [letter.id] });
    expect(others).toEqual([]);
    expect(read).toEqual({
      ...letter,
      attempts: 2,
      reason: 'still no protobuf',
      failedAtMs: expect.any(Number),
    });
  });

  test('stay dropped, even when the same record comes again', async () => {
    const { deadLetters } = it.store;
    const [dropped, kept] = [aLetter(), aLetter()];
    await deadLetters.write([dropped, kept]);
    await deadLetters.drop([dropped]);
    await deadLetters.write([{ ...dropped, attempts: 7 }]);
    const read = await deadLetters.list({ limit: 10, ids: [dropped.id, kept.id] });
    expect(read.map(({ id }) => id)).toEqual([kept.id]);
  });

  test('are listed newest first, as many as wanted', async () => {
    const { deadLetters } = it.store;
    await deadLetters.write([aLetter(), aLetter()]);
    expect(await deadLetters.list({ limit: 1 })).toHaveLength(1);
  });
});

test('a read within its limits answers as without them', async () => {
  await it.store.scores.write(Array.from({ length: 500 }, () => buildScore()));
  const limited = it.store.limitReads({ maxSeconds: 20, maxBytes: 1024 ** 3 });
  expect(await limited.lists.scores({}, { limit: 3 })).toEqual(await it.store.lists.scores({}, { limit: 3 }));
});

test('a read that needs more memory is stopped, and reads without this limit are not', async () => {
  const limited = it.store.limitReads({ maxSeconds: 20, maxBytes: 1024 });
  await expect(limited.lists.scores({}, { limit: 3 })).rejects.toThrow(QueryStoppedError);
  expect((await it.store.lists.scores({}, { limit: 3 })).items).toHaveLength(3);
});

test('rows from before the store’s clock went back are found, those of now are not', async () => {
  await it.store.members.beat('now', { pairs: [] });
  await it.store.ruleVersions.record({
    rule: 'r',
    version: 'v',
    activeFromMs: Date.now(),
    probability: 1,
    definition: {},
  });
  expect(await it.store.aheadRows()).toEqual([]);

  await runCommand(
    it.options,
    `INSERT INTO members (Member, Leaving, BeatAt) VALUES ('future', 0, now64(3) + toIntervalHour(2))`,
  );
  await it.store.ruleVersions.record({
    rule: 'r',
    version: 'later',
    activeFromMs: Date.now() + 600_000,
    probability: 1,
    definition: {},
  });
  const found = await it.store.aheadRows();
  expect(found.map(({ table, rows }) => [table, rows])).toEqual([
    ['members', 1],
    ['rule_versions', 1],
  ]);
  expect(found[0]!.aheadMs).toBeGreaterThan(7_000_000);
});

test('progress never moves back by a late mark; sums move back with the clock of the store', async () => {
  const { monitors, aggregates } = it.store;
  const nowMs = await monitors.nowMs();
  expect([await monitors.progress(60_000), await aggregates.doneUntil()]).toEqual([null, null]);
  for (const atMs of [nowMs, nowMs - 5_000]) {
    await monitors.markProgress(60_000, atMs);
    await monitors.markProgress(3_600_000, atMs - 1);
    await aggregates.markDone(atMs);
  }
  expect(await monitors.progress(60_000)).toBe(nowMs);
  expect(await monitors.progress(3_600_000)).toBe(nowMs - 1);
  expect(await aggregates.doneUntil()).toBe(nowMs - 5_000);
});

test('processes that start together get one key of cookies, which stays', async () => {
  const { store } = it;
  const others = await Promise.all(Array.from({ length: 4 }, () => openStore(it.options)));
  const keys = await Promise.all([store, ...others].map(({ cookieKeys }) => cookieKeys.read()));
  expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(new Set(keys).size).toBe(1);
  const later = await openStore(it.options);
  expect(await later.cookieKeys.read()).toBe(keys[0]);
  await Promise.all([...others, later].map((each) => each.close()));
});

test('after the keys were deleted, a new process makes a new one', async () => {
  const former = await it.store.cookieKeys.read();
  const emptied = await openEmptied(it.options);
  const key = await emptied.cookieKeys.read();
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(key).not.toBe(former);
  await emptied.close();
});

test('two equal writes leave two rows of the audit', async () => {
  const record = { tenant: 'a', token: 'operator', action: 'mute.set', subjects: ['alert:Low'] };
  await it.store.audit.write(record);
  await it.store.audit.write(record);
  const rows = await queryRows(it.options, 'SELECT Tenant, Token, Action, Subjects FROM audit');
  const row = { Tenant: 'a', Token: 'operator', Action: 'mute.set', Subjects: ['alert:Low'] };
  expect(rows).toEqual([row, row]);
});

test('a sign-in has ended in every process as soon as the audit has its end', async () => {
  const second = await openStore(it.options);
  const [here, there] = [createSignIns(it.store), createSignIns(second)];
  expect(await there.hasEnded('one')).toBe(false);
  await it.store.audit.write({ tenant: '', token: 'a', action: 'session.end', subjects: ['sign-in:one'] });
  await it.store.audit.write({ tenant: '', token: 'a', action: 'mute.set', subjects: ['sign-in:two'] });
  for (const signIns of [here, there]) {
    expect([await signIns.hasEnded('one'), await signIns.hasEnded('two')]).toEqual([true, false]);
  }
  await second.close();
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { InvalidInputError } from '../../../src/domain/errors.ts';
import type { RunRecord } from '../../../src/domain/run-record.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import { joinTraceKey, MAX_KEYS, type TraceActivity } from '../../../src/store/contracts/stores.ts';
import type { Database } from '../../../src/store/database.ts';
import { openDatabase } from '../../../src/store/open-database.ts';
import { createOwnSpans } from '../../../src/store/spans/own-spans.ts';
import { READ_LIMITS } from '../../../src/store/spans/read-traces.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import {
  buildDecision,
  logBlock,
  buildLog,
  newTraceId,
  buildScore,
  spanBlock,
  buildSpan,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';

let it: TestStore;
let database: Database;

beforeAll(async () => {
  it = await testStore();
  database = openDatabase(it.options);
});
afterAll(async () => {
  await database.close();
  await it.stop();
});

let blocks = 0;
async function store(spans: readonly Span[], tenant = ''): Promise<void> {
  blocks += 1;
  await it.store.sink.insert(spanBlock(spans, tenant), `block-${blocks}`);
}

function buildKey(traceId: string, tenant = '') {
  return { tenant, traceId };
}

async function readOne(traceId: string, source = it.store.spans) {
  return (await source.read([buildKey(traceId)])).get(joinTraceKey(buildKey(traceId)));
}

const TOOL: [string, string][] = [['gen_ai.tool.name', 'refund']];

function raised(type: string): Span['events'][number] {
  return { timeUnixNano: 1n, name: 'exception', attributes: new Map([['exception.type', type]]) };
}

describe('reading traces back', () => {
  test('keeps of two versions of a span the one that ends later, then the one with more attributes', async () => {
    const short = buildSpan();
    const long = { ...short, durationNano: short.durationNano + 1n };
    const rich = { ...long, attributes: new Map([...short.attributes, ['gen_ai.agent.name', 'a']]) };
    await store([rich]);
    await store([short]);
    await store([long, short]);
    expect((await readOne(short.traceId))?.spans).toEqual([rich]);
  });

  test('keeps the same one of two that differ in a text only, whichever came first', async () => {
    const a = buildSpan({ statusMessage: 'a' });
    const b = { ...a, statusMessage: 'b' };
    const [x, y] = [newTraceId(), newTraceId()];
    await store([
      { ...a, traceId: x },
      { ...b, traceId: x },
    ]);
    await store([
      { ...b, traceId: y },
      { ...a, traceId: y },
    ]);
    expect((await readOne(x))?.spans.map((span) => span.statusMessage)).toEqual(['b']);
    expect((await readOne(y))?.spans.map((span) => span.statusMessage)).toEqual(['b']);
  });

  test('gives equal log records once', async () => {
    const log = buildLog();
    const other = { ...log, body: '{"content":"another"}' };
    await it.store.sink.insert(logBlock([log]), 'logs-1');
    await it.store.sink.insert(logBlock([log, other]), 'logs-2');
    expect((await readOne(log.traceId))?.logs).toEqual(expect.arrayContaining([log, other]));
    expect((await readOne(log.traceId))?.logs).toHaveLength(2);
  });

  test('gives log records of one time in the order in which they came', async () => {
    const logs = Array.from({ length: 12 }, (_, index) => buildLog({ body: `message ${index}` })).map(
      (log, _, [first]) => ({ ...log, traceId: first!.traceId, spanId: first!.spanId }),
    );
    for (const [index, log] of logs.entries()) {
      await it.store.sink.insert(logBlock([log]), `ordered-${log.traceId}-${index}`);
    }
    expect((await readOne(logs[0]!.traceId))?.logs.map((log) => log.body)).toEqual(
      logs.map((log) => log.body),
    );
  });

  test('leaves out spans of our own scope', async () => {
    const span = buildSpan();
    await store([span, buildSpan({ traceId: span.traceId, scopeName: 'spanscore' })]);
    expect((await readOne(span.traceId))?.spans).toEqual([span]);
  });

  test('takes the most keys in one call and refuses one more', async () => {
    const spans = Array.from({ length: MAX_KEYS }, () => buildSpan());
    await store(spans, 'many');
    const keys = spans.map((span) => buildKey(span.traceId, 'many'));
    expect((await it.store.spans.read(keys)).size).toBe(MAX_KEYS);
    await expect(it.store.spans.read([...keys, buildKey(newTraceId())])).rejects.toBeInstanceOf(
      InvalidInputError,
    );
    expect((await it.store.spans.activity([...keys, buildKey(newTraceId())])).size).toBe(MAX_KEYS);
  });

  test('reads of a trace beyond the limit the root, then agent spans, then the earliest, and says how many it left out', async () => {
    const root = buildSpan({ attributes: new Map(), startUnixNano: 900n });
    const child = { traceId: root.traceId, parentSpanId: root.spanId };
    const plain = Array.from({ length: 6 }, (_, n) =>
      buildSpan({ ...child, attributes: new Map([['http.route', '/']]), startUnixNano: BigInt(n) }),
    );
    const model = buildSpan({ ...child, startUnixNano: 800n });
    await store([...plain, model, root]);
    await store([model, root]);
    const source = createOwnSpans(database, { ...READ_LIMITS, spansPerTrace: 4 });
    const trace = await readOne(root.traceId, source);
    expect(trace?.spans).toEqual([plain[0], plain[1], model, root]);
    expect(trace?.omittedSpans).toBe(4);
  });

  test('leaves out what exceeds the size of one trace', async () => {
    const text = new Map([['gen_ai.prompt', 'x'.repeat(1000)]]);
    const spans = Array.from({ length: 5 }, (_, n) =>
      buildSpan({ attributes: text, startUnixNano: BigInt(n) }),
    );
    const traceId = newTraceId();
    await store(spans.map((span) => ({ ...span, traceId })));
    const trace = await readOne(traceId, createOwnSpans(database, { ...READ_LIMITS, sizePerTrace: 4000 }));
    expect((trace?.spans.length ?? 0) + (trace?.omittedSpans ?? 0)).toBe(5);
    expect(trace?.omittedSpans).toBeGreaterThan(0);
    expect(trace?.spans.length).toBeGreaterThan(0);
  });

  test('fails with a plain word when the traces of one call are too large together', async () => {
    const spans = Array.from({ length: 3 }, () => buildSpan());
    await store(spans);
    const source = createOwnSpans(database, { ...READ_LIMITS, sizePerRead: 500 });
    await expect(source.read(spans.map((span) => buildKey(span.traceId)))).rejects.toMatchObject({
      code: 'input_too_large',
    });
  });
});

describe('facts', () => {
  test('tell service, environment, agent, errors and the attributes that were asked for', async () => {
    const traceId = newTraceId();
    await store([
      buildSpan({
        traceId,
        resourceAttributes: new Map([
          ['deployment.environment.name', 'production'],
          ['team', 'blue'],
        ]),
        attributes: new Map([
          ['gen_ai.agent.name', 'weather-agent'],
          ['customer.tier', 'gold'],
        ]),
      }),
      buildSpan({
        traceId,
        serviceName: 'tools',
        statusCode: 'Error',
        attributes: new Map([
          ['mlflow.spanType', '"TOOL"'],
          ['customer.tier', 'silver'],
        ]),
      }),
    ]);
    const facts = await it.store.spans.facts([buildKey(traceId)], ['customer.tier', 'team', 'nobody']);
    const found = facts.get(joinTraceKey(buildKey(traceId)));
    expect(found?.services.toSorted()).toEqual(['shop', 'tools']);
    expect(found).toMatchObject({
      environments: ['production'],
      agents: ['weather-agent'],
      hasError: true,
      hasToolError: true,
      hasNegativeFeedback: false,
    });
    expect(found?.attributes.get('customer.tier')?.toSorted()).toEqual(['gold', 'silver']);
    expect(found?.attributes.get('team')).toEqual(['blue']);
    expect(found?.attributes.get('nobody')).toEqual([]);
  });

  test('tell the versions of agents and their services, not those of other services', async () => {
    const traceId = newTraceId();
    const resource = (version: string) => new Map([['service.version', version]]);
    await store([
      buildSpan({
        traceId,
        attributes: new Map([
          ['gen_ai.agent.name', 'weather'],
          ['gen_ai.agent.version', '7'],
        ]),
        resourceAttributes: resource('2.0'),
      }),
      buildSpan({
        traceId,
        attributes: new Map([['gen_ai.request.model', 'm']]),
        resourceAttributes: resource('2.0'),
      }),
      buildSpan({ traceId, serviceName: 'web', attributes: new Map(), resourceAttributes: resource('9.9') }),
      buildSpan({ traceId, serviceName: 'tools', resourceAttributes: resource('3.1') }),
    ]);
    const facts = await it.store.spans.facts([buildKey(traceId)], []);
    expect(facts.get(joinTraceKey(buildKey(traceId)))?.versions).toEqual([
      { service: 'shop', agent: 'weather', serviceVersion: '2.0', agentVersion: '7' },
      { service: 'tools', agent: '', serviceVersion: '3.1', agentVersion: '' },
    ]);
  });

  test('do not take a failed model call for a failed tool', async () => {
    const span = buildSpan({ statusCode: 'Error', attributes: new Map([['gen_ai.operation.name', 'chat']]) });
    await store([span]);
    const facts = await it.store.spans.facts([buildKey(span.traceId)], []);
    expect(facts.get(joinTraceKey(buildKey(span.traceId)))).toMatchObject({
      hasError: true,
      hasToolError: false,
    });
  });

  test.each<[string, Partial<Span>, boolean]>([
    ['a tool that LangGraph interrupted', { events: [raised('langgraph.errors.GraphInterrupt')] }, false],
    [
      'a tool with the type of error on its span',
      { attributes: new Map([...TOOL, ['error.type', 'GraphInterrupt']]) },
      false,
    ],
    ['a cancelled tool', { statusMessage: 'CancelledError: ' }, false],
    ['a tool whose last exception is a failure', { events: [raised('CancelledError'), raised('E')] }, true],
    ['a tool that says only that it failed', {}, true],
    ['a tool whose order was cancelled', { statusMessage: 'the order was cancelled' }, true],
  ])('of %s: a failure is told, a stop is not', async (_what, fields, isFailure) => {
    const span = buildSpan({ statusCode: 'Error', attributes: new Map(TOOL), ...fields });
    await store([span]);
    const facts = await it.store.spans.facts([buildKey(span.traceId)], []);
    expect(facts.get(joinTraceKey(buildKey(span.traceId)))).toMatchObject({
      hasError: isFailure,
      hasToolError: isFailure,
    });
    const listed = await it.store.listTraces({ limit: 50 });
    expect(listed.find(({ traceId }) => traceId === span.traceId)).toMatchObject({ errorSeen: isFailure });
  });

  test('tell the failure beside an interrupted tool', async () => {
    const span = buildSpan({
      statusCode: 'Error',
      attributes: new Map(TOOL),
      events: [raised('GraphInterrupt')],
    });
    await store([span, buildSpan({ traceId: span.traceId, statusCode: 'Error' })]);
    const facts = await it.store.spans.facts([buildKey(span.traceId)], []);
    expect(facts.get(joinTraceKey(buildKey(span.traceId)))).toMatchObject({
      hasError: true,
      hasToolError: false,
    });
  });

  test('see feedback below zero, as an attribute or as a score from outside', async () => {
    const bad = buildSpan({ attributes: new Map([['user.feedback.score', '-1']]) });
    const good = buildSpan({ attributes: new Map([['user.feedback.score', '1']]) });
    const scored = buildSpan();
    await store([bad, good, scored]);
    await it.store.scores.write([buildScore({ traceId: scored.traceId, source: 'human', score: -1 })]);
    const keys = [bad, good, scored].map((span) => buildKey(span.traceId));
    const facts = await it.store.spans.facts(keys, []);
    expect(keys.map((key) => facts.get(joinTraceKey(key))?.hasNegativeFeedback)).toEqual([true, false, true]);
  });

  test.each<[string, string, Record<string, string>, boolean]>([
    ['an event named feedback', 'user.feedback', { score: '-1' }, true],
    ['an attribute named feedback', 'chat', { 'feedback.score': '-0.5' }, true],
    [
      'an evaluation named feedback',
      'gen_ai.evaluation.result',
      { 'gen_ai.evaluation.name': 'user_feedback', 'gen_ai.evaluation.score.value': '-1' },
      true,
    ],
    ['feedback above zero', 'user.feedback', { score: '1', comment: 'not -1' }, false],
    [
      'another evaluation',
      'gen_ai.evaluation.result',
      { 'gen_ai.evaluation.name': 'drift', 'gen_ai.evaluation.score.value': '-1' },
      false,
    ],
  ])('see in events and log records: %s', async (_name, eventName, attributes, expected) => {
    const withEvent = buildSpan({
      events: [{ timeUnixNano: 1n, name: eventName, attributes: new Map(Object.entries(attributes)) }],
    });
    const withLog = buildSpan();
    await store([withEvent, withLog]);
    const log = buildLog({
      traceId: withLog.traceId,
      eventName,
      attributes: new Map(Object.entries(attributes)),
    });
    blocks += 1;
    await it.store.sink.insert(logBlock([log]), `block-${blocks}`);
    const keys = [withEvent, withLog].map((span) => buildKey(span.traceId));
    // An attribute of an event counts only where the event is one of feedback.
    const expectedOfEvent = expected && eventName !== 'chat';
    const facts = await it.store.spans.facts(keys, []);
    expect(keys.map((key) => facts.get(joinTraceKey(key))?.hasNegativeFeedback)).toEqual([
      expectedOfEvent,
      expected,
    ]);
    const unasked = await it.store.spans.facts(keys, [], { feedback: false });
    expect(keys.map((key) => unasked.get(joinTraceKey(key))?.hasNegativeFeedback)).toEqual([false, false]);
  });
});

describe('lists', () => {
  test('page through traces by their earliest start, each once, whatever order their blocks came in', async () => {
    const tenant = 'pages';
    const startMs = 1_600_000_000_000;
    const at = (ms: number) => BigInt(startMs + ms) * 1_000_000n;
    const ids = Array.from({ length: 7 }, () => newTraceId());
    await store(
      ids.map((traceId, n) => buildSpan({ traceId, startUnixNano: at(n + 10) })),
      tenant,
    );
    await store([buildSpan({ traceId: ids[3] ?? '', startUnixNano: at(1) })], tenant);
    await store([buildSpan({ traceId: ids[4] ?? '', startUnixNano: at(-1) })], tenant);
    await store([buildSpan({ traceId: ids[5] ?? '', startUnixNano: at(90) })], tenant);
    await store([buildSpan({ startUnixNano: at(5) })], 'another');
    const listed: TraceActivity[] = [];
    for (let page = 0; page < 10; page += 1) {
      const last = listed.at(-1);
      const after = last && { startUnixNano: last.firstStartUnixNano, traceId: last.traceId };
      const next = await it.store.spans.list({
        tenant,
        fromMs: startMs,
        toMs: startMs + 1000,
        limit: 2,
        ...(after === undefined ? {} : { after }),
      });
      listed.push(...next);
    }
    const order = [3, 0, 1, 2, 5, 6].map((n) => ids[n]);
    expect(listed.map((trace) => trace.traceId)).toEqual(order);
  });

  test('list across more candidates than one query asks for', async () => {
    const tenant = 'wide';
    const startMs = 1_500_000_000_000;
    const spans = Array.from({ length: MAX_KEYS + 200 }, (_, n) =>
      buildSpan({ startUnixNano: BigInt(startMs + n) * 1_000_000n }),
    );
    await store(spans, tenant);
    const listed = await it.store.spans.list({
      tenant,
      fromMs: startMs,
      toMs: startMs + 5000,
      limit: MAX_KEYS + 500,
    });
    expect(listed.map((trace) => trace.traceId)).toEqual(spans.map((span) => span.traceId));
  });

  test('show the newest traces with their services, spans and decisions', async () => {
    const tenant = 'summary';
    const first = buildSpan();
    const second = buildSpan({ serviceName: 'other' });
    await store([first, buildSpan({ traceId: first.traceId }), first], tenant);
    await store([second], tenant);
    await it.store.decisions.write([
      buildDecision({ tenant, traceId: first.traceId }),
      buildDecision({ tenant, traceId: first.traceId, scorer: 'tone', status: 'failed' }),
    ]);
    const all = await it.store.listTraces({ tenant, limit: 10 });
    expect(all.map(({ traceId }) => traceId)).toEqual([second.traceId, first.traceId]);
    expect(all[1]).toMatchObject({ services: ['shop'], spanCount: 2, decisions: { scored: 1, failed: 1 } });
    expect(all[0]).toMatchObject({ decisions: {}, run: null });
    expect(await it.store.listTraces({ tenant, service: 'shop', limit: 10 })).toHaveLength(1);
    expect(await it.store.listTraces({ tenant, sinceMs: Date.now() + 3_600_000, limit: 10 })).toEqual([]);
  });

  test('have the facts of their runs, also when their spans have expired', async () => {
    const tenant = 'runs';
    const [read, other] = [buildSpan(), buildSpan()];
    await store([read, other], tenant);
    const expired = newTraceId();
    const run = (traceId: string, fields: Partial<RunRecord>) =>
      buildRunRecord({ tenant, traceId, targetId: traceId, evidenceUntil: Date.now(), ...fields });
    await it.store.runs.write([
      run(read.traceId, { serviceName: 'desk', agent: 'helper', totalTokens: 224 }),
      run(read.traceId, { targetId: `${read.traceId}/1`, serviceName: 'desk', agent: 'second' }),
      run(expired, { serviceName: 'desk', agent: 'old', status: 'error', evidenceUntil: 1_763_700_001_456 }),
    ]);
    const of = async (filter: { service?: string; sinceMs?: number }) =>
      (await it.store.listTraces({ tenant, limit: 10, ...filter })).map(({ traceId, run: facts }) => [
        traceId,
        facts?.agent,
      ]);
    expect(await of({})).toEqual([
      [read.traceId, 'helper'],
      [other.traceId, undefined],
      [expired, 'old'],
    ]);
    expect(await of({ service: 'desk' })).toEqual([
      [read.traceId, 'helper'],
      [expired, 'old'],
    ]);
    expect(await of({ service: 'desk', sinceMs: Date.now() - 60_000 })).toEqual([[read.traceId, 'helper']]);
    expect(await of({ service: 'shop' })).toEqual([[other.traceId, undefined]]);
    const [, , last] = await it.store.listTraces({ tenant, limit: 10 });
    expect(last).toMatchObject({ services: ['desk'], spanCount: 0, agentSeen: true, errorSeen: true });
  });
});

describe('the worst traces', () => {
  test.each([1_100, 3])('are the newest of %i at the end of the range, then the next best', async (count) => {
    const agent = `worst-${count}`;
    const startMs = Date.now() - 3_600_000;
    const scored = Array.from({ length: count + 2 }, (_, index) => {
      const traceId = newTraceId();
      const startedAt = startMs + index * 1_000;
      const score = index < count ? 0 : 0.2;
      const run = buildRunRecord({ traceId, targetId: traceId, agent, startedAt });
      return {
        run,
        score: buildScore({
          traceId,
          targetId: traceId,
          agent,
          traceTimestamp: startedAt,
          score,
          higherIsBetter: true,
        }),
      };
    });
    await it.store.runs.write(scored.map(({ run }) => run));
    await it.store.scores.write(scored.map(({ score }) => score));
    const ids = scored.map(({ run }) => run.traceId);
    const [last = '', middle = '', ...others] = ids.slice(0, count).toReversed();
    const next = count > 3 ? others.slice(0, 2) : [...others, ids.at(-1)];
    const found = await it.store.lists.worstTraces({ agent: [agent] }, 4);
    expect(found.map(({ traceId }) => traceId)).toEqual([last, middle, ...next]);
  });
});

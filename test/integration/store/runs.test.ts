import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunRecord } from '../../../src/domain/run-record.ts';
import { joinTraceKey } from '../../../src/store/contracts/stores.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import {
  buildSpan,
  newTraceId,
  spanBlock,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';

let it: TestStore;

beforeAll(async () => {
  it = await testStore();
});
afterAll(async () => {
  await it.stop();
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

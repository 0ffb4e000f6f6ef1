import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startReadApi, type ReadApi } from '../../support/api/read-api.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { buildDecision, buildScore } from '../../support/store/store-rows.ts';

const START_MS = Date.UTC(2026, 0, 1);

let api: ReadApi;

beforeAll(async () => {
  api = await startReadApi();
});
afterAll(() => api.stop());

const turnAt = (sessionId: string, minute: number, more: Parameters<typeof buildRunRecord>[0] = {}) =>
  buildRunRecord({ sessionId, startedAt: START_MS + minute * 60_000, ...more });

const idsOf = (items: readonly Record<string, unknown>[]) => items.map(({ sessionId }) => String(sessionId));

describe('sessions', () => {
  test('have their turns in order, with the scores of each and of the whole', async () => {
    const sessionId = 'chat/42';
    const [first, second] = [turnAt(sessionId, 1, { costUsd: 0.5 }), turnAt(sessionId, 2, { costUsd: 0.25 })];
    const target = { target: 'session', targetId: sessionId, traceId: '' } as const;
    await api.store.runs.write([second, first]);
    await api.store.scores.write([
      buildScore({ traceId: second.traceId, score: 0.5 }),
      buildScore({ ...target, sessionId, scorer: 'multi-turn-judge', score: 0.9 }),
    ]);
    await api.store.decisions.write([buildDecision({ ...target, scorer: 'multi-turn-judge' })]);
    const { status, body } = await api.ask(`sessions/${encodeURIComponent(sessionId)}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      sessionId,
      turnCount: 2,
      userId: 'user-9',
      agents: ['weather-agent'],
      totalTokens: 448,
      costUsd: 0.75,
      startedAt: new Date(first.startedAt).toISOString(),
      lastTurnAt: new Date(second.startedAt).toISOString(),
      scores: [{ scorer: 'multi-turn-judge', score: 0.9 }],
      decisions: [{ scorer: 'multi-turn-judge', status: 'scored' }],
      turns: [
        { traceId: first.traceId, scores: [] },
        { traceId: second.traceId, scores: [{ score: 0.5 }] },
      ],
      omittedTurns: 0,
    });
    expect((await api.ask('sessions/none')).status).toBe(404);
  });

  test('of one id in several tenants are told apart by the tenant that the request names', async () => {
    const sessionId = 'shared';
    const runs = ['b', '', 'a'].map((tenant, minute) => turnAt(sessionId, minute, { tenant }));
    await api.store.runs.write(runs);
    expect(await api.ask(`sessions/${sessionId}`)).toMatchObject({
      status: 400,
      body: {
        detail: `several tenants have the session ${sessionId}: "", "a", "b"; name one (--tenant, or the parameter tenant)`,
      },
    });
    for (const { tenant, traceId } of runs) {
      expect(await api.ask(`sessions/${sessionId}?tenant=${tenant}`)).toMatchObject({
        status: 200,
        body: { tenant, turnCount: 1, turns: [{ traceId }] },
      });
    }
    expect((await api.ask(`sessions/${sessionId}?tenant=other`)).status).toBe(404);
  });

  test('are filtered by what one of their turns has', async () => {
    await api.store.runs.write([
      turnAt('mixed', 1, { agent: 'writer', environment: 'filtered' }),
      turnAt('mixed', 2, { agent: 'reader', environment: 'filtered' }),
      turnAt('plain', 3, { agent: 'writer', environment: 'filtered' }),
    ]);
    const listed = async (query: string) =>
      idsOf((await api.ask(`sessions?environment=filtered&${query}`)).body.items);
    expect(await listed('')).toEqual(['plain', 'mixed']);
    expect(await listed('agent=reader')).toEqual(['mixed']);
    expect(await listed('since=2026-01-01T00:02:30Z')).toEqual(['plain']);
  });
});

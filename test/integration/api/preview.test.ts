import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';
import { agentRunSpans, store as ingest } from '../../support/store/stored-agent.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { newTraceId } from '../../support/store/store-rows.ts';

let world: ApiWorld;

beforeAll(async () => {
  world = await apiWorld();
  const startedAt = Date.now() - 3_600_000;
  for (const tenant of ['a', 'a', 'b']) {
    const traceId = newTraceId();
    await ingest(world.store, agentRunSpans(traceId, startedAt), tenant);
    await world.store.runs.write([buildRunRecord({ tenant, traceId, startedAt, evidenceUntil: startedAt })]);
  }
});
afterAll(() => world.stop());

const preview = (body: unknown, token = tokenOf('admin', 'a')) =>
  world.ask({ method: 'POST', path: '/preview', body, token });

describe('POST /preview', () => {
  it('shows what a written rule would do with the traces of the tenant', async () => {
    const rule = { name: 'new', scorers: ['keyword-coverage'], sample: { rate: 1 } };
    const { status, body } = await preview({ rule, last: '2h', sample: 1 });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      rule: {
        name: 'new',
        target: 'trace',
        scorers: [{ scorer: 'keyword-coverage', judge: '' }],
        inForce: null,
      },
      matched: 2,
      selected: 2,
      isComplete: true,
      estimate: { basis: 'none' },
      perWeek: { traces: 168 },
      costUsd: 0,
      traces: [
        {
          tenant: 'a',
          reading: { runs: [{ agent: 'weather-agent' }] },
          verdicts: [
            { scorer: 'keyword-coverage', status: 'scored', score: expect.any(Number), stored: null },
          ],
          error: null,
        },
      ],
      monitors: [],
    });
    expect((await world.store.lists.scores({}, { limit: 10 })).items).toEqual([]);
  });

  it('shows a rule of the configuration by its name', async () => {
    const { status, body } = await preview({ rule: 'default', sample: 0 }, tokenOf('admin'));
    expect(status).toBe(200);
    expect(body).toMatchObject({ rule: { name: 'default' }, matched: 3, traces: [] });
  });

  it('shows what a rule on sessions would do with the sessions of the tenant', async () => {
    const rule = { name: 'chats', scorers: ['tone'], target: 'session' };
    const { status, body } = await preview({ rule, last: '2h', sample: 5 });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      rule: { name: 'chats', target: 'session' },
      matched: 1,
      selected: 1,
      left: {},
      isComplete: true,
      traces: [
        {
          tenant: 'a',
          traceId: '',
          sessionId: 'sess-1',
          reading: { runs: [{ target: { kind: 'session' }, sessionId: 'sess-1' }] },
          verdicts: [
            { target: 'session', targetId: 'sess-1', scorer: 'tone', status: 'scored', stored: null },
          ],
          error: null,
        },
      ],
    });
    expect(
      (body as { traces: { reading: { runs: { output: unknown[] }[] } }[] }).traces[0]?.reading.runs[0]
        ?.output.length,
    ).toBe(2);
    expect((await world.store.lists.scores({}, { limit: 10 })).items).toEqual([]);
  });

  it('takes a range from before 1970 as everything', async () => {
    const { status, body } = await preview({ rule: 'default', last: '999999999d', sample: 0 });
    expect(status).toBe(200);
    expect(body).toMatchObject({ from: '1970-01-01T00:00:00.000Z', matched: 2 });
  });

  it('names the faults of a rule that cannot be previewed', async () => {
    const asks = [
      [{ rule: 'nobody' }, 'the rules are default'],
      [{ rule: { name: 'n', scorers: ['nobody'] } }, 'there is no scorer nobody'],
      [{ rule: { name: 'n', scorers: ['tone'], wher: {} } }, '"path":"rule.wher"'],
      [{ rule: { scorers: ['tone'] } }, '"path":"rule.name"'],
      [{ rule: 'default', last: 'yesterday' }, 'last'],
    ] as const;
    for (const [body, said] of asks) {
      const reply = await preview(body);
      expect(reply.status).toBe(400);
      expect(JSON.stringify(reply.body)).toContain(said);
    }
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';
import { agentRunSpans, store as ingest } from '../../support/store/stored-agent.ts';
import { newTraceId } from '../../support/store/store-rows.ts';

let world: ApiWorld;

beforeAll(async () => {
  world = await apiWorld();
  for (const tenant of ['a', 'a', 'b']) {
    await ingest(world.store, agentRunSpans(newTraceId(), Date.now() - 3_600_000), tenant);
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
    expect(await world.store.scores.list({ limit: 10 })).toEqual([]);
  });

  it('shows a rule of the configuration by its name', async () => {
    const { status, body } = await preview({ rule: 'default', sample: 0 }, tokenOf('admin'));
    expect(status).toBe(200);
    expect(body).toMatchObject({ rule: { name: 'default' }, matched: 3, traces: [] });
  });

  it('names the faults of a rule that cannot be previewed', async () => {
    const asks = [
      [{ rule: 'nobody' }, 'the rules are default'],
      [{ rule: { name: 'n', scorers: ['nobody'] } }, 'there is no scorer nobody'],
      [{ rule: { name: 'n', scorers: ['tone'], wher: {} } }, 'wher'],
      [{ rule: { name: 'n', scorers: ['tone'], target: 'session' } }, 'is on sessions'],
      [{ rule: 'default', last: 'yesterday' }, 'last'],
    ] as const;
    for (const [body, said] of asks) {
      const reply = await preview(body);
      expect(reply.status).toBe(400);
      expect(JSON.stringify(reply.body)).toContain(said);
    }
  });
});

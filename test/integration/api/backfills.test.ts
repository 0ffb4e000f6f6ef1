import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/configuration.ts';
import { configureBackfillKind } from '../../../src/jobs/configured-backfill.ts';
import { createConfiguredScoring } from '../../../src/scoring/setup/configured-scoring.ts';
import { loadScorerKit } from '../../../src/scoring/setup/scorer-kit.ts';
import { readTrace } from '../../../src/conventions/index.ts';
import { startJobRunner } from '../../../src/jobs/job-runner.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';
import { agentRunSpans, store as ingest } from '../../support/store/stored-agent.ts';
import { newTraceId } from '../../support/store/store-rows.ts';

const TRACES = 3;
const ADMIN_A = tokenOf('admin', 'a');
const READ_A = tokenOf('read', 'a');

let world: ApiWorld;

beforeAll(async () => {
  world = await apiWorld();
  for (const tenant of ['a', 'b']) {
    for (let n = 0; n < TRACES; n += 1) {
      await ingest(world.store, agentRunSpans(newTraceId(), Date.now() - 3_600_000 * (n + 2)), tenant);
    }
  }
});
afterAll(() => world.stop());

const addressOf = (path: string) => `http://127.0.0.1:${world.port}/api/v1${path}`;
const post = (path: string, body: unknown, token = ADMIN_A) =>
  world.ask({ method: 'POST', path, body, token });
const read = (path: string, token = READ_A) => world.ask({ path, token });

/** Runs the open backfills as a scorer process does. */
async function startScorer() {
  const config = parseConfig({ readiness: { decisionWait: '1ms' } });
  const kit = await loadScorerKit(config);
  const { store } = world;
  const scoring = createConfiguredScoring({ config, kit, stores: store, readTrace, log: silentLog });
  const kinds = [configureBackfillKind({ config, kit }, scoring, true)];
  const { jobs, duties, spans } = store;
  return startJobRunner(
    { jobs, duties, nowMs: () => spans.nowMs(), kinds, log: silentLog },
    { lookEveryMs: 200, lease: { settleMs: 100, lookEveryMs: 200, beatEveryMs: 500 } },
  );
}

/** Follows the events of a backfill until the stream ends. */
async function readEvents(id: string, token: string) {
  const response = await fetch(addressOf(`/backfills/${id}/events`), {
    headers: { authorization: `Bearer ${token}` },
  });
  const text = await response.text();
  const data = [...text.matchAll(/^event: progress\ndata: (.*)$/gmu)].map(
    ([, json = '']) => JSON.parse(json) as Record<string, unknown>,
  );
  return { type: response.headers.get('content-type'), data };
}

describe('a backfill of a tenant', () => {
  let id = '';

  it('says first what it would do, and stores nothing', async () => {
    const { status, body } = await post('/backfills', { from: '7d', scorer: 'tone', dryRun: true });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      dryRun: true,
      status: 'done',
      matched: TRACES,
      remaining: TRACES,
      scored: 0,
      estimate: { judgeCalls: 0, costUsd: 0, basis: 'none', isComplete: true },
    });
    expect((await read('/backfills')).body['items']).toEqual([]);
  });

  it('is a job in the shape of the page, which only its tenant sees', async () => {
    const asked = {
      from: '2026-01-01T00:00:00Z',
      scorer: ['tone'],
      to: new Date().toISOString(),
      rate: '600/m',
    };
    const { status, body } = await post('/backfills', asked);
    id = String(body['id']);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      status: 'queued',
      tenant: 'a',
      spec: {
        from: '2026-01-01T00:00:00.000Z',
        tracesPerSecond: 10,
        rules: [{ scorers: { tone: expect.any(String) } }],
      },
      matched: 0,
      scored: 0,
      skipped: {},
      failed: {},
      remaining: 0,
      perSecond: null,
      etaSeconds: null,
      costUsd: 0,
      maxCostUsd: null,
      checkpoint: null,
      startedAt: null,
      finishedAt: null,
    });
    expect((await post('/backfills', asked)).body['id']).toBe(id);
    expect((await read(`/backfills/${id}`)).body).toMatchObject({ id });
    expect((await read(`/backfills/${id}`, tokenOf('read'))).status).toBe(200);
    for (const path of [`/backfills/${id}`, `/backfills/${id}/events`]) {
      expect((await read(path, tokenOf('read', 'b'))).status).toBe(404);
    }
  });

  it('is paused, resumed and followed by its events to the end, and reads the traces of its tenant only', async () => {
    expect((await post(`/backfills/${id}/pause`, {})).body).toMatchObject({ status: 'paused' });
    const events = readEvents(id, READ_A);
    const scorer = await startScorer();
    expect((await post(`/backfills/${id}/resume`, {})).body).toMatchObject({ status: 'queued' });
    const { type, data } = await events;
    await scorer.stop();
    expect(type).toContain('text/event-stream');
    expect(data.at(-1)).toEqual((await read(`/backfills/${id}`)).body);
    expect(data.at(-1)).toMatchObject({ status: 'done', matched: TRACES, scored: TRACES, remaining: 0 });
    const tenants = (await world.store.lists.scores({}, { limit: 100 })).items.map(({ tenant }) => tenant);
    expect(tenants).toEqual(Array.from({ length: TRACES }, () => 'a'));
    const late = await post(`/backfills/${id}/cancel`, {});
    expect([late.status, late.body['detail']]).toEqual([400, expect.stringContaining('is done')]);
  });

  it('is listed page by page, newest first', async () => {
    const ids = [id];
    for (const scorer of ['bias', 'keyword-coverage']) {
      ids.unshift(
        String(
          (await post('/backfills', { from: '2h', scorer: 'tone', sample: scorer.length / 100 })).body['id'],
        ),
      );
    }
    const first = await read('/backfills?limit=2');
    expect((first.body['items'] as { id: string }[]).map((each) => each.id)).toEqual(ids.slice(0, 2));
    const second = await read(`/backfills?limit=2&cursor=${String(first.body['next'])}`);
    expect((second.body['items'] as { id: string }[]).map((each) => each.id)).toEqual(ids.slice(2));
    expect(second.body['next']).toBeNull();
    for (const each of ids.slice(0, 2)) {
      expect((await post(`/backfills/${each}/cancel`, {})).body).toMatchObject({ status: 'cancelled' });
    }
  });
});

it.each([
  [{ scorer: 'tone' }, 'from'],
  [{ from: '7d', scorer: 'nothing-like-it' }, 'scorer: there is no scorer'],
  [{ from: '7d', rule: 'none' }, 'rule: there is no rule none'],
  [{ from: '7d', to: '8d', scorer: 'tone' }, 'to: must be after from'],
  [{ from: '7d', scorer: 'tone', where: { servce: ['a'] } }, 'where.servce'],
  [{ from: '7d', scorer: 'tone', where: { tokens: { min: 5 } } }, 'tokens are known only after'],
  [{ from: '7d', scorer: 'tone', rate: 'fast' }, 'rate'],
  [{ from: '7d', scorer: 'tone', sample: 2 }, 'sample'],
])('refuses %j with the reason', async (body, detail) => {
  const reply = await post('/backfills', body);
  expect([reply.status, reply.body['detail']]).toEqual([400, expect.stringContaining(detail)]);
});

it('a stream of events ends when its reader goes', async () => {
  const { body } = await post('/backfills', { from: '3d', scorer: 'tone' });
  const path = `/backfills/${String(body['id'])}`;
  // `fetch` opens a second connection after its first one was closed.
  const reading = get(addressOf(`${path}/events`), { headers: { authorization: `Bearer ${READ_A}` } });
  const [response] = (await once(reading, 'response')) as [IncomingMessage];
  const [chunk] = (await once(response, 'data')) as [Buffer];
  expect(chunk.toString()).toContain('event: progress');
  reading.destroy();
  expect((await post(`${path}/cancel`, {})).body).toMatchObject({ status: 'cancelled' });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';
import { startJoins } from '../../support/api/posted-joins.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { agentRunSpans, store as ingest } from '../../support/store/stored-agent.ts';
import { buildScore, newTraceId } from '../../support/store/store-rows.ts';

let world: ApiWorld;

beforeAll(async () => {
  world = await apiWorld();
});
afterAll(() => world.stop());

describe('posted scores', () => {
  const LABEL_A = tokenOf('label', 'a');
  const LABEL_OF_ALL = tokenOf('label');

  const post = (body: unknown, token = LABEL_OF_ALL, path = '/scores') =>
    world.ask({ method: 'POST', path, body, token });

  const human = (more: object) => ({ scorer: 'correctness', score: 1, source: 'human', ...more });

  /** Posts scores, and returns the stored rows. */
  async function postStored(body: unknown, token = LABEL_OF_ALL, path = '/scores') {
    const answer = await post(body, token, path);
    expect(answer).toMatchObject({ status: 201 });
    const { ids = [answer.body['scoreId']] } = answer.body as { ids?: unknown[] };
    const found = await world.store.scores.byIds(ids.map(String));
    return ids.map((id) => found.get(String(id)));
  }

  /** Stores a run of each of some tenants. Returns their trace id. */
  async function storeRuns(tenants: readonly string[], more: object = {}): Promise<string> {
    const traceId = newTraceId();
    await world.store.runs.write(tenants.map((tenant) => buildRunRecord({ tenant, traceId, ...more })));
    return traceId;
  }

  describe('a token of all tenants', () => {
    it('posts a score into the tenant that has the trace, where it joins the run', async () => {
      const [ofA, ofB] = [await storeRuns(['a']), await storeRuns(['b'])];
      const rows = await postStored([human({ traceId: ofA }), human({ traceId: ofB })]);
      expect(rows).toMatchObject([
        { tenant: 'a', agent: 'weather-agent', completeness: 'complete' },
        { tenant: 'b', agent: 'weather-agent', completeness: 'complete' },
      ]);
      const { body } = await world.ask({
        path: `/scores?traceId=${ofA}&source=human`,
        token: tokenOf('read', 'a'),
      });
      expect(body['items']).toMatchObject([{ traceId: ofA, scorer: 'correctness' }]);
    });

    it('posts a score into the tenant of a trace that has only spans yet', async () => {
      const traceId = newTraceId();
      await ingest(world.store, agentRunSpans(traceId), 'a');
      expect(await postStored(human({ traceId }))).toMatchObject([{ tenant: 'a', completeness: 'partial' }]);
    });

    it('posts a score into the tenant that has the session', async () => {
      await storeRuns(['a'], { sessionId: 'chat of a' });
      expect(await postStored(human({ sessionId: 'chat of a' }))).toMatchObject([{ tenant: 'a' }]);
    });

    it('labels into the tenant of a trace that the scorer has not scored', async () => {
      const label = { traceId: await storeRuns(['a']), scorer: 'unused', score: 1 };
      expect(await postStored(label, LABEL_OF_ALL, '/labels')).toMatchObject([{ tenant: 'a' }]);
    });

    it('has to name one of several tenants that have the trace or the session', async () => {
      const traceId = await storeRuns(['a', 'b'], { sessionId: 'chat of both' });
      const choice = '"a", "b"; name one (--tenant, or the parameter tenant)';
      const ofTrace = `several tenants have the trace ${traceId}: ${choice}`;
      const ofSession = `several tenants have the session chat of both: ${choice}`;
      expect(await post([human({ traceId: newTraceId() }), human({ traceId })])).toMatchObject({
        status: 400,
        body: { errors: [{ path: '[1].traceId', message: ofTrace }] },
      });
      expect(await post(human({ sessionId: 'chat of both' }))).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'sessionId', message: ofSession }] },
      });
      const label = { traceId, scorer: 'unused', score: 1 };
      expect(await post(label, LABEL_OF_ALL, '/labels')).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'traceId', message: ofTrace }] },
      });
      expect(await postStored(human({ traceId }), LABEL_OF_ALL, '/scores?tenant=b')).toMatchObject([
        { tenant: 'b', completeness: 'complete' },
      ]);
      expect(await postStored(label, LABEL_OF_ALL, '/labels?tenant=b')).toMatchObject([{ tenant: 'b' }]);
    });

    it('posts a score of an unknown trace into the tenant that it names, else into none', async () => {
      const score = human({ traceId: newTraceId() });
      expect(await postStored(score)).toMatchObject([{ tenant: '', completeness: 'partial' }]);
      expect(await postStored(score, LABEL_OF_ALL, '/scores?tenant=a')).toMatchObject([{ tenant: 'a' }]);
    });
  });

  describe('a token of one tenant', () => {
    it('posts into its tenant, also for a trace of another one', async () => {
      const traceId = await storeRuns(['b']);
      expect(await postStored(human({ traceId }), LABEL_A)).toMatchObject([
        { tenant: 'a', agent: '', completeness: 'partial' },
      ]);
    });

    it('may name its own tenant and no other', async () => {
      const traceId = await storeRuns(['a']);
      const label = { traceId, scorer: 'unused', score: 1 };
      expect((await post(human({ traceId }), LABEL_A, '/scores?tenant=a')).status).toBe(201);
      expect((await post(human({ traceId }), LABEL_A, '/scores?tenant=b')).status).toBe(404);
      expect((await post(label, LABEL_A, '/labels?tenant=b')).status).toBe(404);
    });
  });

  describe('the scale of a posted score', () => {
    it('is that of the prebuilt scorer, so that lists and numbers know good from bad', async () => {
      const traceId = newTraceId();
      const rows = await postStored(
        ['hallucination', 'tone', 'no-tool-errors'].map((scorer) => human({ traceId, scorer, score: 1 })),
        LABEL_A,
      );
      expect(rows).toMatchObject([
        { higherIsBetter: false, scoreMin: 0, scoreMax: 1 },
        { higherIsBetter: true, scoreMin: 0, scoreMax: 1 },
        { higherIsBetter: true, scoreMin: 0, scoreMax: 1 },
      ]);
    });

    it('is that of the newest stored score of another scorer, within the tenant', async () => {
      const fields = { scorer: 'polite', scoreMin: 1, scoreMax: 5, higherIsBetter: false } as const;
      const older = { ...fields, scoreMax: 9, scoredAt: Date.now() - 60_000 };
      const day = new Date().toISOString().slice(0, 10);
      await world.store.scores.write([
        buildScore({ ...older, tenant: 'a', day }),
        buildScore({ ...fields, tenant: 'a', day, scoredAt: Date.now() }),
      ]);
      const score = human({ traceId: newTraceId(), scorer: 'polite', score: 4 });
      expect(await postStored(score, LABEL_A)).toMatchObject([
        { higherIsBetter: false, scoreMin: 1, scoreMax: 5 },
      ]);
      expect(await postStored(score, tokenOf('label', 'b'))).toMatchObject([
        { higherIsBetter: null, scoreMin: null, scoreMax: null },
      ]);
    });

    it('is for a label that of the score on the same target', async () => {
      const given = buildScore({ tenant: 'a', scorer: 'tone', score: 2, scoreMin: 0, scoreMax: 10 });
      await world.store.scores.write([given]);
      const label = { traceId: given.traceId, scorer: 'tone', passes: true };
      expect(await postStored(label, LABEL_A, '/labels')).toMatchObject([
        { score: 10, higherIsBetter: true, scoreMin: 0, scoreMax: 10 },
      ]);
    });

    it('refuses a score outside of it, and names the range', async () => {
      const traceId = newTraceId();
      const formatMessage = (score: number) =>
        `out_of_range: ${score} is outside of [0, 1], the range of tone`;
      expect(await post({ traceId, scorer: 'tone', score: 7 }, LABEL_A, '/labels')).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'score', message: formatMessage(7) }] },
      });
      const scores = [1, -0.5].map((score) => human({ traceId, scorer: 'tone', score }));
      expect(await post(scores, LABEL_A)).toMatchObject({
        status: 400,
        body: { errors: [{ path: '[1].score', message: formatMessage(-0.5) }] },
      });
      expect((await post(human({ traceId, scorer: 'of nobody', score: 7 }), LABEL_A)).status).toBe(201);
    });
  });

  describe('a posted score of a session', () => {
    const nps = (sessionId: string) => human({ sessionId, scorer: 'nps', score: 9 });

    it('has the facts of its turns, so that filters find it', async () => {
      const sessionId = 'chat with turns';
      await storeRuns(['a'], { sessionId, agent: 'former-agent', startedAt: 1_763_700_000_000 });
      await storeRuns(['a'], { sessionId, agent: 'newest-agent', startedAt: 1_763_700_060_000 });
      expect(await postStored(nps(sessionId), LABEL_A)).toMatchObject([
        {
          target: 'session',
          targetId: sessionId,
          traceId: '',
          spanId: '',
          agent: 'newest-agent',
          serviceName: 'shop',
          environment: 'production',
          traceTimestamp: 1_763_700_000_000,
          completeness: 'complete',
        },
      ]);
      const path = '/scores?agent=newest-agent&source=human';
      const { body } = await world.ask({ path, token: tokenOf('read', 'a') });
      expect(body['items']).toMatchObject([{ scorer: 'nps', sessionId }]);
    });

    it('may come before its session, and joins it soon', async () => {
      const sessionId = 'chat to come';
      const [waiting] = await postStored(nps(sessionId), LABEL_A);
      expect(waiting).toMatchObject({ agent: '', completeness: 'partial' });
      const readWaiting = async () =>
        [...(await world.store.scores.byIds([String(waiting?.scoreId)])).values()][0];
      const stop = startJoins(world.store);
      await storeRuns(['b'], { sessionId });
      await storeRuns(['a'], { sessionId });
      await expect.poll(async () => (await readWaiting())?.completeness).toBe('complete');
      expect(await readWaiting()).toMatchObject({ agent: 'weather-agent', score: 9, scoredBy: 'label of a' });
      await stop();
    });
  });
});

describe('purges', () => {
  const ADMIN_A = tokenOf('admin', 'a');

  /** Stores a trace. Returns its run. */
  async function storedRun(tenant: string, fields: { sessionId?: string; userId?: string } = {}) {
    const traceId = newTraceId();
    await ingest(world.store, agentRunSpans(traceId), tenant);
    const run = buildRunRecord({ tenant, traceId, sessionId: '', userId: '', ...fields });
    await world.store.runs.write([run]);
    return run;
  }

  const remove = (path: string, token = ADMIN_A) => world.ask({ method: 'DELETE', path, token });
  const readJob = (id: unknown, token: string) => world.ask({ path: `/jobs/${String(id)}`, token });

  it.each([
    ['trace', async () => `/traces/${(await storedRun('a')).traceId}`],
    ['session', async () => (await storedRun('a', { sessionId: 'chat/1 ü' }), '/sessions/chat%2F1%20%C3%BC')],
    ['user', async () => (await storedRun('a', { userId: 'ann@example.com' }), '/users/ann%40example.com')],
  ])('a purge of a %s is a job, which only its tenant sees', async (kind, prepare) => {
    const path = await prepare();
    const { status, body } = await remove(path);
    expect([status, body['remains']]).toEqual([202, null]);
    const { id } = body;
    expect(await readJob(id, tokenOf('read', 'a'))).toMatchObject({
      status: 200,
      body: { id, kind: 'purge', tenant: 'a', status: 'queued', spec: { kind }, startedAt: null },
    });
    expect((await readJob(id, tokenOf('read', 'b'))).status).toBe(404);
    expect((await readJob(id, tokenOf('read'))).status).toBe(200);
    expect((await remove(path)).body['id']).toBe(id);
  });

  it('a tenant deletes itself, and no other tenant', async () => {
    await storedRun('a');
    await storedRun('b');
    expect((await remove('/tenants/b')).status).toBe(404);
    expect((await remove('/users/ann?tenant=b')).status).toBe(404);
    const { status, body } = await remove('/tenants/a');
    expect(status).toBe(202);
    expect((await readJob(body['id'], ADMIN_A)).status).toBe(200);
    expect((await readJob(body['id'], tokenOf('read', 'b'))).status).toBe(404);
  });

  it('finds nothing of another tenant, and nothing that is not there', async () => {
    const { traceId } = await storedRun('b', { userId: 'bob', sessionId: 'chat-of-bob' });
    for (const path of [`/traces/${traceId}`, '/users/bob', '/sessions/chat-of-bob', '/users/nobody']) {
      expect((await remove(path)).status).toBe(404);
    }
    expect((await remove('/users/bob', tokenOf('admin', 'b'))).status).toBe(202);
    expect((await readJob('none', ADMIN_A)).status).toBe(404);
  });

  it('wants the tenant of an id that several tenants have, from a token of all tenants', async () => {
    await storedRun('c', { userId: 'eve' });
    await storedRun('d', { userId: 'eve' });
    expect(await remove('/users/eve', tokenOf('admin'))).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('several tenants') },
    });
    const { status, body } = await remove('/users/eve?tenant=c', tokenOf('admin'));
    expect(status).toBe(202);
    expect(await readJob(body['id'], tokenOf('read'))).toMatchObject({ body: { tenant: 'c' } });
  });
});

describe('SQL', () => {
  async function post(body: unknown, token = tokenOf('admin')) {
    const reply = await fetch(`http://127.0.0.1:${world.port}/api/v1/sql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: reply.status, type: reply.headers.get('content-type'), text: await reply.text() };
  }

  it.each([
    ['JSON', 'application/json', /"data":\s*\[\s*\{\s*"a": 1/u],
    ['JSONEachRow', 'application/x-ndjson', /^\{"a":1\}\n$/u],
    ['CSVWithNames', 'text/csv; charset=utf-8', /^"a"\n1\n$/u],
    ['Parquet', 'application/octet-stream', /^PAR1/u],
  ])('a statement is answered as %s', async (format, type, text) => {
    const reply = await post({ query: 'SELECT 1 AS a', format });
    expect(reply).toEqual({ status: 200, type, text: expect.stringMatching(text) as string });
  });

  it.each([
    [
      { query: 'SELECT * FROM system.users' },
      400,
      /"detail":"query: the table system.users may not be read/u,
    ],
    [{ query: 'SELECT nothing FROM scores' }, 400, /"detail":"query: Unknown expression/u],
    [{ query: 'SELECT 1', format: 'JSON SETTINGS x' }, 400, /"path":"format"/u],
    [{ query: 'SELECT 1', format: 'Nonsense' }, 400, /"detail":"query: .*Nonsense/u],
    [{ query: 'SELECT 1', maxSeconds: 601 }, 400, /"path":"maxSeconds"/u],
  ])('a statement that is refused is answered with a problem: %j', async (body, status, text) => {
    const reply = await post(body);
    expect(reply).toMatchObject({ status, type: 'application/problem+json' });
    expect(reply.text).toMatch(text);
  });

  it('a token of one tenant is refused', async () => {
    expect(await post({ query: 'SELECT 1' }, tokenOf('admin', 'a'))).toMatchObject({ status: 403 });
  });
});

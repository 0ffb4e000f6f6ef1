import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiServer } from '../../../src/api/server.ts';
import { createTenantStores } from '../../../src/api/tenant-store.ts';
import { configuredMonitors } from '../../../src/monitors/live/configured-monitors.ts';
import { parseConfig } from '../../../src/configuration.ts';
import type { AlertDelivery } from '../../../src/domain/delivery.ts';
import { anAlert, explainRuns, resolvedEvent } from '../../support/builders/an-alert.ts';
import type { Scope } from '../../../src/config/access.ts';
import { startTestApi } from '../../support/api/start-test-api.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { testStore, type TestStore } from '../../support/store/store-rows.ts';
import { HOUR_MS } from '../../support/monitors/hourly-monitors.ts';
import { monitorWorld, type MonitorWorld, WORLD_START_MS } from '../../support/monitors/monitor-world.ts';

const config = parseConfig({
  monitors: [
    {
      groups: [
        { name: 'quality', interval: '60m', rules: [{ alert: 'Low', detector: 'floor', minimum: 0.5 }] },
      ],
    },
  ],
});
const token = (tenant: string, scope: Scope) => ({
  name: `${scope} of ${tenant}`,
  token: `the-${scope}-of-tenant-${tenant}`,
  tenant,
  scopes: [scope],
});

let base: TestStore;
let world: MonitorWorld;
let api: ApiServer;

beforeAll(async () => {
  base = await testStore();
  world = await monitorWorld(base);
  const evaluator = world.evaluator(await configuredMonitors(config));
  await evaluator.advance();
  const low = (tenant: string, serviceVersion: string) =>
    Array.from({ length: 60 }, () => ({
      tenant,
      environment: 'production',
      serviceVersion,
      score: 0.05,
    }));
  await world.scored(WORLD_START_MS + 1000, [...low('a', 'v1'), ...low('b', 'v7')]);
  world.clockMs = WORLD_START_MS + HOUR_MS + 61_000;
  await evaluator.advance();
  const findStore = await createTenantStores({ config, store: world.store });
  api = await startTestApi({
    tokens: [
      token('a', 'read'),
      token('a', 'admin'),
      token('b', 'admin'),
      token('c', 'admin'),
      token('', 'admin'),
    ],
    findStore,
  });
});
afterAll(async () => {
  await api.stop();
  await world.stop();
  await base.stop();
});

interface Answer {
  readonly status: number;
  readonly body: {
    readonly items: readonly Record<string, unknown>[];
    readonly next: string | null;
    readonly detail: string;
  };
}

async function ask(path: string, as: string, body?: unknown, method = 'POST'): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${api.address.port}/api/v1/${path}`, {
    method: body === undefined ? 'GET' : method,
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const READER_A = 'the-read-of-tenant-a';
const ADMIN_A = 'the-admin-of-tenant-a';
const ADMIN_B = 'the-admin-of-tenant-b';
const ADMIN_C = 'the-admin-of-tenant-c';
const ADMIN = 'the-admin-of-tenant-';

describe('the API of monitors', () => {
  test('gives a tenant the states of monitors on its own series', async () => {
    const { status, body } = await ask('monitors', READER_A);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      items: [
        { alert: 'Low', phase: 'firing', series: { tenant: 'a' }, baseline: null, limit: 0.5, muted: false },
      ],
      next: null,
    });
  });

  test('gives no limit of a rule as a baseline of its scores', async () => {
    const { body } = await ask('series?scorer=keyword-coverage&since=30d', READER_A);
    expect(body).toMatchObject({ groups: [{ n: 60, baseline: null }], baseline: null });
  });

  test('lists the states that fire first, and those of a phase that began lately', async () => {
    const listed = async (query: string) => (await ask(`monitors?${query}`, READER_A)).body;
    expect(await listed('order=firing')).toMatchObject({
      items: [{ phase: 'firing' }],
      next: null,
      notCounted: [],
    });
    expect((await listed('since=30d')).items).toHaveLength(1);
    expect((await listed('since=1h')).items).toEqual([]);
    expect((await listed('since=1h&order=firing')).items).toEqual([]);
  });

  test('gives a tenant its own incidents', async () => {
    const { body } = await ask('alerts?limit=1', READER_A);
    expect(body.items).toMatchObject([
      {
        status: 'firing',
        alert: 'Low',
        series: { tenant: 'a' },
        serviceVersion: 'v1',
        endsAt: null,
        before: null,
        limit: 0.5,
      },
    ]);
    expect(body.next).toBeNull();
    const listed = async (query: string) => (await ask(`alerts?${query}`, READER_A)).body.items;
    expect(await listed('since=1h')).toEqual([]);
    expect(await listed('since=90d&until=1h')).toHaveLength(1);
    expect(await listed('until=90d')).toEqual([]);
  });

  test.each(['alerts?', 'alerts?open=true&', 'monitors?', 'monitors?order=firing&'])(
    '%s lists what is about the chosen agents and environments',
    async (path) => {
      const listed = async (query: string) => (await ask(`${path}${query}`, READER_A)).body.items;
      const { agent, environment } = (await listed(''))[0]!['series'] as Record<string, string>;
      expect(await listed(`agent=${agent}&agent=other&environment=${environment}`)).toHaveLength(1);
      expect(await listed('agent=other')).toEqual([]);
      expect(await listed('environment=other')).toEqual([]);
    },
  );

  test.each([
    ['alerts?limit=0', /limit/],
    ['alerts?since=soon', /since/],
    ['alerts?limt=5', /limt/],
  ])('refuses %s with what is wrong', async (path, expected) => {
    const { status, body } = await ask(path, READER_A);
    expect(status).toBe(400);
    expect(body.detail).toMatch(expected);
  });

  test('tells of an incident its limit, the mean before, the cause, its messages, mutes and notes', async () => {
    const event = anAlert({
      alert: 'Told',
      detector: 'floor',
      series: { ...anAlert().series, tenant: 'c' },
      before: 0.8,
      meanBefore: 0.95,
      agentVersion: '1.5.0',
      cause: explainRuns([
        ['before', { agentVersion: '1.4.0' }, 900, 0.95],
        ['after', { agentVersion: '1.4.0' }, 30, 0.95],
        ['after', { agentVersion: '1.5.0' }, 60, 0.6],
      ]),
    });
    const rare = anAlert({ alert: 'Rare', detector: 'rate', series: event.series, before: 0.8 });
    const ended = resolvedEvent(rare);
    await world.store.alerts.write([event, rare, ended]);
    await world.store.runs.write(
      ['1.4.0', '1.5.0', '1.5.0'].map((agentVersion) =>
        buildRunRecord({ tenant: 'c', agent: 'support-agent', agentVersion }),
      ),
    );
    const fate = (receiver: string, state: AlertDelivery['state']) => ({
      receiver,
      state,
      eventId: event.id,
      incidentId: event.incidentId,
      tenant: 'c',
      messageId: event.id,
      reason: '',
      plannedAtMs: Date.UTC(2026, 0, 1),
      round: 0,
    });
    await world.store.alertFeed.record([
      fate('slack', 'planned'),
      fate('hook', 'delivered'),
      fate('pager', 'dead'),
      fate('x', 'muted'),
    ]);
    const mute = { subject: event.incidentId, for: '2h', reason: ' a known outage ' };
    expect(await ask('mutes', ADMIN_C, mute)).toMatchObject({
      status: 201,
      body: { subject: event.incidentId, by: 'admin of c', reason: 'a known outage' },
    });
    expect(await ask(`alerts/${event.id}/notes`, ADMIN_C, { text: ' Rolled back. ' })).toMatchObject({
      status: 201,
      body: { at: expect.any(String) as string, by: 'admin of c', text: 'Rolled back.' },
    });

    for (const id of [event.incidentId, event.id]) {
      expect(await ask(`alerts/${id}`, ADMIN_C)).toMatchObject({
        status: 200,
        body: {
          incidentId: event.incidentId,
          limit: 0.8,
          before: 0.95,
          after: 0.52,
          muted: true,
          mute: { subject: event.incidentId, by: 'admin of c', reason: 'a known outage' },
          cause: {
            sentence: '−0.23 in faithfulness: 100 % within agent version 1.5.0 (new, 0.95 → 0.60), mix 0 %.',
            verdict: 'segment',
            segments: [{ segment: { agentVersion: '1.5.0' }, n: 60, isNew: true }],
            dimensions: [{ dimension: 'agentVersion', segments: [{ value: '1.5.0' }, { value: '1.4.0' }] }],
          },
          versions: { left: { version: '1.4.0', runs: 1 }, right: { version: '1.5.0', runs: 2 } },
          messages: [
            { channel: 'slack', at: '2026-01-01T00:00:00.000Z', state: 'waiting' },
            { channel: 'hook', state: 'sent' },
            { channel: 'pager', state: 'failed' },
          ],
          notes: [{ by: 'admin of c', text: 'Rolled back.' }],
        },
      });
    }
    expect(await ask(`alerts/${ended.incidentId}`, ADMIN_C)).toMatchObject({
      body: {
        status: 'resolved',
        before: null,
        limit: 0.8,
        muted: false,
        mute: null,
        notes: [],
        messages: [],
      },
    });
    const open = await ask('alerts?open=true&since=1s', ADMIN_C);
    expect(open.body.items).toMatchObject([{ incidentId: event.incidentId, status: 'firing' }]);
    expect((await ask('mutes', ADMIN_C)).body.items).toMatchObject([{ reason: 'a known outage' }]);
    for (const [path, body] of [
      [`alerts/${event.incidentId}`, undefined],
      [`alerts/${event.incidentId}/notes`, { text: 'Mine?' }],
    ] as const) {
      expect((await ask(path, ADMIN_B, body)).status).toBe(404);
    }
    expect((await ask(`alerts/${event.incidentId}/notes`, ADMIN_C, { text: ' ' })).status).toBe(400);
    expect((await ask(`mutes?subject=${event.incidentId}`, ADMIN_C, '', 'DELETE')).status).toBe(200);
  });

  test('mutes for the tenant of the caller, and for no other', async () => {
    const [incident] = (await ask('alerts', READER_A)).body.items;
    const subject = String(incident?.['incidentId']);
    expect((await ask('mutes', ADMIN_B, { subject, for: '1h' })).status).toBe(404);
    expect((await ask('mutes', ADMIN_A, { subject: 'Low', for: 'long' })).status).toBe(400);
    expect((await ask('mutes', ADMIN_A, { subject: 'Low', for: '4000d' })).status).toBe(400);
    expect((await ask('mutes', ADMIN_A, { subject: 'Low', for: '1h' })).status).toBe(201);
    expect((await ask('mutes', READER_A)).body.items).toMatchObject([{ tenant: 'a', subject: 'Low' }]);
    expect((await ask('mutes', ADMIN_B)).body.items).toEqual([]);
    expect((await ask('alerts', READER_A)).body.items).toMatchObject([{ muted: true }]);
    expect((await ask('alerts', ADMIN_B)).body.items).toMatchObject([{ muted: false }]);
    expect((await ask('mutes?subject=Low', ADMIN_A, '', 'DELETE')).status).toBe(200);
    expect((await ask('mutes?subject=Low', ADMIN_A, '', 'DELETE')).status).toBe(404);
  });

  test.each([
    ['everything', () => '*'],
    ['one series', (alert: Record<string, unknown>) => String(alert['seriesId'])],
  ])('mutes %s', async (_, subjectOf) => {
    const [alert = {}] = (await ask('alerts', READER_A)).body.items;
    const subject = subjectOf(alert);
    expect(await ask('mutes', ADMIN_A, { subject, for: '1h' })).toMatchObject({
      status: 201,
      body: { tenant: 'a', subject },
    });
    expect((await ask('alerts', READER_A)).body.items).toMatchObject([{ muted: true }]);
    expect((await ask('monitors', READER_A)).body.items).toMatchObject([
      { seriesId: alert['seriesId'], muted: true },
    ]);
    expect((await ask('alerts', ADMIN_B)).body.items).toMatchObject([{ muted: false }]);
    expect((await ask(`mutes?subject=${subject}`, ADMIN_A, '', 'DELETE')).status).toBe(200);
  });

  test('mutes no series of another tenant', async () => {
    const [alert = {}] = (await ask('alerts', READER_A)).body.items;
    expect((await ask('mutes', ADMIN_B, { subject: alert['seriesId'], for: '1h' })).status).toBe(404);
  });

  test('lets a token of all tenants end each mute that it sees', async () => {
    await ask('mutes', ADMIN_A, { subject: 'Low', for: '1h' });
    expect((await ask('mutes', ADMIN)).body.items).toMatchObject([{ tenant: 'a', subject: 'Low' }]);
    expect((await ask('mutes?subject=Low', ADMIN, '', 'DELETE')).status).toBe(200);
    expect((await ask('mutes', READER_A)).body.items).toEqual([]);
  });

  test('asks for the tenant when several have muted a subject', async () => {
    await ask('mutes', ADMIN_A, { subject: 'Low', for: '1h' });
    await ask('mutes', ADMIN, { subject: 'Low', for: '1h' });
    const unnamed = await ask('mutes?subject=Low', ADMIN, '', 'DELETE');
    expect(unnamed).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/the mute of Low: "\*", "a"; name one/) as string },
    });
    expect((await ask('mutes?subject=Low&tenant=b', ADMIN, '', 'DELETE')).status).toBe(404);
    expect((await ask('mutes?subject=Low&tenant=a', ADMIN, '', 'DELETE')).status).toBe(200);
    expect((await ask('mutes', READER_A)).body.items).toMatchObject([{ tenant: '*', subject: 'Low' }]);
    expect((await ask('mutes?subject=Low&tenant=*', ADMIN, '', 'DELETE')).status).toBe(200);
  });

  test('tells a tenant who can end a mute of all tenants', async () => {
    await ask('mutes', ADMIN, { subject: 'Low', for: '1h' });
    const { status, body } = await ask('mutes?subject=Low', ADMIN_A, '', 'DELETE');
    expect(status).toBe(403);
    expect(body.detail).toBe('Low is muted for all tenants: a token without a tenant ends that mute');
    expect((await ask('mutes?subject=Low', ADMIN, '', 'DELETE')).status).toBe(200);
  });

  test('acknowledges only incidents that can be acknowledged, by the id of the incident or of its alert', async () => {
    const [incident] = (await ask('alerts', READER_A)).body.items;
    const { status, body } = await ask(`alerts/${String(incident?.['incidentId'])}/ack`, ADMIN_A, '');
    expect(status).toBe(400);
    expect(body.detail).toMatch(/no reference/);
    const byAlert = await ask(`alerts/${String(incident?.['id'])}/ack`, ADMIN_A, '');
    expect(byAlert).toEqual({ status, body });
    expect((await ask(`alerts/${String(incident?.['id'])}/ack`, ADMIN_B, '')).status).toBe(404);
    expect((await ask('alerts/none/ack', ADMIN_A, '')).status).toBe(404);
  });

  test('records deploys beside those that were seen in scores', async () => {
    const deploy = { service: 'shop', version: 'v2', at: '2026-01-02T03:04:05Z' };
    expect(await ask('markers', ADMIN_A, deploy)).toMatchObject({
      status: 201,
      body: {
        service: 'shop',
        agent: '',
        version: 'v2',
        agentVersion: '',
        origin: 'api',
        at: '2026-01-02T03:04:05.000Z',
      },
    });
    expect((await ask('markers', READER_A)).body.items).toEqual([
      {
        tenant: 'a',
        service: 'shop',
        agent: 'weather-agent',
        version: 'v1',
        agentVersion: '',
        origin: 'seen',
        // The first run began 15 s before its score was written.
        at: new Date(WORLD_START_MS + 1000 - 15_000).toISOString(),
      },
      expect.objectContaining({ version: 'v2', origin: 'api' }),
    ]);
  });

  test('records the version of an agent without further facts', async () => {
    const deploy = { service: 'desk', agent: 'helper', agentVersion: 'a2', at: '2026-01-02T03:04:05Z' };
    expect(await ask('markers', ADMIN_B, deploy)).toMatchObject({
      status: 201,
      body: { service: 'desk', agent: 'helper', version: '', agentVersion: 'a2' },
    });
    expect((await ask('markers/compare?version=a2', ADMIN_B)).body.items).toEqual([]);
  });

  test('lists the series that got worse with a version', async () => {
    const { status, body } = await ask('markers/compare?version=v1', READER_A);
    expect(status).toBe(200);
    expect(body.items).toMatchObject([
      { service: 'shop', version: 'v1', verdict: 'learning', after: { mean: 0.05, count: 60 } },
    ]);
    expect((await ask('markers/compare?version=v7', READER_A)).status).toBe(404);
    expect((await ask('markers/compare', READER_A)).status).toBe(400);
  });

  test.each([
    ['no JSON', '{', /Malformed JSON/],
    ['no version', { service: 'shop' }, /version/],
    ['an unknown key', { service: 'shop', version: 'v2', verion: 'v3' }, /verion/],
    [
      'a time that is none',
      { service: 'shop', version: 'v2', at: 'soon' },
      /^at: write a date and time from 1970/,
    ],
    [
      'a time before 1970',
      { service: 'shop', version: 'v2', at: '1960-01-01T00:00:00Z' },
      /^at: write a date/,
    ],
    [
      'a time after 2262',
      { service: 'shop', version: 'v2', at: '9999-12-31T23:59:59Z' },
      /^at: write a date/,
    ],
    ['a long name', { service: 'shop', version: 'x'.repeat(70_000) }, /1,?000/],
  ])('refuses a marker of %s', async (_, marker, expected) => {
    const { status, body } = await ask('markers', ADMIN_A, marker);
    expect(status).toBe(400);
    expect(body.detail).toMatch(expected);
  });

  test('refuses a body above the limit, or without its length', async () => {
    const long = JSON.stringify({ service: 'x'.repeat(2 * 1024 * 1024) });
    const chunked = new Blob(['{}']).stream();
    for (const [body, status] of [
      [long, 413],
      [chunked, 411],
    ] as const) {
      const response = await fetch(`http://127.0.0.1:${api.address.port}/api/v1/markers`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_A}`, 'content-type': 'application/json' },
        body,
        duplex: 'half',
      });
      expect(response.status).toBe(status);
    }
  });
});

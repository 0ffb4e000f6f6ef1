import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openStore } from '../../../src/store/store.ts';
import { alertOfScorer, anAlert, resolvedEvent } from '../../support/builders/an-alert.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';
import { testStore, type TestStore } from '../../support/store/store-rows.ts';

/** A process is killed at one of so many steps; the whole proof is SPANSCORE_STEPS=all. */
const EVERY = process.env['SPANSCORE_STEPS'] === 'all' ? 1 : 3;
const SENDER = fileURLToPath(new URL('../../support/processes/alert-sender.ts', import.meta.url));
const version = { serviceVersion: '1.2.3' };
/** Alerts of agents of their own, so that each gets a message of its own. */
const ofAgent = (scorer: string) => anAlert({ series: { ...anAlert().series, scorer, agent: scorer } });
const refused = ofAgent('refused');
const mates = [alertOfScorer('a', version), alertOfScorer('b', version)] as const;
const incident = ofAgent('c');

// A process for each step, or two starts of `serve`, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000 });

let receiver: HttpReceiver;

beforeAll(async () => {
  receiver = await startHttpReceiver();
});
afterAll(() => receiver.close());

/** Requests of a receiver by id, and whether repeats were equal to the byte. */
function receivedAt(path: string) {
  const requests = receiver.requests.filter((request) => request.path === path);
  const bodies = new Map<string, Set<string>>();
  for (const { headers, body } of requests) {
    const id = String(headers['webhook-id']);
    bodies.set(id, (bodies.get(id) ?? new Set()).add(body));
  }
  return {
    ids: [...bodies.keys()].sort(),
    mostBodies: Math.max(0, ...[...bodies.values()].map(({ size }) => size)),
    statuses: requests.map(({ body }) => (JSON.parse(body) as { status: string }).status),
  };
}

describe('a process that is killed at any step of telling', () => {
  let its: TestStore;

  beforeAll(async () => {
    its = await testStore();
    await its.store.alerts.write([refused, ...mates, incident, resolvedEvent(incident)]);
    receiver.answer(({ body }) => (body.includes('"scorer":"refused"') ? 400 : 200));
  });
  afterAll(() => its.stop());

  /** The signal that it ended by; null for an end of its own. */
  function tellerEnd(channels: readonly string[], killAtStep: number): Promise<string | null> {
    const job = {
      options: its.options,
      channels: channels.map((name) => ({ name, url: `${receiver.url}/${name}` })),
      killAtStep,
    };
    const child = spawn(process.execPath, [SENDER, JSON.stringify(job)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) =>
        code === 0 || signal !== null ? resolve(signal) : reject(new Error(`the teller ended with ${code}`)),
      );
    });
  }

  it('leaves a receiver that takes every id once with one beginning and one end', async () => {
    const killed: string[] = [];
    let last = 'webhook-step-1';
    for (let step = 1; (await tellerEnd([last], step)) !== null;) {
      killed.push(last);
      step += EVERY;
      last = `webhook-step-${step}`;
    }
    // Reading, the plan, and at least an attempt and a record a message: each before and after.
    expect(killed.length).toBeGreaterThanOrEqual(20 / EVERY);
    expect(await tellerEnd(killed, 0)).toBeNull();

    const expected = [refused.id, incident.id, resolvedEvent(incident).id];
    for (const channel of killed) {
      const { ids, mostBodies, statuses } = receivedAt(`/${channel}`);
      expect(ids.filter((id) => expected.includes(id))).toEqual([...expected].sort());
      expect(ids).toHaveLength(4);
      expect(mates.map(({ id }) => id)).toContain(ids.find((id) => !expected.includes(id)));
      expect(mostBodies).toBe(1);
      expect(statuses.indexOf('resolved')).toBeGreaterThan(0);
    }
    const letters = await its.store.deadLetters.list({ limit: 500 });
    // The last one ended by itself.
    expect(letters.map(({ source }) => source).sort()).toEqual([...killed, last].sort());
  });
});

describe('a serve that is killed while it sends alerts', () => {
  const path = '/serve';
  let told: ServeFolder;

  beforeAll(() => {
    told = new ServeFolder({
      alerts: { webhook: [{ name: 'ops', url: `${receiver.url}${path}` }], groupWait: '0s' },
    });
  });
  afterAll(() => told.dispose());

  it('sends the same messages again after the next start, under the same ids', async () => {
    const event = alertOfScorer('d');
    receiver.answer(200);
    const { clickhouse } = await told.start();
    const retention = { spansDays: 30, scoresDays: 400 };
    const store = await openStore({ ...clickhouse, retention, migrate: false });
    let killed: Promise<void> | undefined;
    let isWritten = false;
    receiver.answer(({ path: asked }) => {
      if (asked === path && !isWritten) {
        // Its engine is not to die before it has answered the write: again later.
        return 503;
      }
      killed ??= asked === path ? told.killGroup() : undefined;
      return 200;
    });
    await store.alerts.write([event]);
    await store.close();
    isWritten = true;
    await until(
      () => killed !== undefined,
      120_000,
      () => told.output,
    );
    await killed;

    const again = await told.start();
    const after = await openStore({ ...again.clickhouse, retention, migrate: false });
    await after.alerts.write([resolvedEvent(event)]);
    await until(
      () => receivedAt(path).ids.length === 2,
      120_000,
      () => told.output,
    );
    await after.close();
    expect(await told.stop()).toBe(0);
    expect(receivedAt(path)).toMatchObject({
      ids: [event.id, resolvedEvent(event).id].sort(),
      mostBodies: 1,
    });
  });
});

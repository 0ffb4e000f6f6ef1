import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configSchema } from '../../../../src/configuration.ts';
import { createChannels, createExporters } from '../../../../src/delivery/start.ts';
import { CHANNELS, EXPORTERS } from '../../../../src/components.ts';
import { startAlertDelivery } from '../../../../src/delivery/deliver-alerts.ts';
import { startScoreDelivery } from '../../../../src/delivery/deliver-scores.ts';
import type { DeliveryLoop, Outcome } from '../../../../src/delivery/deliver.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import { aScore } from '../../../support/builders/a-score.ts';
import { anAlert } from '../../../support/builders/an-alert.ts';
import {
  EXAMPLE_SECRET,
  loadDocumented,
  SECRET_PATH,
} from '../../../support/documents/documented-options.ts';
import {
  startHttpReceiver,
  type HttpReceiver,
  type ReceivedRequest,
} from '../../../support/fakes/http-receiver.ts';
import { MemoryAlertFeed } from '../../../support/fakes/memory-alert-feed.ts';
import { memoryScoreFeed } from '../../../support/fakes/memory-score-feed.ts';
import { recordingLetters } from '../../../support/fakes/recording-letters.ts';
import { soleDuties } from '../../../support/fakes/sole-duties.ts';

/** Longer than one delivery may take by default. */
const STOPS_WITHIN_MS = 15_000;
const SCORES = [aScore(), aScore({ scoreId: 'b'.repeat(32) })];
const MESSAGE = { id: anAlert().id, events: [anAlert()] };
const TIMES = { intervalMs: 5, firstRetryMs: 5, maxRetryMs: 20, drainMs: 100 };
const never = new AbortController().signal;

let receiver: HttpReceiver;
beforeEach(async () => {
  receiver = await startHttpReceiver();
});
afterEach(() => receiver.close());

/** One receiver of the documented example, with the HTTP receiver at the other side. */
interface Receiver {
  readonly name: string;
  readonly send: (signal: AbortSignal) => Promise<Outcome>;
}

interface Running {
  readonly loop: DeliveryLoop;
  /** True when each receiver has all of it. */
  readonly isDone: () => boolean;
}

/** A kind of receivers: an exporter or an alert channel. */
interface Kind {
  readonly key: string;
  /** Names of its receivers without a configuration. */
  readonly listAbsent: () => Promise<string[]>;
  readonly create: () => Promise<Receiver[]>;
  /** Delivers two scores, or an alert. */
  readonly start: (onLog: (line: string) => void) => Promise<Running>;
  /** Texts that every receiver gets. */
  readonly ids: readonly string[];
}

const nameAll = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name);

function createDeps(onLog: (line: string) => void) {
  const log = createLog('debug', { destination: { write: onLog } });
  return { deadLetters: recordingLetters(), duties: soleDuties, log, random: Math.random };
}

const EXPORTER_KINDS: Kind[] = EXPORTERS.map((definition) => {
  const open = async () => createExporters(await loadDocumented('exporters', receiver.url), [definition]);
  return {
    key: `exporters.${definition.name}`,
    listAbsent: async () => nameAll(createExporters({}, [definition])),
    create: async () =>
      (await open()).map((each) => ({ name: each.name, send: (signal) => each.send(SCORES, signal) })),
    async start(onLog) {
      const [feed, exporters] = [memoryScoreFeed(...SCORES), await open()];
      const loop = await startScoreDelivery(exporters, TIMES, { feed, ...createDeps(onLog) });
      return {
        loop,
        isDone: () => exporters.every(({ name }) => feed.marked(name).length === SCORES.length),
      };
    },
    ids: SCORES.map(({ scoreId }) => scoreId),
  };
});

const CHANNEL_KINDS: Kind[] = CHANNELS.map((definition) => {
  const open = async (more: object = {}) => {
    const alerts = {
      ...(await loadDocumented('alerts', receiver.url)),
      allowAddresses: ['127.0.0.1'],
      ...more,
    };
    return createChannels({ alerts, api: configSchema.parse({ rules: [] }).api }, [definition]);
  };
  return {
    key: `alerts.${definition.name}`,
    listAbsent: async () => nameAll(await open({ [definition.name]: [] })),
    create: async () =>
      (await open()).map((each) => ({ name: each.name, send: (signal) => each.send(MESSAGE, signal) })),
    async start(onLog) {
      const [feed, channels] = [new MemoryAlertFeed(Date.now()), await open()];
      feed.write(anAlert());
      const deps = { feed, mutes: async () => [], now: Date.now, ...createDeps(onLog) };
      const loop = startAlertDelivery(channels, { ...TIMES, groupWaitMs: 0 }, deps);
      return {
        loop,
        isDone: () => channels.every(({ name }) => feed.findState(name, anAlert()) === 'delivered'),
      };
    },
    ids: [],
  };
});

/** A request without the times of its repeat. */
function withoutTimes({ body, headers }: ReceivedRequest) {
  return { id: headers['webhook-id'], body: body.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '') };
}

it('exporters and channels are those that the configuration has keys for, each with its options and a line of documentation', () => {
  const { exporters, alerts } = configSchema.shape;
  const shared = new Set(['groupWait', 'budgetPercents', 'judgeDrift', 'allowAddresses']);
  const sections = [
    [EXPORTERS, exporters.unwrap().shape],
    [CHANNELS, alerts.unwrap().shape],
  ] as const;
  for (const [definitions, section] of sections) {
    expect(nameAll(definitions)).toEqual(Object.keys(section).filter((key) => !shared.has(key)));
    for (const { name, options } of definitions) {
      const schema = section[name as keyof typeof section] as { unwrap(): unknown };
      expect(schema.unwrap()).toBe(options);
      expect(options.description).toMatch(/\w\.$/);
    }
  }
});

describe.each([...EXPORTER_KINDS, ...CHANNEL_KINDS])('$key', ({ create, start, listAbsent, ids, key }) => {
  it('is absent where it is not configured, and keeps its names where it is', async () => {
    expect(await listAbsent()).toEqual([]);
    const names = nameAll(await create());
    expect(names, `docs/configuration.md has an example of ${key}`).not.toEqual([]);
    expect(nameAll(await create())).toEqual(names);
    expect(new Set(names).size).toBe(names.length);
  });

  it('is asked until it confirms, and then no more', async () => {
    let failures = 3;
    receiver.answer(() => (failures-- > 0 ? 503 : 200));
    const { loop, isDone } = await start(() => undefined);

    await expect.poll(isDone).toBe(true);
    await loop.stop();

    expect(failures).toBeLessThan(0);
    const bodies = receiver.requests.map(({ body }) => body).join();
    expect(ids.filter((id) => !bodies.includes(id))).toEqual([]);
  });

  it('gets a repeat under the same ids, in the same words', async () => {
    for (const { send } of await create()) {
      const before = receiver.requests.length;
      await send(never);
      const first = receiver.requests.slice(before).map(withoutTimes);
      await send(never);
      expect(first).not.toEqual([]);
      expect(receiver.requests.slice(before + first.length).map(withoutTimes)).toEqual(first);
    }
  });

  it('distinguishes a refusal from a failure, and does not throw when nobody listens', async () => {
    const receivers = await create();
    for (const [status, kind] of [
      [400, 'refused'],
      [413, 'refused'],
      [422, 'refused'],
      [503, 'failed'],
    ] as const) {
      receiver.answer(status);
      for (const { send } of receivers) {
        expect(await send(never)).toMatchObject({ kind });
      }
    }
    await receiver.close();
    for (const { send } of receivers) {
      const error = { code: 'delivery_failed', retryable: true };
      expect(await send(never)).toMatchObject({ kind: 'away', error });
    }
  });

  it('ends at once when it is to stop while the receiver hangs', async () => {
    receiver.answer('never');
    for (const { send } of await create()) {
      const from = performance.now();
      expect(await send(AbortSignal.timeout(200))).toMatchObject({ kind: 'away' });
      expect(performance.now() - from).toBeLessThan(5_000);
    }
  });

  it('lets a process stop in time while the receiver hangs', async () => {
    receiver.answer('never');
    const { loop, isDone } = await start(() => undefined);
    await expect.poll(() => receiver.requests.length).toBeGreaterThan(0);

    const from = performance.now();
    await loop.stop();

    expect(performance.now() - from).toBeLessThan(STOPS_WITHIN_MS);
    expect(isDone()).toBe(false);
  });
});

describe.each(CHANNEL_KINDS)('$key', ({ create, start }) => {
  it('never shows its address or its keys, in errors or in logs', async () => {
    const channels = await create();
    const texts = nameAll(channels);
    for (const status of [400, 503, 'never'] as const) {
      receiver.answer(status);
      for (const { send } of channels) {
        const outcome = await send(AbortSignal.timeout(1_000));
        texts.push(JSON.stringify(outcome), outcome.kind === 'delivered' ? '' : outcome.error.message);
      }
    }
    receiver.answer(503);
    const lines: string[] = [];
    const { loop } = await start((line) => void lines.push(line));
    await expect.poll(() => lines.length).toBeGreaterThan(1);
    await receiver.close();
    await expect.poll(() => lines.some((line) => /could not be reached/.test(line))).toBe(true);
    await loop.stop();

    expect(receiver.requests.length).toBeGreaterThan(3);
    for (const text of [...texts, ...lines]) {
      expect(text).not.toContain(SECRET_PATH);
      expect(text).not.toContain(EXAMPLE_SECRET);
    }
  });
});

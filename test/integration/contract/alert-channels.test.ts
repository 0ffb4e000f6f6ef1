import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CHANNELS } from '../../../src/components.ts';
import { type Config, configSchema } from '../../../src/configuration.ts';
import { readOptions } from '../../../src/config/schema/components.ts';
import type { AlertChannel } from '../../../src/outbound/alerts/alert-channel.ts';
import { startAlertDelivery } from '../../../src/outbound/alerts/alert-delivery.ts';
import type { ChannelDefinition } from '../../../src/outbound/alerts/channel-definition.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { anAlert } from '../../support/builders/an-alert.ts';
import { EXAMPLE_SECRET, loadDocumented, SECRET_PATH } from '../../support/documents/documented-options.ts';
import {
  startHttpReceiver,
  type HttpReceiver,
  type ReceivedRequest,
} from '../../support/fakes/http-receiver.ts';
import { MemoryAlertFeed } from '../../support/fakes/memory-alert-feed.ts';
import { recordingLetters } from '../../support/fakes/recording-letters.ts';

const MESSAGE = { id: anAlert().id, events: [anAlert()] };
const never = new AbortController().signal;

let receiver: HttpReceiver;
beforeEach(async () => {
  receiver = await startHttpReceiver();
});
afterEach(() => receiver.close());

async function loadOptions(): Promise<Config['alerts']> {
  return { ...(await loadDocumented('alerts', receiver.url)), allowAddresses: ['127.0.0.1'] };
}

/** The channels of the documented example, with the receiver at the other side. */
async function create(definition: ChannelDefinition): Promise<AlertChannel[]> {
  const alerts = await loadOptions();
  const channels = await definition.create(readOptions(alerts, definition.name) as unknown[], alerts);
  expect(channels, `docs/configuration.md has an example of alerts.${definition.name}`).not.toEqual([]);
  return channels;
}

/** Delivers one alert over the channels; collects what is logged. */
function start(channels: readonly AlertChannel[]) {
  const lines: string[] = [];
  const feed = new MemoryAlertFeed(Date.now());
  feed.write(anAlert());
  const loop = startAlertDelivery(
    channels,
    { intervalMs: 5, firstRetryMs: 5, maxRetryMs: 5, groupWaitMs: 0, drainMs: 100 },
    {
      feed,
      mutes: async () => [],
      deadLetters: recordingLetters(),
      log: createLog('debug', { destination: { write: (line) => void lines.push(line) } }),
      now: Date.now,
      random: Math.random,
      isOurs: async () => true,
    },
  );
  return { loop, feed, lines };
}

/** A request without the times of its repeat. */
function withoutTimes({ body, headers }: ReceivedRequest) {
  return { id: headers['webhook-id'], body: body.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '') };
}

describe('the channels of src/components.ts', () => {
  it('are those that the configuration has keys for, each with its options and a line of documentation', () => {
    const shared = new Set(['groupWait', 'budgetPercents', 'allowAddresses']);
    const alerts = configSchema.shape.alerts.unwrap().shape;
    const kinds = Object.keys(alerts).filter((key) => !shared.has(key));
    expect(CHANNELS.map(({ name }) => name)).toEqual(kinds);
    for (const { name, options } of CHANNELS) {
      expect(alerts[name].unwrap()).toBe(options);
      expect(options.description).toMatch(/\w\.$/);
    }
  });
});

describe.each<ChannelDefinition>(CHANNELS)('alerts.$name', (definition) => {
  it('is absent where it is not configured, and keeps its name where it is', async () => {
    expect(await definition.create([], await loadOptions())).toEqual([]);
    const names = (await create(definition)).map(({ name }) => name);
    expect((await create(definition)).map(({ name }) => name)).toEqual(names);
  });

  it('is asked again after a failure, with the same message under the same id', async () => {
    receiver.answer(() => (receiver.requests.length <= 2 ? 503 : 200));
    const channels = await create(definition);
    const { loop, feed } = start(channels);
    const states = () => channels.map(({ name }) => feed.findState(name, anAlert()));

    await expect.poll(states).toEqual(channels.map(() => 'delivered'));
    await loop.stop();

    const [first, ...repeats] = receiver.requests.slice(0, 3).map(withoutTimes);
    expect(repeats).toEqual([first, first]);
  });

  it('distinguishes a refusal from a failure', async () => {
    for (const channel of await create(definition)) {
      receiver.answer(400);
      expect(await channel.send(MESSAGE, never)).toMatchObject({ kind: 'refused' });
      receiver.answer(503);
      expect(await channel.send(MESSAGE, never)).toMatchObject({ kind: 'failed' });
    }
  });

  it('ends at once when it is to stop while the receiver hangs', async () => {
    receiver.answer('never');
    for (const channel of await create(definition)) {
      const sending = channel.send(MESSAGE, AbortSignal.timeout(200));
      const from = performance.now();
      expect(await sending).toMatchObject({ kind: 'failed' });
      expect(performance.now() - from).toBeLessThan(5_000);
    }
  });

  it('never shows its address or its keys, in errors or in logs', async () => {
    const channels = await create(definition);
    const said: string[] = [];
    for (const status of [400, 503, 'never'] as const) {
      receiver.answer(status);
      for (const channel of channels) {
        const outcome = await channel.send(MESSAGE, AbortSignal.timeout(1_000));
        said.push(JSON.stringify(outcome), outcome.kind === 'delivered' ? '' : outcome.error.message);
      }
    }
    receiver.answer(503);
    const { loop, lines } = start(channels);
    await expect.poll(() => lines.length).toBeGreaterThan(1);
    await receiver.close();
    await expect.poll(() => lines.some((line) => /could not be reached/.test(line))).toBe(true);
    await loop.stop();

    expect(receiver.requests.length).toBeGreaterThan(3);
    for (const text of [...said, ...lines, ...channels.map(({ name }) => name)]) {
      expect(text).not.toContain(SECRET_PATH);
      expect(text).not.toContain(EXAMPLE_SECRET);
    }
  });
});

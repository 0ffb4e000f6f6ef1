import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testLong } from '../../support/loops.ts';
import { EXPORTERS } from '../../../src/components.ts';
import { configSchema } from '../../../src/configuration.ts';
import { createExporters } from '../../../src/outbound/exporters/start-exports.ts';
import type { ExporterDefinition } from '../../../src/outbound/exporters/exporter-definition.ts';
import { createScoreExportLoop } from '../../../src/outbound/exporters/score-export-loop.ts';
import type { ScoreExporter } from '../../../src/outbound/exporters/score-exporter.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { aScore } from '../../support/builders/a-score.ts';
import { loadDocumented } from '../../support/documents/documented-options.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';
import { recordingLetters } from '../../support/fakes/recording-letters.ts';
import { soleDuties } from '../../support/fakes/sole-duties.ts';
import { memoryScoreFeed } from '../../support/fakes/memory-score-feed.ts';

/** Longer than one delivery may take by default. */
const STOPS_WITHIN_MS = 15_000;
const SCORES = [aScore(), aScore({ scoreId: 'b'.repeat(32) })];
const never = new AbortController().signal;

let receiver: HttpReceiver;
beforeEach(async () => {
  receiver = await startHttpReceiver();
});
afterEach(() => receiver.close());

/** The exporters of the documented example, with the receiver at the other side. */
async function create(definition: ExporterDefinition): Promise<ScoreExporter[]> {
  const exporters = await createExporters(await loadDocumented('exporters', receiver.url), [definition]);
  expect(exporters, `docs/configuration.md has an example of exporters.${definition.name}`).not.toEqual([]);
  return exporters;
}

function start(exporters: readonly ScoreExporter[], feed = memoryScoreFeed(...SCORES)) {
  const loop = createScoreExportLoop(
    exporters,
    { intervalMs: 5, firstRetryMs: 5, maxRetryMs: 20, drainMs: 100 },
    { feed, deadLetters: recordingLetters(), duties: soleDuties, log: silentLog, random: Math.random },
  );
  void loop.start();
  return { loop, feed };
}

describe('the exporters of src/components.ts', () => {
  it('are those that the configuration has keys for, each with its options and a line of documentation', () => {
    const exporters = configSchema.shape.exporters.unwrap().shape;
    expect(EXPORTERS.map(({ name }) => name)).toEqual(Object.keys(exporters));
    for (const { name, options } of EXPORTERS) {
      expect(exporters[name].unwrap()).toBe(options);
      expect(options.description).toMatch(/\w\.$/);
    }
  });
});

describe.each<ExporterDefinition>(EXPORTERS)('exporters.$name', (definition) => {
  it('is absent where it is not configured', async () => {
    expect(await createExporters({}, [definition])).toEqual([]);
  });

  it('keeps the name under which sent scores are recorded', async () => {
    const names = (await create(definition)).map(({ name }) => name);
    expect((await create(definition)).map(({ name }) => name)).toEqual(names);
    expect(new Set(names).size).toBe(names.length);
  });

  it('sends each score until the receiver confirms it, and then no more', async () => {
    let failures = 3;
    receiver.answer(() => (failures-- > 0 ? 503 : 200));
    const exporters = await create(definition);
    const { loop, feed } = start(exporters);

    for (const { name } of exporters) {
      await expect.poll(() => feed.marked(name)).toHaveLength(SCORES.length);
    }
    const sent = receiver.requests.length;
    await loop.stop();

    expect(receiver.requests).toHaveLength(sent);
    expect(failures).toBeLessThan(0);
    for (const { scoreId } of SCORES) {
      expect(receiver.requests.some(({ body }) => body.includes(scoreId))).toBe(true);
    }
  });

  it('repeats a score under the same ids, in the same words', async () => {
    for (const exporter of await create(definition)) {
      const sent = receiver.requests.length;
      await exporter.deliver(SCORES, never);
      const first = receiver.requests.slice(sent);
      await exporter.deliver(SCORES, never);
      const again = receiver.requests.slice(sent + first.length);

      expect(first).not.toEqual([]);
      expect(again.map(({ body }) => body)).toEqual(first.map(({ body }) => body));
      expect(again.map(({ headers }) => headers['webhook-id'])).toEqual(
        first.map(({ headers }) => headers['webhook-id']),
      );
    }
  });

  testLong('reports what the receiver refuses, and does not throw when nobody listens', async () => {
    receiver.answer(400);
    for (const exporter of await create(definition)) {
      expect(await exporter.deliver(SCORES, never)).toMatchObject({ kind: 'refused' });
    }
    const exporters = await create(definition);
    await receiver.close();
    for (const exporter of exporters) {
      expect(await exporter.deliver(SCORES, never)).toMatchObject({
        kind: 'away',
        error: { code: 'delivery_failed', retryable: true },
      });
    }
  });

  testLong('stops in time while the receiver hangs', async () => {
    receiver.answer('never');
    const exporters = await create(definition);
    const { loop, feed } = start(exporters);
    await expect.poll(() => receiver.requests.length).toBeGreaterThan(0);

    const from = performance.now();
    await loop.stop();

    expect(performance.now() - from).toBeLessThan(STOPS_WITHIN_MS);
    expect(exporters.flatMap(({ name }) => feed.marked(name))).toEqual([]);
  });
});

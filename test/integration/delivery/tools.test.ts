import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { EXPORTERS } from '../../../src/components.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { startScoreDelivery } from '../../../src/delivery/deliver-scores.ts';
import type { DeliveryLoop } from '../../../src/delivery/deliver.ts';
import { createExporters } from '../../../src/delivery/start.ts';
import type { Score } from '../../../src/domain/score.ts';
import type { Store } from '../../../src/store/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { aScore } from '../../support/builders/a-score.ts';
import { STRICT_TOOLS, startTool, type ToolServer } from '../../support/exports/tool-server.ts';
import { memoryScoreFeed, type MemoryScoreFeed } from '../../support/fakes/memory-score-feed.ts';
import { recordingLetters } from '../../support/fakes/recording-letters.ts';
import { soleDuties } from '../../support/fakes/sole-duties.ts';
import { buildSpan, newSpanId, newTraceId, testStore } from '../../support/store/store-rows.ts';
import { store as storeSpans } from '../../support/store/stored-agent.ts';

const DAY_MS = 86_400_000;

const TOOLS = Object.entries(STRICT_TOOLS);
const DELETING = TOOLS.filter(([, { removal }]) => removal !== undefined);
const REFUSING = TOOLS.filter(([, { refusesUnknown }]) => refusesUnknown);

let tool: ToolServer;
let feed: MemoryScoreFeed;
let letters: ReturnType<typeof recordingLetters>;
const loops: DeliveryLoop[] = [];

/** Registers the hooks of the tests of one tool. */
function prepareTool(name: string, options: Readonly<Record<string, string>>) {
  beforeEach(async () => {
    tool = await startTool(name);
    feed = memoryScoreFeed();
    letters = recordingLetters();
  });
  afterEach(async () => {
    await Promise.all(loops.splice(0).map((loop) => loop.stop()));
    await tool.close();
  });

  const start = async (more: Record<string, unknown> = {}, store?: Store): Promise<DeliveryLoop> => {
    const { exporters } = parseConfig({
      exporters: { [name]: { endpoint: tool.url, ...options, ...more } },
    });
    const times = { intervalMs: 50, firstRetryMs: 5, maxRetryMs: 20, drainMs: 100 };
    const loop = await startScoreDelivery(createExporters(exporters, EXPORTERS, store?.spans), times, {
      feed,
      deadLetters: letters,
      duties: soleDuties,
      log: silentLog,
      random: Math.random,
    });
    loops.push(loop);
    return loop;
  };

  const write = (fields: Partial<Score> = {}): Score => {
    const traceId = newTraceId();
    const score = aScore({
      scoreId: randomUUID(),
      traceId,
      targetId: traceId,
      spanId: newSpanId(),
      target: 'trace',
      scorer: 'tool-use',
      score: 0.25,
      traceTimestamp: Date.now() - 2 * DAY_MS,
      ...fields,
    });
    feed.scores.push(score);
    return score;
  };

  const remove = (score: Score) => feed.scores.push({ ...score, isDeleted: true });

  const isSettled = () => new Set(feed.marked(name)).size === feed.scores.length;

  const findHeld = ({ scoreId }: Score) =>
    [...tool.held.values()].find(({ facts }) => facts['spanscore.score_id'] === scoreId);

  return { start, write, remove, isSettled, findHeld };
}

describe.each(TOOLS)('the exporter %s', (name, { options, hasSessions }) => {
  const { start, write, isSettled, findHeld } = prepareTool(name, options);
  test('writes each score once on its trace or span, and again only in place of itself', async () => {
    const first = write();
    const ofSpan = write({ target: 'agent', source: 'human', judgeModel: '', reason: '' });
    const loop = await start();
    await expect.poll(isSettled).toBe(true);
    feed.scores.push({ ...first, revision: first.revision + 1, score: 0.75, scoredAt: Date.now() });
    await expect.poll(isSettled).toBe(true);
    await loop.stop();
    await start();
    expect(tool.faults).toEqual([]);
    const values = [...tool.held.values()].map(({ value }) => value);
    expect(values.toSorted((a, b) => a - b)).toEqual([0.25, 0.75]);
    expect(findHeld(first)?.target).toBe(first.traceId);
    expect(findHeld(ofSpan)?.span?.replaceAll('-', '').slice(-16)).toBe(ofSpan.spanId);
  });

  test('tells with each score who gave it, why, and where its page is', async () => {
    const given = [
      [
        'HUMAN',
        write({ source: 'human', judgeModel: '', scoredBy: 'ann', label: 'good', reason: 'as asked' }),
      ],
      ['LLM', write({ judgeModel: 'a-model', label: 'bad', reason: 'no quote: “it is 5 °C”' })],
      ['CODE', write({ judgeModel: '', label: '', reason: '' })],
    ] as const;
    await start();
    await expect.poll(isSettled).toBe(true);
    expect(tool.faults).toEqual([]);
    for (const [author, score] of given) {
      const { label, reason, traceId } = score;
      expect(findHeld(score)).toMatchObject({
        author,
        label,
        reason,
        facts: {
          'spanscore.revision': String(score.revision),
          'spanscore.judge_model': score.judgeModel,
          'spanscore.trace': `/traces/${traceId}`,
        },
      });
    }
  });

  test('does not wait for the reply to one score before it sends the next one', async () => {
    const scores = Array.from({ length: 20 }, () => write());
    tool.holdUntil(4);
    await start();
    await expect.poll(isSettled).toBe(true);
    expect(tool.held.size).toBe(scores.length);
  });

  test('sends no label back that came from the tool', async () => {
    write({ source: 'human', scoredBy: `${name}:alice` });
    const other = write({ source: 'human', scoredBy: 'alice' });
    const loop = await start();
    await expect.poll(isSettled).toBe(true);
    expect([...tool.held.values()].map(({ target }) => target)).toEqual([other.traceId]);
    expect(loop.counts().get(name)).toMatchObject({ delivered: 1, skipped: 1 });
  });

  test('sends sessions where the tool has them, and the chosen scorers only', async () => {
    write({ target: 'session', traceId: '', spanId: '', sessionId: 'chat', targetId: 'chat' });
    write({ scorer: 'other' });
    const loop = await start({ scorers: ['tool-use'] });
    await expect.poll(isSettled).toBe(true);
    expect(tool.held.size).toBe(hasSessions ? 1 : 0);
    expect(loop.counts().get(name)?.skipped).toBe(hasSessions ? 1 : 2);
  });

  test.each([
    [401, {}],
    [403, {}],
    [429, { 'retry-after': '1' }],
    [503, { 'retry-after': '1' }],
  ])('waits while the tool answers %i, and gives up no score', async (status, headers) => {
    tool.fail(status, headers);
    write();
    write();
    const loop = await start({ attempts: 1 });
    await expect.poll(() => tool.count()).toBeGreaterThan(3);
    expect(loop.counts().get(name)).toMatchObject({
      lastError: expect.stringContaining(`HTTP ${status}`) as string,
    });
    tool.fail(undefined);
    await expect.poll(isSettled).toBe(true);
    expect(tool.held.size).toBe(2);
    expect(loop.counts().get(name)).toMatchObject({ delivered: 2, waiting: 0, lastError: undefined });
    expect(letters.letters).toEqual([]);
  });
});

describe.each(DELETING)('the exporter %s', (name, { options }) => {
  const { start, write, remove, isSettled } = prepareTool(name, options);

  test('deletes a score that was deleted, also one that the tool no longer has', async () => {
    const [kept, deleted, gone] = [write(), write(), write()];
    const loop = await start();
    await expect.poll(isSettled).toBe(true);
    remove(deleted);
    [...tool.held.keys()]
      .filter((key) => key.startsWith(gone.scoreId))
      .forEach((key) => tool.held.delete(key));
    remove(gone);
    await expect.poll(isSettled).toBe(true);
    expect(tool.faults).toEqual([]);
    expect([...tool.held.values()].map(({ target }) => target)).toEqual([kept.traceId]);
    expect(loop.counts().get(name)).toMatchObject({ delivered: 5, dead: 0 });
    expect(letters.letters).toEqual([]);
  });

  test('does not delete a label that came from the tool', async () => {
    const label = write({ source: 'human', scoredBy: `${name}:alice` });
    remove(label);
    await start();
    await expect.poll(isSettled).toBe(true);
    expect(tool.count()).toBe(0);
  });
});

describe.each(TOOLS.filter(([, { removal }]) => removal === undefined))(
  'the exporter %s, whose tool cannot delete,',
  (name, { options }) => {
    const { start, write, remove, isSettled } = prepareTool(name, options);

    test('makes a deletion a dead letter at once, which names the score and its trace', async () => {
      const score = write();
      await start();
      await expect.poll(isSettled).toBe(true);
      remove(score);
      await expect.poll(isSettled).toBe(true);
      expect(tool.count()).toBe(1);
      expect(letters.letters.map(({ reason }) => reason)).toEqual([
        expect.stringMatching(`cannot delete a score: .*${score.scoreId} of trace ${score.traceId}`),
      ]);
    });
  },
);

describe.each(REFUSING)('the exporter %s', (name, { options }) => {
  const { start, write } = prepareTool(name, options);

  test('tries an unknown trace again, and the other traces do not wait', async () => {
    const late = write();
    tool.unknown.add(late.traceId);
    write();
    await start({ attempts: 1 });
    await expect.poll(() => tool.held.size).toBe(1);
    await expect.poll(() => tool.count()).toBeGreaterThan(5);
    tool.unknown.clear();
    await expect.poll(() => tool.held.size).toBe(2);
    expect(letters.letters).toEqual([]);
  });

  test('gives up a trace that stays unknown, by its name', async () => {
    const lost = write();
    tool.unknown.add(lost.traceId);
    await start({ unknownFor: '1ms' });
    await expect
      .poll(() => letters.letters.map(({ reason }) => reason))
      .toEqual([expect.stringContaining(lost.traceId)]);
  });
});

describe('the exporter langsmith', () => {
  const { start, write, isSettled, findHeld } = prepareTool(
    'langsmith',
    STRICT_TOOLS['langsmith']?.options ?? {},
  );

  test('names the run and the trace as the library of LangSmith did, else by the ids of the span', async () => {
    const stored = await testStore();
    onTestFinished(() => stored.stop());
    const { store } = stored;
    const [run, trace] = [randomUUID(), randomUUID()];
    const own = write();
    const attributes = new Map([
      ['langsmith.span.id', run],
      ['langsmith.trace.id', trace],
    ]);
    await storeSpans(store, [buildSpan({ traceId: own.traceId, spanId: own.spanId, attributes })]);
    const other = write({ spanId: '0123456789abcdef' });
    const strange = write({ spanId: 'fedcba9876543210' });
    const wrong = new Map([['langsmith.span.id', 'a run']]);
    await storeSpans(store, [
      buildSpan({ traceId: strange.traceId, spanId: strange.spanId, attributes: wrong }),
    ]);
    await start({}, store);
    await expect.poll(isSettled).toBe(true);
    expect(tool.faults).toEqual([]);
    expect([own, other, strange].map(({ scoreId }) => tool.held.get(scoreId))).toMatchObject([
      { span: run, target: trace.replaceAll('-', '') },
      { span: '00000000-0000-0000-0123-456789abcdef', target: other.traceId },
      { span: '00000000-0000-0000-fedc-ba9876543210', target: strange.traceId },
    ]);
  });

  test('rounds a score to four decimals, and names the project', async () => {
    const projectId = randomUUID();
    const score = write({ score: 0.123456 });
    await start({ projectId });
    await expect.poll(isSettled).toBe(true);
    expect(tool.faults).toEqual([]);
    expect(findHeld(score)).toMatchObject({ value: 0.1235, project: projectId });
  });
});

describe('the exporter datadog', () => {
  const { start, write, isSettled } = prepareTool('datadog', STRICT_TOOLS['datadog']?.options ?? {});

  test.each([
    ['tool-use', 'tool_use'],
    ['2nd look', 's_2nd_look'],
    ['a'.repeat(300), 'a'.repeat(200)],
  ])('names the scorer %s as %s', async (scorer, label) => {
    write({ scorer });
    await start();
    await expect.poll(isSettled).toBe(true);
    expect(tool.faults).toEqual([]);
    expect([...tool.held.keys()].map((key) => key.split(' ')[2])).toEqual([label]);
  });
});

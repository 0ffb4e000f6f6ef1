import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import { createMlflowReader } from '../../../src/sources/mlflow.ts';
import { createPhoenixReader } from '../../../src/sources/phoenix.ts';
import type { SourceReader } from '../../../src/sources/source.ts';
import { listFacts } from '../../support/recordings/facts.ts';
import { recordedSpans } from '../../support/recordings/recorded-spans.ts';
import {
  type MlflowTrace,
  type PhoenixSpan,
  readReplies,
  startToolPages,
  type ToolPages,
} from '../../support/sources/tool-pages.ts';
import { sourceWorld, type SourceWorld } from '../../support/sources/source-world.ts';
import { newSpanId, newTraceId } from '../../support/store/store-rows.ts';

let tool: ToolPages;
let world: SourceWorld;

beforeEach(async () => {
  tool = await startToolPages();
  world = sourceWorld();
});
afterEach(async () => {
  await world.stop();
  await tool.close();
});

function storedIds(): string[] {
  return world.sink.rows().map((row) => String(row['SpanId']));
}

const HOUR_MS = 3_600_000;

/** Tools, each with its options, and a function that adds items which began some hours ago and returns the ids of their spans. */
const TOOLS = {
  phoenix: {
    options: (url: string) => ({ phoenix: { endpoint: url, apiKey: 'good' } }),
    add: (count: number, hoursAgo = 1): string[] => {
      const spans = Array.from({ length: count }, () => ({
        trace_id: newTraceId(),
        span_id: newSpanId(),
        name: 'answer',
        start_time_unix_nano: (Date.now() - hoursAgo * HOUR_MS) * 1e6,
        end_time_unix_nano: (Date.now() - hoursAgo * HOUR_MS + 5) * 1e6,
        attributes: [{ key: 'openinference.span.kind', value: { int_value: null, string_value: 'LLM' } }],
      }));
      tool.phoenix.push(...spans);
      return spans.map((span) => span.span_id);
    },
  },
  mlflow: {
    options: (url: string) => ({ mlflow: { endpoint: url, token: 'good', experimentIds: ['1'] } }),
    add: (count: number, hoursAgo = 1): string[] => {
      const ids = Array.from({ length: count }, () => newSpanId());
      tool.mlflow.push(
        ...ids.map((id) => {
          const trace = newTraceId();
          const startMs = Date.now() - hoursAgo * HOUR_MS;
          const span = {
            trace_id: Buffer.from(trace, 'hex').toString('base64'),
            span_id: Buffer.from(id, 'hex').toString('base64'),
            name: 'answer',
            start_time_unix_nano: startMs * 1e6,
            end_time_unix_nano: startMs * 1e6,
            attributes: [{ key: 'mlflow.spanType', value: { string_value: 'AGENT' } }],
          };
          const info = {
            trace_id: `tr-${trace}`,
            request_time: new Date(startMs).toISOString(),
            state: 'OK',
          };
          return { trace_info: info, spans: [span] };
        }),
      );
      return ids;
    },
  },
  langfuse: {
    options: (url: string) => ({ langfuse: { endpoint: url, publicKey: 'pk', secretKey: 'good' } }),
    add: (count: number, hoursAgo = 1): string[] => {
      const ids = Array.from({ length: count }, () => newSpanId());
      tool.langfuse.push(
        ...ids.map((id) => ({
          id,
          traceId: newTraceId(),
          parentObservationId: null,
          type: 'GENERATION',
          name: 'answer',
          startTime: new Date(Date.now() - hoursAgo * HOUR_MS).toISOString(),
          endTime: null,
        })),
      );
      return ids;
    },
  },
} as const;

describe.each(Object.entries(TOOLS))('the source %s', (kind, { options, add }) => {
  const start = () => world.start({ mine: { ...options(tool.url), since: '5h', every: '1s' } });

  test('reads each span once, also new ones, and none from before the time that it begins with', async () => {
    add(3, 6);
    const ids = add(250);
    const { states } = await start();
    await expect.poll(() => storedIds().length).toBe(ids.length);
    ids.push(...add(120, 0.1));
    await expect.poll(() => storedIds().length).toBe(ids.length);
    const looks = tool.count();
    await expect.poll(() => tool.count()).toBeGreaterThan(looks + 10);
    expect(storedIds().sort()).toEqual(ids.sort());
    expect(tool.faults).toEqual([]);
    expect(states()).toEqual([{ name: 'mine', spans: ids.length, lag: 0, lastError: null }]);
    expect(world.letters.letters).toEqual([]);
  });

  test('loses no span over ten kills, and names no trace in its cursors', async () => {
    const ids = add(400);
    for (let kill = 0; kill < 10; kill += 1) {
      const before = tool.count();
      const process = await start();
      await expect.poll(() => tool.count(), { interval: 1 }).toBeGreaterThan(before + (kill % 3));
      process.kill();
      ids.push(...add(20, 0.2));
    }
    await start();
    await expect.poll(() => new Set(storedIds()).size).toBe(ids.length);
    expect(new Set(storedIds())).toEqual(new Set(ids));
    const cursors = [...world.cursors.values()].flatMap((each) => [...each.values()]).join();
    expect(ids.filter((id) => cursors.includes(id))).toEqual([]);
  });

  test('reads what comes after an item of a clock that is days ahead', async () => {
    add(1, -48);
    const { states } = await start();
    await expect.poll(() => states()[0]?.lag).toBe(0);
    const ids = add(3, 0.1);
    await expect.poll(() => ids.filter((id) => !storedIds().includes(id))).toEqual([]);
    expect(tool.faults).toEqual([]);
  });

  test('says why it cannot be read, and goes on when it can', async () => {
    const ids = add(3);
    tool.fail(401);
    const { states } = await start();
    await expect.poll(() => states()[0]?.lastError).toMatch(`${kind} answered HTTP 401`);
    tool.fail(undefined);
    await expect.poll(() => states()[0]).toMatchObject({ spans: ids.length, lastError: null });
  });
});

test.each([
  ['langfuse', { untilMs: Date.now() + 2 * HOUR_MS }],
  ['mlflow', { newestMs: Date.now() + 2 * HOUR_MS }],
] as const)('the source %s reads on when the clock of its process went back', async (kind, cursor) => {
  const { options, add } = TOOLS[kind];
  world.cursors.set('mine', new Map([['', JSON.stringify(cursor)]]));
  await world.start({ mine: { ...options(tool.url), since: '5h', every: '1s' } });
  const ids = add(3, 0.1);
  await expect.poll(() => ids.filter((id) => !storedIds().includes(id))).toEqual([]);
});

test.each([0, 1])(
  'a run in MLflow that ends an hour after it began is read, over %i kills',
  async (kills) => {
    const sources = { mine: { ...TOOLS.mlflow.options(tool.url), since: '5h', every: '1s' } };
    const [late] = TOOLS.mlflow.add(1, 1);
    const ended = tool.mlflow[0]!;
    tool.mlflow[0] = { trace_info: { ...ended.trace_info, state: 'IN_PROGRESS' }, spans: [] };
    const ids = TOOLS.mlflow.add(60, 0.1);
    const first = await world.start(sources);
    await expect.poll(() => new Set(storedIds())).toEqual(new Set(ids));
    await expect.poll(() => first.states()[0]?.lag).toBe(0);
    if (kills > 0) {
      first.kill();
      await world.start(sources);
    }
    tool.mlflow[0] = ended;
    await expect.poll(() => storedIds().includes(late!)).toBe(true);
    expect(tool.faults).toEqual([]);
  },
);

/** Reads all that a reader has, as lines of OTLP. */
async function readAll(reader: SourceReader): Promise<string> {
  const lines: string[] = [];
  for await (const { requests } of reader.pull(new Map(), new AbortController().signal)) {
    lines.push(...requests.map((request) => JSON.stringify(request)));
  }
  return lines.join('\n');
}

describe('spans of recordings that came from the real', () => {
  const recordings = [
    'openinference-langchain-py-react',
    'openinference-langchain-py-rag',
    'openinference-openai-agents-py-agent',
    'openinference-vercel-ai6',
    'openinference-llamaindex-py-agent',
  ];
  const readers = {
    phoenix: () => createPhoenixReader({ endpoint: tool.url, apiKey: 'good', project: 'default' }, 0),
    mlflow: () => createMlflowReader({ endpoint: tool.url, token: 'good', experimentIds: ['1'] }, 0),
  };
  const cases = [
    ...recordings.flatMap((name) => [['phoenix', name] as const, ['mlflow', name] as const]),
    ['mlflow', 'mlflow-py-openai'] as const,
  ];

  test.each(cases)('%s have the facts of %s', async (kind, name) => {
    tool.phoenix.push(...readReplies<PhoenixSpan>('phoenix'));
    tool.mlflow.push(...readReplies<MlflowTrace>('mlflow'));
    const pulled = readTraces(await readAll(readers[kind]()));
    const recorded = readTraces(recordedSpans('spans', name));
    expect(recorded.length).toBeGreaterThan(0);
    for (const reading of recorded) {
      const same = pulled.filter(({ traceId }) => traceId === reading.traceId);
      expect([...listFacts(same)]).toEqual([...listFacts([reading])]);
    }
  });
});

describe('files', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'spanscore-source-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const line = (spanId: string) =>
    JSON.stringify({
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                {
                  traceId: newTraceId(),
                  spanId,
                  name: 'answer',
                  startTimeUnixNano: '1795247001808999936',
                  endTimeUnixNano: '1795247001808999937',
                },
              ],
            },
          ],
        },
      ],
    });

  test('are read once, with the lines that are added later, and plain or compressed', async () => {
    const ids = Array.from({ length: 900 }, () => newSpanId());
    const lines = ids.map(line);
    await writeFile(join(folder, 'a.jsonl'), `${lines.slice(0, 450).join('\n')}\n`);
    await writeFile(join(folder, 'b.jsonl.gz'), gzipSync(lines.slice(450).join('\n')));
    const files = join(folder, '*.jsonl*');
    const first = await world.start({ archive: { files } });
    await expect.poll(() => storedIds().length).toBe(900);
    const late = newSpanId();
    const text = line(late);
    await appendFile(join(folder, 'a.jsonl'), text.slice(0, 40));
    await expect.poll(() => first.states()[0]?.lag).toBe(0);
    await appendFile(join(folder, 'a.jsonl'), `${text.slice(40)}\n`);
    await expect.poll(storedIds).toContain(late);
    await first.stop();
    const again = await world.start({ archive: { files } });
    await expect.poll(() => again.states()[0]?.lag).toBe(0);
    expect(storedIds().sort()).toEqual([...ids, late].sort());
    expect(world.letters.letters).toEqual([]);
  });

  test('with a line that is no request are read on, and the line is a dead letter', async () => {
    const ids = [newSpanId(), newSpanId()];
    await writeFile(join(folder, 'a.jsonl'), `${line(ids[0]!)}\nno json\n${line(ids[1]!)}\n`);
    const { states } = await world.start({ archive: { files: join(folder, 'a.jsonl') } });
    await expect.poll(() => states()[0]?.spans).toBe(2);
    expect(storedIds()).toEqual(ids);
    expect(world.letters.letters).toMatchObject([
      { source: 'source-archive', signal: 'traces', code: 'input_invalid' },
    ]);
    expect(Buffer.from(world.letters.letters[0]?.body ?? []).toString()).toBe('no json');
  });

  test('that are missing are an error of the source', async () => {
    const { states } = await world.start({ archive: { files: join(folder, 'none-*.jsonl') } });
    await expect.poll(() => states()[0]?.lastError).toMatch('no file matches');
  });
});

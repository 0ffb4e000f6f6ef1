import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { decodeTraces, joinTraces, readTogether, readTrace } from '../../../../src/conventions/index.ts';
import type { TraceReading } from '../../../../src/domain/trace/agent-run.ts';
import { ScoringLoop } from '../../../../src/scoring/live/scoring-loop.ts';
import type { ScorerRunInput } from '../../../../src/scorers/evals/index.ts';
import { explainTrace } from '../../../../src/scoring/explain.ts';
import { joinTraceKey, type TraceKey } from '../../../../src/store/contracts/stores.ts';
import { post } from '../../../support/collector/otlp-post.ts';
import { createJoiningScoring } from '../../../support/builders/pieces.ts';
import { listExpectations, recordedSpans } from '../../../support/recordings/recorded-spans.ts';
import { CountingScorer, buildRule } from '../../../support/scoring/scoring-world.ts';
import { openEmptied, testStore, type TestStore } from '../../../support/store/store-rows.ts';
import { testCollector, type TestCollector } from '../../../support/collector/test-collector.ts';
import { until } from '../../../support/until.ts';
import type { Store } from '../../../../src/store/store.ts';

let base: TestStore;
let store: Store;
let collector: TestCollector;
const running: ScoringLoop[] = [];

beforeAll(async () => {
  base = await testStore();
});
afterAll(async () => {
  await base.stop();
});
beforeEach(async () => {
  store = await openEmptied(base.options);
  ({ collector } = await testCollector({ sink: store.sink }));
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((loop) => loop.stop()));
  await collector.stop();
  await store.close();
});

interface Group {
  readonly resource: unknown;
  readonly scopeSpans?: { readonly spans: unknown[] }[];
  readonly scopeLogs?: { readonly logRecords: unknown[] }[];
}

/** An export request for every span and every log record of a recording. */
function buildPieces(recording: string): { spans: object[]; logs: object[] } {
  const lines = recording
    .split('\n')
    .map((line): { resourceSpans?: Group[]; resourceLogs?: Group[] } => JSON.parse(line));
  const spans = lines.flatMap(({ resourceSpans = [] }) =>
    resourceSpans.flatMap((group) =>
      (group.scopeSpans ?? []).flatMap((scope) =>
        scope.spans.map((span) => ({
          resourceSpans: [{ ...group, scopeSpans: [{ ...scope, spans: [span] }] }],
        })),
      ),
    ),
  );
  const logs = lines.flatMap(({ resourceLogs = [] }) =>
    resourceLogs.flatMap((group) =>
      (group.scopeLogs ?? []).flatMap((scope) =>
        scope.logRecords.map((log) => ({
          resourceLogs: [{ ...group, scopeLogs: [{ ...scope, logRecords: [log] }] }],
        })),
      ),
    ),
  );
  return { spans, logs };
}

/** In an order that has nothing to do with time, the same at every run. */
function shuffled<T>(items: readonly T[]): T[] {
  const keyed = items.map((item, index) => ({
    item,
    key: ((index * 7919 + 13) % 104_729) % (items.length + 1),
  }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}

/** Each span in a request of its own, out of order; log records one by one, in order; every third span twice. */
async function sendInPieces(recording: string): Promise<void> {
  const { spans, logs } = buildPieces(recording);
  const again = spans.filter((_, index) => index % 3 === 0);
  const sent = [
    ...shuffled([...spans, ...again]).map((body) => post(collector.address, { body })),
    ...logs.map((body) => post(collector.address, { path: '/v1/logs', body })),
  ];
  expect(new Set((await Promise.all(sent)).map(({ status }) => status))).toEqual(new Set([200]));
}

function listKeys(recording: string): TraceKey[] {
  return decodeTraces(recording).traces.map(({ traceId }) => ({ tenant: '', traceId }));
}

async function readStored(keys: readonly TraceKey[]): Promise<TraceReading[]> {
  const found = await store.spans.read(keys);
  return readTogether(keys.flatMap((key) => found.get(joinTraceKey(key)) ?? []));
}

/** Decisions on each trace, without those that later spans replaced. */
async function listReasons(keys: readonly TraceKey[]): Promise<[string, string[]][]> {
  const rows = await store.decisions.ofTraces(keys);
  return keys.map((key) => [
    key.traceId,
    (rows.get(joinTraceKey(key)) ?? [])
      .filter(({ reason }) => !reason.startsWith('superseded: '))
      .map((row) => row.status + row.reason),
  ]);
}

/** Recordings of emitters that make a trace of every model call, tool or step. */
const APART = [
  'openinference-openai-chat',
  'openinference-openai-responses',
  'otel-contrib-openai-chat',
  'otel-genai-openai-py-span-only',
  'otel-openai-java-chat',
  'traceloop-openai-chat',
  'traceloop-old-openai-chat',
  'traceloop-langchain',
];

const FOLDERS = ['spans', 'spans-multi'] as const;

describe('recorded agents, stored', () => {
  test('read the same as from their files, however they were split and in whatever order they came', async () => {
    const names = FOLDERS.flatMap((folder) =>
      listExpectations(folder).map(([name]) => [folder, name] as const),
    );
    expect(names.length).toBeGreaterThan(130);
    for (const [folder, name] of names) {
      const recording = recordedSpans(folder, name);
      await sendInPieces(recording);
      expect({ name, readings: await readStored(listKeys(recording)) }).toEqual({
        name,
        readings: readTogether(decodeTraces(recording).traces),
      });
    }
  }, 600_000);

  test.each(APART)('are one run where each call is a trace of its own: %s', async (name) => {
    const recording = recordedSpans('spans', name);
    const [joined, ...more] = joinTraces(decodeTraces(recording).traces);
    expect(more).toEqual([]);
    const owner = joined!.data.traceId;
    const run = readTrace(joined!.data).runs[0]!;
    const isWhole = (input: ScorerRunInput | undefined): boolean =>
      isDeepStrictEqual([input?.output, input?.context], [run.output, run.context]);
    const scorer = new CountingScorer('a');
    const rule = buildRule([scorer]);
    const scoring = createJoiningScoring(store, { decisionWaitMs: 300 });
    const loop = new ScoringLoop(scoring, { rules: [rule], stopGraceMs: 1_000 });
    await loop.start();
    running.push(loop);
    await sendInPieces(recording);
    const keys = listKeys(recording);
    const expected = keys.map(({ traceId }) => [
      traceId,
      traceId === owner
        ? ['scored']
        : [`not_applicablepart_of_run: this trace is a piece of the run that is scored as trace ${owner}`],
    ]);
    // Pieces that come slowly are decided on by themselves first, and again once the others are there.
    await until(
      async () => isDeepStrictEqual(await listReasons(keys), expected) && isWhole(scorer.inputs.at(-1)),
    );
    expect(await listReasons(keys)).toEqual(expected);
    const scores = await store.scores.ofTraces(keys);
    expect([...scores.values()].flat()).toMatchObject([{ traceId: owner, targetId: owner }]);
    expect(scorer.inputs.at(-1)).toMatchObject({ output: run.output, context: run.context });
    for (const key of keys) {
      await expect.poll(async () => (await explainTrace(scoring, key, [rule])).computed).toEqual([]);
    }
  });
});

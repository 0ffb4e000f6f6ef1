import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createPostDeps, postScores } from '../../../src/api/writes/posted-scores.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { startLabelImport } from '../../../src/labels/import-labels.ts';
import type { StartedPart } from '../../../src/process/parts.ts';
import { createLabelReaders } from '../../../src/sources/start-sources.ts';
import { NOTHING_PURGED } from '../../../src/store/contracts/purge.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

import { buildRunRecord } from '../../support/store/run-rows.ts';
import { newSpanId, newTraceId, testStore, type TestStore } from '../../support/store/store-rows.ts';

interface Label {
  readonly traceId: string;
  readonly spanId?: string;
  readonly value: number | string | boolean;
  readonly isHuman?: boolean;
  readonly metadata?: object;
  readonly author?: string;
}

let base: TestStore;
let held: Label[];
let tool: { readonly url: string; close(): Promise<void> };
const running: StartedPart[] = [];

/** Replies of the tools to what `held` has, by the beginning of the path. */
const TOOLS = {
  phoenix(path: string) {
    const [, kind = '', query = ''] = /\/(trace|span)_annotations\?(.*)$/u.exec(path) ?? [];
    const ids = new URLSearchParams(query).getAll(`${kind}_ids`);
    const data = held
      .filter(({ traceId, spanId }) => ids.includes(kind === 'span' ? (spanId ?? '') : spanId ? '' : traceId))
      .map(({ traceId, spanId, value, isHuman = true, metadata = {}, author = 'alice' }) => ({
        name: 'correctness',
        annotator_kind: isHuman ? 'HUMAN' : 'LLM',
        user_id: author,
        identifier: '',
        result:
          typeof value === 'number' ? { score: value, label: null } : { score: null, label: String(value) },
        metadata,
        ...(spanId === undefined ? { trace_id: traceId } : { span_id: spanId }),
      }));
    return { data, next_cursor: null };
  },
  mlflow(path: string) {
    const assessments = held
      .filter(({ traceId }) => path.endsWith(`/traces/tr-${traceId}`))
      .map(({ spanId, value, isHuman = true, metadata = {}, author = 'alice' }) => ({
        assessment_name: 'correctness',
        ...(spanId === undefined ? {} : { span_id: spanId }),
        source: { source_type: isHuman ? 'HUMAN' : 'LLM_JUDGE', source_id: author },
        feedback: { value },
        metadata,
        valid: true,
      }));
    return { trace: { trace_info: { assessments } } };
  },
  langfuse(path: string) {
    if (!path.startsWith('/api/public/v3/scores?')) {
      return undefined;
    }
    const data = held.map(({ traceId, spanId, value, isHuman = true, metadata = {}, author = 'alice' }) => ({
      name: 'correctness',
      source: isHuman ? 'ANNOTATION' : 'API',
      value,
      authorUserId: author,
      metadata,
      subject:
        spanId === undefined ? { kind: 'trace', id: traceId } : { kind: 'observation', id: spanId, traceId },
    }));
    return { data, meta: { limit: 100 } };
  },
} as const;

const OPTIONS = {
  phoenix: { project: 'default' },
  mlflow: { experimentIds: ['1'] },
  langfuse: { publicKey: 'pk', secretKey: 'sk' },
};

beforeAll(async () => {
  base = await testStore();
});
afterAll(() => base.stop());
beforeEach(() => {
  held = [];
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((part) => part.stop()));
  await tool.close();
});

/** Starts a tool on loopback. Under the path `/other` is a second one, without labels. */
async function startTool(kind: keyof typeof TOOLS) {
  const server = createServer((request, response) => {
    const [, other, path = ''] = /^(\/other)?(.*)$/u.exec(request.url ?? '') ?? [];
    const all = held;
    held = other === undefined ? all : [];
    const reply = TOOLS[kind](path);
    held = all;
    response.writeHead(reply === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reply ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  tool = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Stores a run. Returns its trace and its span. */
async function storeRun() {
  const [traceId, spanId] = [newTraceId(), newSpanId()];
  const run = buildRunRecord({ traceId, spanId, targetId: traceId, startedAt: Date.now() - 60_000 });
  await base.store.runs.write([run]);
  return { traceId, spanId };
}

describe.each(Object.keys(TOOLS) as (keyof typeof TOOLS)[])('labels of people in %s', (kind) => {
  async function start() {
    await startTool(kind);
    const source = (url: string) => ({ [kind]: { endpoint: url, ...OPTIONS[kind] } });
    const config = parseConfig({
      sources: { mine: source(tool.url), other: source(`${tool.url}/other`) },
      labels: { from: ['mine', 'other'] },
    });
    const posts = createPostDeps(config, { store: base.store, purged: NOTHING_PURGED });
    const part = startLabelImport(createLabelReaders(config), base.store, {
      duties: { join: () => undefined, readEpoch: async () => 1, leave: async () => undefined },
      log: silentLog,
      everyMs: 20,
      post: (tenant, labels) => postScores(posts, { tenant, name: '' }, labels),
    });
    running.push(part);
  }

  const readLabels = async (traceId: string) => {
    const scores = (await base.store.scores.ofTraces([{ traceId, tenant: '' }])).values();
    return [...scores]
      .flat()
      .map(({ scorer, score, scoredBy, source, target }) => ({ scorer, score, scoredBy, source, target }));
  };

  test('become labels of the same trace or span, follow each change, and go when they are deleted', async () => {
    const run = await storeRun();
    const label = { traceId: run.traceId, value: 0.25 };
    held = [label, { ...run, value: 1, author: 'bob' }];
    await start();
    const row = {
      scorer: 'correctness',
      score: 0.25,
      scoredBy: `${kind}:alice`,
      source: 'human',
      target: 'trace',
    };
    const ofSpan = { ...row, score: 1, scoredBy: `${kind}:bob`, target: 'agent' };
    const poll = () => expect.poll(async () => new Set(await readLabels(run.traceId)));
    await poll().toEqual(new Set([row, ofSpan]));
    held = [
      { ...label, value: 0.75 },
      { ...run, value: 1, author: 'bob' },
    ];
    await poll().toEqual(new Set([{ ...row, score: 0.75 }, ofSpan]));
    held = [{ ...label, value: 0.75 }];
    await poll().toEqual(new Set([{ ...row, score: 0.75 }]));
  });

  test('are only those of people, and none that spanscore wrote itself', async () => {
    const { traceId } = await storeRun();
    held = [
      { traceId, value: 0, isHuman: false, author: 'model' },
      { traceId, value: 0, metadata: { 'spanscore.score_id': 'x' }, author: 'ours' },
      { traceId: newTraceId(), value: 0, author: 'elsewhere' },
      { traceId, value: kind === 'langfuse' ? 1 : 'yes', author: 'alice' },
    ];
    await start();
    await expect
      .poll(() => readLabels(traceId))
      .toMatchObject([{ score: 1, scoredBy: `${kind}:alice`, source: 'human' }]);
  });
});

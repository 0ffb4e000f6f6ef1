import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readTraces } from '../../../src/conventions/index.ts';
import { createPhoenixReader } from '../../../src/sources/phoenix.ts';
import type { TraceReading } from '../../../src/domain/trace/agent-run.ts';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { readBlocks, readShownCommands } from '../../support/documents/quickstarts.ts';
import { type Fault, type FaultyProxy, startFaultyProxy } from '../../support/exports/faulty-proxy.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { recordedSpans } from '../../support/recordings/recorded-spans.ts';
import { newSpanId, newTraceId } from '../../support/store/store-rows.ts';
import { until } from '../../support/until.ts';
import type { PythonServer } from './python-server.ts';
import {
  findTools,
  PHOENIX_KEY,
  readJson,
  sendRequests,
  startToolServer,
  type ToolName,
  TOOLS,
} from './tool-servers.ts';

// Phoenix and MLflow from their packages, on loopback. Between them and `serve` is a server of the test, which has faults.

const NAMES: readonly ToolName[] = ['phoenix', 'mlflow'];

/** Enough to fetch the packages and to start both servers on a busy machine. */
const START_WITHIN_MS = 600_000;

const pythons = await findTools();
const servers = new Map<ToolName, PythonServer>();

const urlOf = (name: ToolName) => servers.get(name)?.url ?? '';

beforeAll(async () => {
  if (pythons !== undefined) {
    await Promise.all(
      NAMES.map(async (name) => servers.set(name, await startToolServer(name, pythons[name]))),
    );
  }
}, START_WITHIN_MS);
afterAll(() => servers.forEach((server) => server.stop()));

describe.skipIf(pythons === undefined)('the page about a tool beside spanscore', () => {
  const page = readFileSync(new URL('../../../docs/beside.md', import.meta.url), 'utf8');
  const folders: ServeFolder[] = [];
  afterAll(() => Promise.all(folders.map((folder) => folder.dispose())));

  it.each(NAMES)('shows what works with %s', { timeout: START_WITHIN_MS }, async (name) => {
    const section = page.split('\n## ').find((text) => text.toLowerCase().startsWith(`beside ${name}`)) ?? '';
    const ofServer = section.replaceAll(/http:\/\/127\.0\.0\.1:\d+/gu, urlOf(name));
    const [config = ''] = readBlocks(ofServer, 'yaml');
    const [shown] = readShownCommands(ofServer);
    const folder = new ServeFolder(parse(config) as Record<string, unknown>);
    folders.push(folder);
    const trace = anAgentTrace();
    const variables = { PHOENIX_API_KEY: PHOENIX_KEY, TRACE_ID: trace.traceId };
    await folder.start(variables);
    await sendRequests(urlOf(name), [trace.request()], TOOLS[name].headers);
    const runShown = () =>
      execFileSync('sh', ['-c', shown?.command ?? ''], {
        encoding: 'utf8',
        env: { ...process.env, ...variables },
      });
    await expect.poll(runShown, { timeout: 120_000, interval: 1_000 }).toBe(`${shown?.output.join('\n')}\n`);
  });
});

describe.skipIf(pythons === undefined)('scores in the real servers of Phoenix and MLflow', () => {
  /** Faults of the servers, one after the other: `serve` is killed in each. */
  const FAULTS: readonly (Fault | undefined)[] = [
    undefined,
    { status: 401 },
    { status: 429, retryAfterS: 1 },
    { status: 503, retryAfterS: 1 },
    { delayMs: 1_000 },
    undefined,
    { status: 503 },
    { delayMs: 200 },
    undefined,
    { delayMs: 2_000 },
  ];
  /** Traces of each fault. */
  const PART = 20;
  const traces = Array.from({ length: FAULTS.length * PART }, (_, n) =>
    anAgentTrace().answering(`It is ${n} degrees.`),
  );
  const proxies = new Map<ToolName, FaultyProxy>();
  let serve: ServeFolder;

  const configure = (expectedTool: string, apiKey: string) => ({
    scorers: { right: { use: 'tool-call-accuracy-code', options: { expectedTool } } },
    rules: [{ name: 'all', scorers: ['right'] }],
    exporters: {
      phoenix: { endpoint: proxies.get('phoenix')?.url, apiKey },
      mlflow: { endpoint: proxies.get('mlflow')?.url },
    },
  });

  beforeAll(async () => {
    for (const name of NAMES) {
      proxies.set(name, await startFaultyProxy(urlOf(name)));
    }
    serve = new ServeFolder(configure('get_weather', 'a wrong key'));
    await serve.start();
  }, START_WITHIN_MS);
  afterAll(async () => {
    await serve?.dispose();
    await Promise.all([...proxies.values()].map((proxy) => proxy.close()));
  });

  const readExporters = async () => {
    const { exporters } = await readJson<{
      exporters: { name: string; lastError: string | null; deadLetters: number }[];
    }>(`${serve.addresses().api}/api/v1/status`);
    return exporters;
  };
  const readError = async (exporter: ToolName) =>
    (await readExporters()).find(({ name }) => name === exporter)?.lastError ?? '';
  /** Returns the scores of all traces in a tool. */
  const listAll = async (name: ToolName, scorer: string) => {
    const all = await Promise.all(traces.map(({ traceId }) => TOOLS[name].listScores(urlOf(name), traceId)));
    return all.map((scores) => scores.filter((each) => each.name === scorer));
  };
  const waitForScores = async (value: number) => {
    const wanted = { name: 'right', author: 'CODE', value };
    for (const name of NAMES) {
      await expect
        .poll(() => listAll(name, 'right'), { timeout: 300_000, interval: 1_000 })
        .toEqual(traces.map(() => [wanted]));
    }
  };

  it(
    'are each there once over ten kills of serve and faults of the servers, and change when they are scored again',
    { timeout: START_WITHIN_MS },
    async () => {
      const requests = traces.map((trace) => trace.request());
      await Promise.all(NAMES.map((name) => sendRequests(urlOf(name), requests, TOOLS[name].headers)));
      for (const [round, fault] of FAULTS.entries()) {
        proxies.forEach((proxy) => proxy.fail(fault));
        const before = new Map([...proxies].map(([name, proxy]) => [name, proxy.count()]));
        await sendRequests(serve.addresses().otlpHttp, requests.slice(round * PART, (round + 1) * PART));
        await until(
          () => [...proxies].every(([name, proxy]) => proxy.count() > (before.get(name) ?? 0) + (round % 3)),
          120_000,
          () => serve.output.slice(-2_000),
        );
        // The first key is one that the real Phoenix refuses.
        await until(async () => round > 0 || (await readError('phoenix')).includes('HTTP 401'));
        await serve.killGroup();
        serve.configure(configure('get_weather', PHOENIX_KEY));
        await serve.start();
      }
      proxies.forEach((proxy) => proxy.fail(undefined));
      await waitForScores(1);

      await serve.stop();
      serve.configure(configure('get_wind', PHOENIX_KEY));
      await serve.start();
      const { code, stderr } = await runCommand(['rescore', '--scorer', 'right'], { cwd: serve.path });
      expect({ code, stderr }).toMatchObject({ code: 0 });
      await waitForScores(0);

      const [{ traceId } = { traceId: '' }] = traces;
      for (const value of [0.25, 0.75]) {
        const response = await fetch(`${serve.addresses().api}/api/v1/scores`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ traceId, scorer: 'helpful', score: value, source: 'human' }),
        });
        expect(response.ok).toBe(true);
        for (const name of NAMES) {
          await expect
            .poll(async () => (await listAll(name, 'helpful')).flat(), { timeout: 60_000 })
            .toEqual([{ name: 'helpful', author: 'HUMAN', value }]);
        }
      }
      expect(await readExporters()).toMatchObject([
        { name: 'phoenix', deadLetters: 0, lastError: null },
        { name: 'mlflow', deadLetters: 0, lastError: null },
      ]);
    },
  );
});

/** Recordings of a small trace, and of large ones, of which a real Phoenix takes some hundred spans a second. */
const SMALL = ['openinference-vercel-ai6'];
const LARGE = [
  'openinference-langchain-py-react',
  'openinference-langchain-py-rag',
  'openinference-openai-agents-py-agent',
  'openinference-llamaindex-py-agent',
];

/** Resources of a request: Phoenix needs long for each request. */
const PER_REQUEST = 400;

it.skipIf(pythons === undefined)(
  '1,000 traces of a real Phoenix have the same readings as over OTLP',
  { timeout: START_WITHIN_MS },
  async () => {
    const project = 'archive';
    const sent = Array.from({ length: 1_000 }, (_, n) => {
      const names = n % 20 === 0 ? LARGE : SMALL;
      return withNewIds(recordedSpans('spans', names[Math.floor(n / 20) % names.length] ?? ''));
    });
    const resources = sent.flatMap((text) => text.split('\n').flatMap((line) => inProject(line, project)));
    const requests = Array.from({ length: Math.ceil(resources.length / PER_REQUEST) }, (_, n) => ({
      resourceSpans: resources.slice(n * PER_REQUEST, (n + 1) * PER_REQUEST),
    }));
    const url = urlOf('phoenix');
    await sendRequests(url, requests, TOOLS.phoenix.headers);
    const count = listSpans(resources).length;
    const reader = createPhoenixReader({ endpoint: url, apiKey: PHOENIX_KEY, project }, 0);
    const cursors = new Map<string, unknown>();
    const pulled = new Map<string, object>();
    const pull = async () => {
      for await (const batch of reader.pull(cursors, new AbortController().signal)) {
        cursors.set('', batch.cursor);
        for (const span of (batch.requests as Traces[]).flatMap((each) => listSpans(each.resourceSpans))) {
          pulled.set(`${span.trace_id} ${span.span_id}`, span);
        }
      }
    };
    await until(
      // As in `serve`, a look that fails is followed by another one from the cursor on.
      () =>
        pull().then(
          () => pulled.size >= count,
          () => false,
        ),
      START_WITHIN_MS,
      () => `${pulled.size} of ${count} spans`,
    );
    expect(pulled.size).toBe(count);
    const read = readTraces({ resourceSpans: [{ scopeSpans: [{ spans: [...pulled.values()] }] }] });
    const recorded = sent.flatMap((text) => readTraces(text));
    expect(recorded).toHaveLength(1_000);
    expect(listKept(read)).toEqual(listKept(recorded));
  },
);

/** Lists the readings of traces without what Phoenix does not keep: the resource, and times below a microsecond. */
function listKept(readings: readonly TraceReading[]): unknown[] {
  const sorted = readings.toSorted((a, b) => (a.traceId < b.traceId ? -1 : 1));
  const isLost = (key: string) =>
    ['service', 'startedAt', 'createdAt', 'endedAt', 'durationMs'].includes(key);
  return JSON.parse(JSON.stringify(sorted), (key, value: unknown) =>
    isLost(key) ? undefined : value,
  ) as unknown[];
}

const listSpans = (resources: readonly ResourceSpans[]) =>
  resources.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));

interface ResourceSpans {
  readonly resource: { readonly attributes: object[] };
  readonly scopeSpans: readonly {
    readonly spans: readonly { readonly trace_id?: string; readonly span_id?: string }[];
  }[];
}

interface Traces {
  readonly resourceSpans: readonly ResourceSpans[];
}

/** Gives the traces and spans of a recording ids of their own: Phoenix knows a span by its id alone. */
function withNewIds(text: string): string {
  const ids = new Set([...text.matchAll(/"(?:traceId|spanId)":\s*"([^"]+)"/gu)].map(([, id = '']) => id));
  return [...ids].reduce(
    (all, id) => all.replaceAll(id, id.length === 32 ? newTraceId() : newSpanId()),
    text,
  );
}

/** Returns the spans of a request with the project of Phoenix in their resources. */
function inProject(line: string, project: string): readonly ResourceSpans[] {
  const { resourceSpans } = JSON.parse(line) as Traces;
  resourceSpans.forEach(({ resource }) =>
    resource.attributes.push({ key: 'openinference.project.name', value: { stringValue: project } }),
  );
  return resourceSpans;
}

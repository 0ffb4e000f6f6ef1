import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readTraces } from '../../../src/conventions/index.ts';
import type { ExporterState } from '../../../src/domain/delivery.ts';
import { createMlflowReader } from '../../../src/sources/mlflow.ts';
import { createPhoenixReader } from '../../../src/sources/phoenix.ts';
import type { TraceReading } from '../../../src/domain/trace/agent-run.ts';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { readBlocks, readShownCommands } from '../../support/documents/quickstarts.ts';
import { reportFigures } from '../../support/durability/report-figures.ts';
import { type Fault, type FaultyProxy, startFaultyProxy } from '../../support/exports/faulty-proxy.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { recordedSpans } from '../../support/recordings/recorded-spans.ts';
import { newSpanId, newTraceId } from '../../support/store/store-rows.ts';
import { until } from '../../support/until.ts';
import type { PythonServer } from './python-server.ts';
import {
  askJson,
  createExperiment,
  findTools,
  PHOENIX_KEY,
  sendRequests,
  type ShownScore,
  startToolServer,
  type ToolName,
  TOOLS,
} from './tool-servers.ts';

// Phoenix and MLflow from their packages, on loopback. Between them and `serve` is a server of the test, which has faults.

const NAMES: readonly ToolName[] = ['phoenix', 'mlflow'];

/** Enough to fetch the packages and to start both servers on a busy machine. */
const START_WITHIN_MS = 600_000;

/** Traces that are scored in both tools. The whole proof has 2,000: SPANSCORE_TOOL_TRACES=2000. */
const TRACES = Number(process.env['SPANSCORE_TOOL_TRACES'] ?? 60);
const SETTLED_WITHIN_MS = Math.max(600_000, 600 * TRACES);
const WHOLE_TIMEOUT_MS = Math.max(3 * START_WITHIN_MS, 3_000 * TRACES);

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
    const { labels, ...rest } = parse(config) as { labels: object };
    const folder = new ServeFolder({ ...rest, labels: { ...labels, every: '1s' } });
    folders.push(folder);
    const trace = anAgentTrace();
    const variables = { PHOENIX_API_KEY: PHOENIX_KEY, TRACE_ID: trace.traceId };
    const { api } = await folder.start(variables);
    await sendRequests(urlOf(name), [trace.request()], TOOLS[name].headers);
    const runShown = () =>
      execFileSync('sh', ['-c', shown?.command ?? ''], {
        encoding: 'utf8',
        env: { ...process.env, ...variables },
      });
    await expect.poll(runShown, { timeout: 120_000, interval: 1_000 }).toBe(`${shown?.output.join('\n')}\n`);

    await TOOLS[name].annotate(urlOf(name), trace.traceId, 'helpful');
    const readLabels = async () =>
      (await askJson<{ items: object[] }>(`${api}/api/v1/scores?traceId=${trace.traceId}&scorer=helpful`))
        .items;
    const label = { score: 1, source: 'human', scoredBy: expect.stringMatching(`^${name}:.`) as string };
    await expect.poll(readLabels, { timeout: 60_000 }).toMatchObject([label]);
    // The exporter has had its turn, and has not sent the label back.
    await expect.poll(async () => (await readExporters(api))[0]?.skipped).toBe(1);
    const shownScores = await TOOLS[name].listScores(urlOf(name), [
      { traceId: trace.traceId, spanIds: [trace.spanId(0)] },
    ]);
    expect(shownScores.filter((each) => each.name === 'helpful')).toHaveLength(1);
  });
});

/** Reads the states of the exporters of a `serve`. */
async function readExporters(api: string) {
  const { exporters } = await askJson<{ exporters: ExporterState[] }>(`${api}/api/v1/status`);
  return exporters;
}

/** Score in the store, as the API shows it. */
interface OwnScore {
  readonly scorer: string;
  readonly score: number;
  readonly source: string;
  readonly target: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly scoredAt: string;
}

/** Reads all scores of a `serve`. */
async function readOwnScores(api: string): Promise<OwnScore[]> {
  const found: OwnScore[] = [];
  let next: string | null = '';
  while (next !== null) {
    const cursor: string = next === '' ? '' : `&cursor=${encodeURIComponent(next)}`;
    const page: { items: OwnScore[]; next: string | null } = await askJson(
      `${api}/api/v1/scores?limit=500${cursor}`,
    );
    found.push(...page.items);
    ({ next } = page);
  }
  return found;
}

describe.skipIf(pythons === undefined)('scores in the real servers of Phoenix and MLflow', () => {
  /** Faults of the servers, one after the other: `serve` is killed in each. */
  const FAULTS: readonly (Fault | undefined)[] = [
    undefined,
    { status: 401 },
    { status: 429, retryAfterS: 1 },
    { status: 503, retryAfterS: 1 },
    { delayMs: 1_000 },
    undefined,
  ];
  /** Traces of each fault. */
  const PART = TRACES / FAULTS.length;
  const traces = Array.from({ length: TRACES }, (_, n) => anAgentTrace().answering(`It is ${n} degrees.`));
  const proxies = new Map<ToolName, FaultyProxy>();
  let serve: ServeFolder;

  const configure = (expectedTool: string, apiKey: string) => ({
    scorers: {
      right: { use: 'tool-call-accuracy-code', options: { expectedTool } },
      called: { use: 'tool-call-accuracy-code', options: { expectedTool: 'get_weather' } },
    },
    rules: [
      { name: 'runs', scorers: ['right'] },
      { name: 'calls', target: 'model-call', scorers: ['called'] },
    ],
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

  const readError = async (exporter: ToolName) =>
    (await readExporters(serve.addresses().api)).find(({ name }) => name === exporter)?.lastError ?? '';
  /** Lists the scores of traces and their calls in a tool. */
  const listAll = async (name: ToolName, of: typeof traces): Promise<ShownScore[]> => {
    const found: ShownScore[] = [];
    for (let at = 0; at < of.length; at += 20) {
      const some = of.slice(at, at + 20).map((trace) => ({
        traceId: trace.traceId,
        spanIds: trace.spans().map(({ spanId }) => spanId),
      }));
      found.push(...(await TOOLS[name].listScores(urlOf(name), some)));
    }
    return found;
  };
  const targetOf = ({ target, traceId, spanId }: OwnScore) => (target === 'trace' ? traceId : spanId);
  /** Waits until each tool has exactly the scores of the store. Returns these, and the scores of the tools. */
  const waitForScores = async (isWhole: (own: readonly OwnScore[]) => boolean, of = traces) => {
    const ids = new Set(of.map(({ traceId }) => traceId));
    let own: OwnScore[] = [];
    const readOwn = async () =>
      (await readOwnScores(serve.addresses().api)).filter((each) => ids.has(each.traceId));
    await until(
      async () => isWhole((own = await readOwn())),
      SETTLED_WITHIN_MS,
      () => `${own.length} scores: ${serve.output.slice(-3_000)}`,
    );
    const tell = (name: string, author: string, value: number, target: string) =>
      `${target} ${name} ${author} ${value}`;
    const authorOf = ({ source }: OwnScore) => (source === 'human' ? 'HUMAN' : 'CODE');
    const wanted = own
      .map((each) => tell(each.scorer, authorOf(each), each.score, targetOf(each)))
      .toSorted();
    const shown = new Map<ToolName, ShownScore[]>();
    for (const name of NAMES) {
      const list = async () => {
        // A tool needs long for each list.
        await until(async () =>
          (await readExporters(serve.addresses().api)).every(({ waiting }) => waiting === 0),
        );
        shown.set(name, await listAll(name, of));
        return (shown.get(name) ?? [])
          .map((each) => tell(each.name, each.author, each.value, each.target))
          .toSorted();
      };
      const times = { timeout: SETTLED_WITHIN_MS, interval: Math.max(1_000, 5 * TRACES) };
      await expect.poll(list, times).toEqual(wanted);
    }
    return { own, shown };
  };

  it(
    'are each there once over six kills of serve and faults of the servers, and change when they are scored again',
    { timeout: WHOLE_TIMEOUT_MS },
    async () => {
      const resources = traces.flatMap((trace) => (trace.request() as Traces).resourceSpans);
      const requests = FAULTS.map((_, n) => ({ resourceSpans: resources.slice(n * PART, (n + 1) * PART) }));
      await Promise.all(NAMES.map((name) => sendRequests(urlOf(name), requests, TOOLS[name].headers)));
      for (const [round, fault] of FAULTS.entries()) {
        proxies.forEach((proxy) => proxy.fail(fault));
        const before = new Map([...proxies].map(([name, proxy]) => [name, proxy.count()]));
        await sendRequests(serve.addresses().otlpHttp, requests.slice(round, round + 1));
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
      const areRight = (value: number) => (own: readonly OwnScore[]) => {
        const values = own.filter(({ scorer }) => scorer === 'right').map(({ score }) => score);
        return (
          own.length === 3 * TRACES && values.length === TRACES && values.every((each) => each === value)
        );
      };
      await waitForScores(areRight(1));

      await serve.stop();
      serve.configure(configure('get_wind', PHOENIX_KEY));
      await serve.start();
      const { code, stderr } = await runCommand(['rescore', '--scorer', 'right'], { cwd: serve.path });
      expect({ code, stderr }).toMatchObject({ code: 0 });
      const { own, shown } = await waitForScores(areRight(0));
      const scoredAt = new Map(
        own
          .filter(({ scorer }) => scorer === 'right')
          .map((each) => [targetOf(each), Date.parse(each.scoredAt)]),
      );
      for (const [tool, scores] of shown) {
        const delaysS = scores
          .flatMap(({ target, changedAtMs }) => {
            const atMs = scoredAt.get(target);
            return atMs === undefined ? [] : [(changedAtMs - atMs) / 1_000];
          })
          .toSorted((a, b) => a - b);
        const median = delaysS[Math.floor(delaysS.length / 2)];
        const count = delaysS.length;
        reportFigures('seconds from the store to the tool', { tool, count, median, most: delaysS.at(-1) });
      }

      const labelled = traces.slice(0, 1);
      const [{ traceId } = { traceId: '' }] = labelled;
      for (const [score, of] of [
        [0.25, labelled],
        [0.75, traces],
      ] as const) {
        const body = { traceId, scorer: 'helpful', score, source: 'human' };
        await askJson(`${serve.addresses().api}/api/v1/scores`, { body });
        const isStored = (each: OwnScore) => each.source === 'human' && each.score === score;
        await waitForScores((scores) => scores.some(isStored), of);
      }
      expect(await readExporters(serve.addresses().api)).toMatchObject([
        { name: 'phoenix', deadLetters: 0, lastError: null },
        { name: 'mlflow', deadLetters: 0, lastError: null },
      ]);
    },
  );
});

/** Line of a recording that is a trace of one span, and recordings of larger ones: a real Phoenix takes some hundred spans a second. */
const [SMALL = ''] = recordedSpans('spans', 'openinference-openai-chat').split('\n');
const LARGE = [
  'openinference-vercel-ai6',
  'openinference-langchain-py-react',
  'openinference-langchain-py-rag',
  'openinference-openai-agents-py-agent',
  'openinference-llamaindex-py-agent',
];

/** Resources of a request: Phoenix needs long for each request. */
const PER_REQUEST = 400;

const LOST_BY_PHOENIX = /^(service|startedAt|createdAt|endedAt|durationMs)$/u;

/** Traces that are read from each tool, where they go, and what the tool keeps of a value in a reading. */
const ARCHIVES = {
  phoenix: {
    count: Math.max(300, TRACES / 2),
    // Phoenix keeps no resource, and no time below a microsecond.
    keep: (key: string, value: unknown) => (LOST_BY_PHOENIX.test(key) ? undefined : value),
    prepare: async (url: string) => ({
      headers: TOOLS.phoenix.headers,
      reader: createPhoenixReader({ endpoint: url, apiKey: PHOENIX_KEY, project: 'archive' }, 0),
    }),
  },
  mlflow: {
    count: Math.max(100, TRACES / 2),
    // MLflow keeps no name of a service, and no order of the keys in a JSON text.
    keep: (key: string, value: unknown): unknown =>
      key === 'service'
        ? undefined
        : typeof value === 'string' && value.startsWith('{')
          ? JSON.parse(value)
          : value,
    prepare: async (url: string) => {
      const id = await createExperiment(url, 'archive');
      return {
        headers: { 'x-mlflow-experiment-id': id },
        reader: createMlflowReader({ endpoint: url, experimentIds: [id] }, 0),
      };
    },
  },
} as const;

it.skipIf(pythons === undefined).each(NAMES)(
  'traces of a real %s have the same readings as over OTLP',
  { timeout: WHOLE_TIMEOUT_MS },
  async (name) => {
    const { count, keep, prepare } = ARCHIVES[name];
    const sent = Array.from({ length: count }, (_, n) => {
      const large = LARGE[Math.floor(n / 20) % LARGE.length] ?? '';
      return withNewIds(n % 20 === 0 ? recordedSpans('spans', large) : SMALL);
    });
    const resources = sent.flatMap((text) => text.split('\n').flatMap((line) => inProject(line, 'archive')));
    const requests = Array.from({ length: Math.ceil(resources.length / PER_REQUEST) }, (_, n) => ({
      resourceSpans: resources.slice(n * PER_REQUEST, (n + 1) * PER_REQUEST),
    }));
    const { headers, reader } = await prepare(urlOf(name));
    await sendRequests(urlOf(name), requests, headers);
    const spans = listSpans(resources).length;
    const cursors = new Map<string, unknown>();
    const pulled = new Map<string, object>();
    const pull = async () => {
      for await (const batch of reader.pull(cursors, new AbortController().signal)) {
        if (batch.cursor !== undefined) {
          cursors.set('', batch.cursor);
        }
        for (const span of (batch.requests as Traces[]).flatMap((each) => listSpans(each.resourceSpans))) {
          pulled.set(`${span.trace_id} ${span.span_id}`, span);
        }
      }
    };
    await until(
      // As in `serve`, a look that fails is followed by another one from the cursor on.
      () =>
        pull().then(
          () => pulled.size >= spans,
          () => false,
        ),
      START_WITHIN_MS,
      () => `${pulled.size} of ${spans} spans`,
    );
    expect(pulled.size).toBe(spans);
    const read = readTraces({ resourceSpans: [{ scopeSpans: [{ spans: [...pulled.values()] }] }] });
    const recorded = sent.flatMap((text) => readTraces(text));
    expect(recorded).toHaveLength(count);
    expect(listKept(read, keep)).toEqual(listKept(recorded, keep));
  },
);

/** Lists what a tool keeps of readings. */
function listKept(
  readings: readonly TraceReading[],
  keep: (key: string, value: unknown) => unknown,
): unknown[] {
  const sorted = readings.toSorted((a, b) => (a.traceId < b.traceId ? -1 : 1));
  return JSON.parse(JSON.stringify(sorted), keep) as unknown[];
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

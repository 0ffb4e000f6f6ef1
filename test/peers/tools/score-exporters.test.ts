import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { requestBytes, type Json } from '../../support/builders/otlp-proto-writer.ts';
import { tellNotProved } from '../../support/not-proved.ts';
import { freePorts } from '../../support/processes/free-ports.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';
import { PYTHON_CODE_CACHE, pythonVenv } from '../python/python-venv.ts';

// Phoenix and MLflow from their packages, on loopback. Both get the traces that `serve` gets, and the scores from `serve`.

/** Traces of the proof, and kills of `serve` while it exports. The whole proof is SPANSCORE_TOOL_TRACES=200. */
const TRACES = Number(process.env['SPANSCORE_TOOL_TRACES'] ?? 60);
const KILLS = TRACES >= 200 ? 3 : 1;
/** Enough to fetch the packages and to start both servers on a busy machine. */
const START_WITHIN_MS = 600_000;

/** Score as a tool shows it. */
interface ShownScore {
  readonly name: string;
  readonly value: number;
  readonly author: string;
}

/** Server of a tool, and how its scores are read. */
interface Tool {
  readonly command: (port: number, folder: string) => { args: string[]; env: Record<string, string> };
  /** Module of Python that is the program. */
  readonly module: string;
  readonly health: string;
  readonly headers: Record<string, string>;
  readonly listScores: (url: string, traceId: string) => Promise<ShownScore[]>;
}

async function readJson<T>(url: string): Promise<T> {
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  }
  return (await response.json()) as T;
}

const TOOLS: Record<'phoenix' | 'mlflow', Tool> = {
  phoenix: {
    module: 'phoenix.server.main',
    command: (port, folder) => ({
      args: ['serve'],
      env: {
        PHOENIX_WORKING_DIR: folder,
        PHOENIX_HOST: '127.0.0.1',
        PHOENIX_PORT: String(port),
        PHOENIX_GRPC_PORT: String(port + 1),
        PHOENIX_TELEMETRY_ENABLED: 'false',
      },
    }),
    health: '/healthz',
    headers: {},
    async listScores(url, traceId) {
      const { data } = await readJson<{
        data: { name: string; annotator_kind: string; result: { score: number } }[];
      }>(`${url}/v1/projects/default/trace_annotations?trace_ids=${traceId}&limit=100`);
      return data.map(({ name, annotator_kind: author, result }) => ({ name, author, value: result.score }));
    },
  },
  mlflow: {
    module: 'mlflow',
    command: (port, folder) => ({
      args: [
        'server',
        '--host=127.0.0.1',
        `--port=${port}`,
        '--workers=1',
        `--backend-store-uri=sqlite:///${join(folder, 'mlflow.db')}`,
        `--default-artifact-root=${folder}`,
      ],
      env: {},
    }),
    health: '/health',
    headers: { 'x-mlflow-experiment-id': '0' },
    async listScores(url, traceId) {
      const { trace } = await readJson<{
        trace: {
          trace_info: {
            assessments?: {
              assessment_name: string;
              source: { source_type: string };
              feedback: { value: number };
            }[];
          };
        };
      }>(`${url}/api/3.0/mlflow/traces/tr-${traceId}`);
      return (trace.trace_info.assessments ?? []).map(({ assessment_name: name, source, feedback }) => ({
        name,
        author: source.source_type,
        value: feedback.value,
      }));
    },
  },
};

describe.each(Object.entries(TOOLS))('the real server of %s', async (name, tool) => {
  const venv = await pythonVenv(name);
  if ('missing' in venv) {
    tellNotProved(`scores in ${name}`, venv.missing);
  }
  const folder = mkdtempSync(join(tmpdir(), `spanscore-${name}-`));
  const traces = Array.from({ length: TRACES }, (_, n) => anAgentTrace().answering(`It is ${n} degrees.`));
  let serve: ServeFolder;
  let server: ChildProcess | undefined;
  let url: string;
  let output = '';

  beforeAll(async () => {
    if ('missing' in venv) {
      return;
    }
    const [port = 0] = await freePorts(1);
    url = `http://127.0.0.1:${port}`;
    const { args, env } = tool.command(port, folder);
    server = spawn(venv.python, ['-m', tool.module, ...args], {
      detached: true,
      env: { ...process.env, PYTHONPYCACHEPREFIX: PYTHON_CODE_CACHE, ...env },
    });
    server.stdout?.on('data', (data: Buffer) => (output += data.toString()));
    server.stderr?.on('data', (data: Buffer) => (output += data.toString()));
    serve = new ServeFolder({
      rules: [{ name: 'all', scorers: ['keyword-coverage'] }],
      exporters: { [name]: { endpoint: url } },
    });
    const isReady = () =>
      fetch(`${url}${tool.health}`).then(
        ({ ok }) => ok,
        () => false,
      );
    const hasEnded = () => server?.exitCode !== null;
    await until(
      async () => hasEnded() || (await isReady()),
      START_WITHIN_MS,
      () => output.slice(-2_000),
    );
    if (hasEnded()) {
      throw new Error(`the server ended: ${output.slice(-2_000)}`);
    }
    await serve.start();
  }, START_WITHIN_MS);
  afterAll(async () => {
    await serve?.dispose();
    if (server?.pid !== undefined) {
      process.kill(-server.pid, 'SIGKILL');
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });

  const send = async (base: string, requests: readonly unknown[], headers: Record<string, string>) => {
    for (const request of requests) {
      const response = await fetch(`${base}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-protobuf', ...headers },
        body: new Uint8Array(requestBytes(request as Json)),
      });
      expect(response.status).toBe(200);
    }
  };
  const readExporter = async () => {
    const { exporters } = await readJson<{
      exporters: { name: string; sent: number; deadLetters: number }[];
    }>(`${serve.addresses().api}/api/v1/status`);
    return exporters[0] ?? { name: '', sent: 0, deadLetters: 0 };
  };
  const listAll = () => Promise.all(traces.map(({ traceId }) => tool.listScores(url, traceId)));
  const countWanted = async (scorer: string, wanted = 1) => {
    const all = await listAll().catch(() => []);
    return all.filter((scores) => scores.filter(({ name: each }) => each === scorer).length === wanted)
      .length;
  };

  it.skipIf('missing' in venv)(
    'shows each score once on its trace, over kills of the exporter, and the new value of a changed score',
    { timeout: START_WITHIN_MS },
    async () => {
      const requests = traces.map((trace) => trace.request());
      await send(url, requests, tool.headers);
      // Each part of the traces is sent, and `serve` is killed while it exports their scores.
      const part = TRACES / (KILLS + 1);
      for (let kill = 0; kill < KILLS; kill += 1) {
        await send(serve.addresses().otlpHttp, requests.slice(kill * part, (kill + 1) * part), {});
        await until(async () => (await readExporter()).sent > 0);
        await serve.killGroup();
        await serve.start();
      }
      await send(serve.addresses().otlpHttp, requests.slice(KILLS * part), {});
      await until(
        async () => (await countWanted('keyword-coverage')) === TRACES,
        START_WITHIN_MS,
        () => serve.output.slice(-2_000),
      );
      const [first] = traces;
      const post = async (score: number) => {
        const response = await fetch(`${serve.addresses().api}/api/v1/scores`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ traceId: first?.traceId, scorer: 'helpful', score, source: 'human' }),
        });
        expect(response.ok).toBe(true);
      };
      const readHelpful = async () =>
        (await tool.listScores(url, first?.traceId ?? '')).filter((each) => each.name === 'helpful');
      for (const value of [0.25, 0.75]) {
        await post(value);
        await expect
          .poll(readHelpful, { timeout: 60_000 })
          .toEqual([{ name: 'helpful', author: 'HUMAN', value }]);
      }
      expect(await countWanted('keyword-coverage')).toBe(TRACES);
      expect(await readExporter()).toMatchObject({ name, deadLetters: 0 });
    },
  );
});

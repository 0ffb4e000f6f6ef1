import { join } from 'node:path';
import { type Json, requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { tellNotProved } from '../../support/not-proved.ts';
import { pythonVenv } from '../python/python-venv.ts';
import { type PythonServer, type ServerCommand, startPythonServer } from './python-server.ts';

/** Score as a tool shows it. */
export interface ShownScore {
  readonly name: string;
  readonly value: number;
  readonly author: string;
}

/** Key with which the server of Phoenix knows its users. */
export const PHOENIX_KEY = 'a-key-of-the-tests-with-32-letters-1';

/** Real server of a tool for traces, and how its scores are read. */
interface Tool {
  readonly describe: (port: number, folder: string) => ServerCommand;
  readonly headers: Readonly<Record<string, string>>;
  readonly listScores: (url: string, traceId: string) => Promise<ShownScore[]>;
}

export async function readJson<T>(url: string, headers: Readonly<Record<string, string>> = {}): Promise<T> {
  const response = await fetch(url, { headers });
  if (!response.ok) {
    throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  }
  return (await response.json()) as T;
}

const ofPhoenix = { authorization: `Bearer ${PHOENIX_KEY}` };

export const TOOLS = {
  phoenix: {
    describe: (port, folder) => ({
      args: ['-m', 'phoenix.server.main', 'serve'],
      env: {
        PHOENIX_WORKING_DIR: folder,
        PHOENIX_HOST: '127.0.0.1',
        PHOENIX_PORT: String(port),
        PHOENIX_GRPC_PORT: String(port + 1),
        PHOENIX_TELEMETRY_ENABLED: 'false',
        PHOENIX_ENABLE_AUTH: 'true',
        PHOENIX_SECRET: `${PHOENIX_KEY}-of-the-server`,
        PHOENIX_ADMIN_SECRET: PHOENIX_KEY,
      },
      health: '/healthz',
    }),
    headers: ofPhoenix,
    async listScores(url, traceId) {
      const { data } = await readJson<{
        data: { name: string; annotator_kind: string; result: { score: number } }[];
      }>(`${url}/v1/projects/default/trace_annotations?trace_ids=${traceId}&limit=100`, ofPhoenix);
      return data.map(({ name, annotator_kind: author, result }) => ({ name, author, value: result.score }));
    },
  },
  mlflow: {
    describe: (port, folder) => ({
      args: [
        '-m',
        'mlflow',
        'server',
        '--host=127.0.0.1',
        `--port=${port}`,
        '--workers=1',
        `--backend-store-uri=sqlite:///${join(folder, 'mlflow.db')}`,
        `--default-artifact-root=${folder}`,
      ],
      // Its workers for jobs take half of a small machine.
      env: { MLFLOW_SERVER_ENABLE_JOB_EXECUTION: 'false' },
      health: '/health',
    }),
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
} as const satisfies Record<string, Tool>;

export type ToolName = keyof typeof TOOLS;

/** Finds the Pythons with the packages of both tools, or tells why this machine has none. */
export async function findTools(): Promise<Record<ToolName, string> | undefined> {
  const [phoenix, mlflow] = await Promise.all([pythonVenv('phoenix'), pythonVenv('mlflow')]);
  if ('missing' in phoenix || 'missing' in mlflow) {
    tellNotProved(
      'scores in Phoenix and MLflow',
      [phoenix, mlflow].map((venv) => ('missing' in venv ? venv.missing : '')).join(' '),
    );
    return undefined;
  }
  return { phoenix: phoenix.python, mlflow: mlflow.python };
}

export function startToolServer(name: ToolName, python: string): Promise<PythonServer> {
  return startPythonServer(python, TOOLS[name].describe);
}

/** Sends OTLP requests one after the other. */
export async function sendRequests(
  base: string,
  requests: readonly unknown[],
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  for (const request of requests) {
    const post = () =>
      fetch(`${base}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-protobuf', ...headers },
        body: new Uint8Array(requestBytes(request as Json)),
      });
    // A server may have closed an idle connection.
    const response = await post().catch(post);
    if (!response.ok) {
      throw new Error(`${base} answered ${response.status} to a trace: ${await response.text()}`);
    }
    await response.arrayBuffer();
  }
}

import { join } from 'node:path';
import { type Json, requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { tellNotProved } from '../../support/not-proved.ts';
import { postUntilTaken } from '../../support/processes/serve-process.ts';
import { pythonVenv } from '../python/python-venv.ts';
import { type PythonServer, type ServerCommand, startPythonServer } from './python-server.ts';

/** Score as a tool shows it. */
export interface ShownScore {
  readonly name: string;
  readonly value: number;
  readonly author: string;
  /** Trace or span. */
  readonly target: string;
  /** Time of its last change in the tool, Unix milliseconds. */
  readonly changedAtMs: number;
}

/** Scored trace with its spans. */
interface ScoredTrace {
  readonly traceId: string;
  readonly spanIds: readonly string[];
}

/** Key with which the server of Phoenix knows its users. */
export const PHOENIX_KEY = 'a-key-of-the-tests-with-32-letters-1';

/** Real server of a tool for traces, and how its scores are read. */
interface Tool {
  readonly describe: (port: number, folder: string) => ServerCommand;
  readonly headers: Readonly<Record<string, string>>;
  /** Lists the scores of some traces and their spans. */
  readonly listScores: (url: string, traces: readonly ScoredTrace[]) => Promise<ShownScore[]>;
  /** Gives a trace a score of 1 by a person. */
  readonly annotate: (url: string, traceId: string, name: string) => Promise<void>;
}

/** Gets JSON; with a body, posts it. */
export async function askJson<T>(
  url: string,
  {
    headers = {},
    body,
  }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: object } = {},
): Promise<T> {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) {
    throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  }
  return (await response.json()) as T;
}

const ofPhoenix = { authorization: `Bearer ${PHOENIX_KEY}` };

async function listAnnotations(url: string, kind: 'trace' | 'span', ids: readonly string[]) {
  const query = new URLSearchParams(ids.map((id): [string, string] => [`${kind}_ids`, id]));
  query.set('limit', '1000');
  const { data } = await askJson<{
    data: {
      name: string;
      annotator_kind: string;
      result: { score: number };
      trace_id?: string;
      span_id?: string;
      updated_at: string;
    }[];
  }>(`${url}/v1/projects/default/${kind}_annotations?${query.toString()}`, { headers: ofPhoenix });
  return data.map(({ name, annotator_kind: author, result, trace_id: trace, span_id: span, ...each }) => ({
    name,
    author,
    value: result.score,
    target: span ?? trace ?? '',
    changedAtMs: Date.parse(each.updated_at),
  }));
}

/** Traces of a page of MLflow. */
const MLFLOW_PAGE = 200;

async function listAssessments(url: string, traces: readonly ScoredTrace[]): Promise<ShownScore[]> {
  const ids = new Set(traces.map(({ traceId }) => `tr-${traceId}`));
  const locations = [{ type: 'MLFLOW_EXPERIMENT', mlflow_experiment: { experiment_id: '0' } }];
  const found: ShownScore[] = [];
  let token: string | undefined;
  do {
    const page: AssessedPage = await askJson(`${url}/api/3.0/mlflow/traces/search`, {
      body: { locations, max_results: MLFLOW_PAGE, ...(token === undefined ? {} : { page_token: token }) },
    });
    for (const { trace_id: id, assessments = [] } of page.traces ?? []) {
      const own = ids.has(id) ? assessments : [];
      found.push(
        ...own.map(({ assessment_name: name, source, feedback, ...each }) => ({
          name,
          author: source.source_type,
          value: feedback.value,
          target: each.span_id ?? id.slice('tr-'.length),
          changedAtMs: Date.parse(each.last_update_time),
        })),
      );
    }
    token = page.next_page_token;
  } while (token !== undefined && token !== '');
  return found;
}

interface AssessedPage {
  readonly next_page_token?: string;
  readonly traces?: readonly {
    readonly trace_id: string;
    readonly assessments?: readonly {
      readonly assessment_name: string;
      readonly span_id?: string;
      readonly source: { readonly source_type: string };
      readonly feedback: { readonly value: number };
      readonly last_update_time: string;
    }[];
  }[];
}

/** Creates an experiment of MLflow. Returns its id. */
export async function createExperiment(url: string, name: string): Promise<string> {
  const path = '/api/2.0/mlflow/experiments/create';
  return (await askJson<{ experiment_id: string }>(`${url}${path}`, { body: { name } })).experiment_id;
}

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
    listScores: async (url, traces) => [
      ...(await listAnnotations(
        url,
        'trace',
        traces.map(({ traceId }) => traceId),
      )),
      ...(await listAnnotations(
        url,
        'span',
        traces.flatMap(({ spanIds }) => spanIds),
      )),
    ],
    async annotate(url, traceId, name) {
      const result = { score: 1, label: 'good', explanation: 'As asked.' };
      const annotation = { name, annotator_kind: 'HUMAN', trace_id: traceId, result, identifier: 'ann' };
      const body = { data: [annotation] };
      await askJson(`${url}/v1/trace_annotations?sync=true`, { headers: ofPhoenix, body });
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
    listScores: listAssessments,
    async annotate(url, traceId, name) {
      const trace = `tr-${traceId}`;
      const source = { source_type: 'HUMAN', source_id: 'ann' };
      const assessment = { assessment_name: name, trace_id: trace, source, feedback: { value: 1 } };
      await askJson(`${url}/api/3.0/mlflow/traces/${trace}/assessments`, { body: { assessment } });
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
    const response = await postUntilTaken(() => post().catch(post));
    if (!response.ok) {
      throw new Error(`${base} answered ${response.status} to a trace: ${await response.text()}`);
    }
    await response.arrayBuffer();
  }
}

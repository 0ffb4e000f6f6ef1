import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';

/** Span as Phoenix gives it. */
export interface PhoenixSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly [field: string]: unknown;
}

/** Trace as MLflow gives it. */
export interface MlflowTrace {
  readonly trace_info: { readonly trace_id: string; readonly request_time: string; readonly state?: string };
  readonly spans: readonly object[];
}

/** Observation as Langfuse gives it. */
export interface LangfuseObservation {
  readonly id: string;
  readonly startTime: string;
  readonly [field: string]: unknown;
}

/** Reads replies that the real tools gave for spans of the recordings. */
export function readReplies<T>(tool: 'phoenix' | 'mlflow'): T[] {
  const file = new URL(`../../fixtures/tool-replies/${tool}.json.gz`, import.meta.url);
  return JSON.parse(gunzipSync(readFileSync(file)).toString('utf8')) as T[];
}

/** A tool that gives its traces page by page, and refuses what the real tool does not know. */
export interface ToolPages {
  readonly url: string;
  /** Spans in the order of their arrival. */
  readonly phoenix: PhoenixSpan[];
  readonly mlflow: MlflowTrace[];
  readonly langfuse: LangfuseObservation[];
  /** Requests that it refused because of their form. */
  readonly faults: string[];
  count(): number;
  /** Answers every request with this status; undefined: as the tool. */
  fail(status: number | undefined): void;
  close(): Promise<void>;
}

type Held = Pick<ToolPages, 'phoenix' | 'mlflow' | 'langfuse'>;

const pageSize = z.coerce.number().int().min(1).max(1_000);

function pagePhoenix({ phoenix }: Held, query: object): object {
  const { limit, cursor } = z.strictObject({ limit: pageSize, cursor: z.string().optional() }).parse(query);
  // The cursor is the number of the next span, counted from the oldest.
  const top = cursor === undefined ? phoenix.length : Number(cursor);
  const data = phoenix.slice(Math.max(0, top - limit), top).toReversed();
  return { data, next_cursor: top > limit ? String(top - limit) : null };
}

const Search = z.strictObject({
  locations: z.array(
    z.strictObject({
      type: z.literal('MLFLOW_EXPERIMENT'),
      mlflow_experiment: z.strictObject({ experiment_id: z.literal('1') }),
    }),
  ),
  filter: z.string().regex(/^trace\.timestamp_ms > \d+$/u),
  order_by: z.tuple([z.literal('timestamp_ms ASC')]),
  max_results: pageSize,
  page_token: z.string().optional(),
});

function searchMlflow({ mlflow }: Held, body: unknown): object {
  const { filter, max_results: limit, page_token: token = '0' } = Search.parse(body);
  const fromMs = Number(filter.split(' ').at(-1));
  const found = mlflow
    .map(({ trace_info: info }) => info)
    .filter(({ request_time: at }) => Date.parse(at) > fromMs);
  const end = Number(token) + limit;
  const more = end < found.length ? { next_page_token: String(end) } : {};
  return { traces: found.slice(Number(token), end), ...more };
}

const Observations = z.strictObject({
  fields: z.string(),
  limit: pageSize,
  fromStartTime: z.iso.datetime(),
  toStartTime: z.iso.datetime(),
  cursor: z.string().optional(),
});

function pageLangfuse({ langfuse }: Held, query: object): object {
  const { limit, cursor = '0', fromStartTime, toStartTime } = Observations.parse(query);
  const found = langfuse.filter(({ startTime: at }) => at >= fromStartTime && at < toStartTime);
  const end = Number(cursor) + limit;
  const data = found.slice(Number(cursor), end);
  return { data, meta: { cursor: end < found.length ? String(end) : null } };
}

function answer(held: Held, method: string, url: URL, body: string): object | undefined {
  const query = Object.fromEntries(url.searchParams);
  switch (`${method} ${url.pathname}`) {
    case 'GET /v1/projects/default/spans/otlpv1':
      return pagePhoenix(held, query);
    case 'POST /api/3.0/mlflow/traces/search':
      return searchMlflow(held, JSON.parse(body));
    case 'GET /api/3.0/mlflow/traces/batchGet': {
      const ids = new Set(url.searchParams.getAll('trace_ids'));
      return { traces: held.mlflow.filter(({ trace_info: info }) => ids.has(info.trace_id)) };
    }
    case 'GET /api/public/v2/observations':
      return pageLangfuse(held, query);
    default:
      return undefined;
  }
}

/** Keys of the tools: what a request with the key `good` has in its header. */
const KEYS = ['Bearer good', `Basic ${Buffer.from('pk:good').toString('base64')}`];

/** Starts a tool on loopback. */
export async function startToolPages(): Promise<ToolPages> {
  const held: Held = { phoenix: [], mlflow: [], langfuse: [] };
  const faults: string[] = [];
  let requests = 0;
  let failure: number | undefined;
  const reply = async (request: IncomingMessage, response: ServerResponse) => {
    requests += 1;
    const body = await textOf(request);
    const send = (status: number, content: object) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(content));
    };
    if (failure !== undefined || !KEYS.includes(request.headers.authorization ?? '')) {
      return send(failure ?? 401, {});
    }
    try {
      const url = new URL(request.url ?? '', 'http://tool');
      const found = answer(held, request.method ?? '', url, body);
      return found === undefined ? send(404, { detail: 'not found' }) : send(200, found);
    } catch (error) {
      faults.push(`${request.method} ${request.url} ${body}: ${String(error)}`);
      return send(422, {});
    }
  };
  const server = createServer((request, response) => void reply(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...held,
    faults,
    count: () => requests,
    fail: (status) => {
      failure = status;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

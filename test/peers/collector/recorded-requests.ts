import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../fixtures/spans/', import.meta.url);

/** Emitters that differ in what they send, with their logs where they send any. */
const RECORDINGS = [
  ['agent-framework-py-agent', 'ai-sdk-v6-gen-toolerror', 'google-adk-py-agent', 'google-adk-py-error'],
  ['koog-agent', 'langchain4j-javaagent-agent', 'mastra-otel-exporter-toolerror', 'mlflow-py-openai'],
  ['openinference-crewai-py-agent', 'openinference-langchain-py-agent', 'otel-contrib-openai-chat'],
  ['otel-openai-java-error', 'pydantic-ai-py-v5', 'semantic-kernel-py-agent', 'spring-ai-2-agent'],
].flat();

/** One OTLP request as an agent sent it, in JSON. */
export interface RecordedRequest {
  readonly signal: 'traces' | 'logs';
  readonly body: string;
}

/** The recorded requests of agents with tools, some of which fail. */
export function recordedRequests(): RecordedRequest[] {
  return RECORDINGS.flatMap((name) =>
    (['traces', 'logs'] as const).flatMap((signal) => {
      const file = new URL(`${name}.${signal}.jsonl`, FOLDER);
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
      return lines.filter((line) => line !== '').map((body) => ({ signal, body }));
    }),
  );
}

/** Ids of traces that have spans among the requests. */
export function listTraceIds(requests: readonly RecordedRequest[]): string[] {
  const bodies = requests.filter(({ signal }) => signal === 'traces').map(({ body }) => body);
  const found = bodies.flatMap((body) => [...body.matchAll(/"traceId":"([0-9a-f]{32})"/g)]);
  return [...new Set(found.map(([, id = '']) => id))];
}

interface Sent {
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly { readonly spans: readonly Row[] }[] }[];
  readonly resourceLogs?: readonly {
    readonly scopeLogs: readonly { readonly logRecords: readonly Row[] }[];
  }[];
}

interface Row {
  readonly traceId?: string;
  readonly spanId?: string;
}

/** Counts the spans and log records of the requests' traces, each once. */
export function countRows(requests: readonly RecordedRequest[]): { spans: number; logs: number } {
  const spans = new Set<string>();
  const logs = new Set<string>();
  const ids = new Set(listTraceIds(requests));
  for (const { body } of requests) {
    const { resourceSpans = [], resourceLogs = [] } = JSON.parse(body) as Sent;
    for (const span of resourceSpans.flatMap((each) => each.scopeSpans).flatMap((each) => each.spans)) {
      spans.add(`${span.traceId} ${span.spanId}`);
    }
    for (const { scopeLogs, ...resource } of resourceLogs) {
      for (const { logRecords, ...scope } of scopeLogs) {
        const ofTraces = logRecords.filter(({ traceId = '' }) => ids.has(traceId));
        ofTraces.forEach((record) => logs.add(JSON.stringify([resource, scope, record])));
      }
    }
  }
  return { spans: spans.size, logs: logs.size };
}

/** The same requests with other trace ids, so that one store can hold them once for each name. */
export function renamed(requests: readonly RecordedRequest[], name: string): RecordedRequest[] {
  const ids = new Map(
    listTraceIds(requests).map((id) => [id, createHash('md5').update(`${name} ${id}`).digest('hex')]),
  );
  return requests.map(({ signal, body }) => ({
    signal,
    body: body.replaceAll(/[0-9a-f]{32}/g, (id) => ids.get(id) ?? id),
  }));
}

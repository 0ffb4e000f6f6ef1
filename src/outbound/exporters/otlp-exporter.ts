import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { readErrorMessage } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';
import { createEvaluationLogs } from './evaluation-logs.ts';
import { createEvaluationSpans } from './evaluation-spans.ts';
import {
  classifyFailure,
  deliveryFailed,
  type DeliveryOutcome,
  type ScoreExporter,
} from './score-exporter.ts';

/**
 * Form of an export. `span-event`: an evaluation span in the scored trace. `log`: a log record with the context of the scored
 * span.
 */
export type OtlpForm = 'span-event' | 'log';

export interface OtlpExporterConfig {
  /** Base address of an OTLP/HTTP receiver, e.g. `http://127.0.0.1:4318`; `/v1/traces` and `/v1/logs` are appended. */
  readonly endpoint: string;
  readonly as: readonly OtlpForm[];
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly attempts: number;
  /** Version of spanscore, sent as version of scope and service. */
  readonly version: string;
  /** Longest time of one delivery, including its repeats, milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

const MAX_BATCH = 500;
const DEFAULT_TIMEOUT_MS = 10_000;

/** Interface that the SDK's exporters share. */
interface SdkExporter<T> {
  export(items: T[], done: (result: { code: number; error?: Error }) => void): void;
  shutdown(): Promise<void>;
}

/**
 * Creates one exporter for each form. Each has its own record of deliveries: a log record has no id by which the receiver could
 * recognise a repeat.
 */
export function createOtlpExporters(config: OtlpExporterConfig): ScoreExporter[] {
  return [...new Set(config.as)].map((form) =>
    form === 'span-event' ? spanExporter(config) : logExporter(config),
  );
}

function connection(config: OtlpExporterConfig, path: string) {
  return {
    url: `${config.endpoint.replace(/\/+$/, '')}${path}`,
    headers: { ...config.headers },
    timeoutMillis: config.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  };
}

function spanExporter(config: OtlpExporterConfig): ScoreExporter {
  const spans = createEvaluationSpans(config.version);
  const target = connection(config, '/v1/traces');
  const parts = { ...config, name: 'otlp-span-event', url: target.url };
  return createExporter(parts, new OTLPTraceExporter(target), (scores) => spans.of(scores));
}

function logExporter(config: OtlpExporterConfig): ScoreExporter {
  const logs = createEvaluationLogs(config.version);
  const target = connection(config, '/v1/logs');
  const parts = { ...config, name: 'otlp-log', url: target.url };
  return createExporter(parts, new OTLPLogExporter(target), (scores) => logs.of(scores));
}

function createExporter<T>(
  { name, url, attempts }: { readonly name: string; readonly url: string; readonly attempts: number },
  sdk: SdkExporter<T>,
  buildItems: (scores: readonly Score[]) => T[],
): ScoreExporter {
  return {
    name,
    maxBatch: MAX_BATCH,
    attempts,
    deliver: (scores, signal) =>
      new Promise((resolve) => {
        // The SDK has no way to end a request early: its result no longer counts.
        const end = () =>
          resolve({ kind: 'away', error: deliveryFailed(`${url}: stopped before the reply`) });
        signal.addEventListener('abort', end, { once: true });
        sdk.export(buildItems(scores), ({ code, error }) => {
          signal.removeEventListener('abort', end);
          resolve(code === 0 ? { kind: 'delivered' } : explainFailure(error, url, scores.length));
        });
      }),
    shutdown: () => sdk.shutdown(),
  };
}

/** The SDK gives the HTTP status as the code of its error. It has repeated 429, 502, 503 and 504 until the time limit. */
function explainFailure(cause: Error | undefined, url: string, count: number): DeliveryOutcome {
  const reason = cause === undefined ? 'it did not confirm' : readErrorMessage(cause);
  const error = deliveryFailed(`${url} did not take ${count} scores: ${reason}`, { cause });
  const status = (cause as { code?: unknown } | undefined)?.code;
  return typeof status === 'number' ? classifyFailure(status, error) : { kind: 'away', error };
}

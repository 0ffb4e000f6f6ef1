import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { readErrorMessage } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';
import { createEvaluationLogs } from './evaluation-logs.ts';
import { createEvaluationSpans } from './evaluation-spans.ts';
import { deliveryFailed, isRejection, type Delivery, type ScoreExporter } from './score-exporter.ts';

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
  return createExporter('otlp-span-event', target.url, new OTLPTraceExporter(target), (scores) =>
    spans.of(scores),
  );
}

function logExporter(config: OtlpExporterConfig): ScoreExporter {
  const logs = createEvaluationLogs(config.version);
  const target = connection(config, '/v1/logs');
  return createExporter('otlp-log', target.url, new OTLPLogExporter(target), (scores) => logs.of(scores));
}

function createExporter<T>(
  name: string,
  url: string,
  sdk: SdkExporter<T>,
  buildItems: (scores: readonly Score[]) => T[],
): ScoreExporter {
  const send = (scores: readonly Score[]): Promise<Error | undefined> =>
    new Promise((resolve) => {
      sdk.export(buildItems(scores), ({ code, error }) =>
        resolve(code === 0 ? undefined : (error ?? new Error('the receiver did not confirm'))),
      );
    });
  return {
    name,
    maxBatch: MAX_BATCH,
    deliver: (scores, signal) => deliverHalving(scores, { send, url, signal }),
    shutdown: () => sdk.shutdown(),
  };
}

interface Sending {
  readonly send: (scores: readonly Score[]) => Promise<Error | undefined>;
  readonly url: string;
  readonly signal: AbortSignal;
}

/** Delivers a batch. A batch that the receiver refuses for good is halved until the refused score is alone. */
async function deliverHalving(scores: readonly Score[], sending: Sending): Promise<Delivery> {
  if (scores.length === 0) {
    return { delivered: [], rejected: [] };
  }
  if (sending.signal.aborted) {
    return {
      delivered: [],
      rejected: [],
      failure: deliveryFailed('stopped before the delivery was complete'),
    };
  }
  const fault = await sending.send(scores);
  if (fault === undefined) {
    return { delivered: scores, rejected: [] };
  }
  const status = (fault as { code?: unknown }).code;
  if (typeof status !== 'number' || !isRejection(status)) {
    const message = `${sending.url} did not take ${scores.length} scores: ${readErrorMessage(fault)}`;
    return { delivered: [], rejected: [], failure: deliveryFailed(message, { cause: fault }) };
  }
  if (scores.length === 1) {
    return { delivered: [], rejected: scores };
  }
  const middle = Math.ceil(scores.length / 2);
  const first = await deliverHalving(scores.slice(0, middle), sending);
  if (first.failure !== undefined) {
    return first;
  }
  const second = await deliverHalving(scores.slice(middle), sending);
  return {
    delivered: [...first.delivered, ...second.delivered],
    rejected: [...first.rejected, ...second.rejected],
    failure: second.failure,
  };
}

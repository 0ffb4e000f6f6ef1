import { JsonLogsSerializer, JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import { readErrorMessage } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';
import { outboundFetch } from '../http/proxies.ts';
import { retryAfterMs } from '../http/retry-after.ts';
import {
  classifyFailure,
  deliveryFailed,
  type DeliveryOutcome,
  type ScoreExporter,
} from './score-exporter.ts';
import {
  SeverityNumber,
  ROOT_CONTEXT,
  SpanKind,
  trace,
  TraceFlags,
  type Context,
  type SpanContext,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { LoggerProvider, type LogRecordProcessor, type ReadableLogRecord } from '@opentelemetry/sdk-logs';
import { OWN_SCOPE } from '../../domain/trace/span.ts';
import {
  EVALUATION_EVENT,
  evaluationAttributes,
  evaluationSpanId,
  evaluationTraceId,
} from './evaluation-event.ts';
import {
  AlwaysOnSampler,
  TracerProvider,
  type ReadableSpan,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';

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
  /** Longest time of one delivery, milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

const MAX_BATCH = 500;
const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * Creates one exporter for each form. Each has its own record of deliveries: a log record has no id by which the receiver could
 * recognise a repeat.
 */
export function createOtlpExporters(config: OtlpExporterConfig): ScoreExporter[] {
  return [...new Set(config.as)].map((form) =>
    form === 'span-event' ? spanExporter(config) : logExporter(config),
  );
}

function spanExporter(config: OtlpExporterConfig): ScoreExporter {
  const spans = createEvaluationSpans(config.version);
  return createExporter(config, { name: 'otlp-span-event', path: '/v1/traces' }, (scores) =>
    JsonTraceSerializer.serializeRequest(spans.of(scores)),
  );
}

function logExporter(config: OtlpExporterConfig): ScoreExporter {
  const logs = createEvaluationLogs(config.version);
  return createExporter(config, { name: 'otlp-log', path: '/v1/logs' }, (scores) =>
    JsonLogsSerializer.serializeRequest(logs.of(scores)),
  );
}

/**
 * Creates an exporter without the SDK's own, which takes headers, certificates and times from `OTEL_EXPORTER_OTLP_…` of the
 * environment. Those are of an agent's receiver: only the configuration says what goes to this one.
 */
function createExporter(
  { endpoint, headers, attempts, timeoutMs = DEFAULT_TIMEOUT_MS }: OtlpExporterConfig,
  { name, path }: { readonly name: string; readonly path: string },
  encode: (scores: readonly Score[]) => Uint8Array | undefined,
): ScoreExporter {
  const url = `${endpoint.replace(/\/+$/, '')}${path}`;

  async function send(scores: readonly Score[], signal: AbortSignal): Promise<DeliveryOutcome> {
    const refused = `${url} did not take ${scores.length} scores`;
    try {
      const response = await outboundFetch(url, {
        method: 'POST',
        body: Buffer.from(encode(scores) ?? []),
        headers: { 'user-agent': 'spanscore', ...headers, 'content-type': 'application/json' },
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      await response.body?.cancel();
      if (response.ok) {
        return { kind: 'delivered' };
      }
      const after = retryAfterMs(
        { 'retry-after': response.headers.get('retry-after') ?? undefined },
        Date.now(),
      );
      const error = deliveryFailed(`${refused}: HTTP ${response.status}`, { retryAfterMs: after });
      return classifyFailure(response.status, error);
    } catch (cause) {
      return { kind: 'away', error: deliveryFailed(`${refused}: ${readErrorMessage(cause)}`, { cause }) };
    }
  }

  return { name, maxBatch: MAX_BATCH, attempts, deliver: send, shutdown: () => Promise.resolve() };
}

/** Turns scores into log records through the OpenTelemetry SDK. */
interface EvaluationLogs {
  /** Returns one log record for each score, with the context of the scored span. */
  of(scores: readonly Score[]): ReadableLogRecord[];
}

function createEvaluationLogs(version: string): EvaluationLogs {
  const emitted: ReadableLogRecord[] = [];
  const collect: LogRecordProcessor = {
    onEmit: (record) => void emitted.push(record),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ 'service.name': 'spanscore', 'service.version': version }),
    processors: [collect],
  });
  const logger = provider.getLogger(OWN_SCOPE, version);

  return {
    of(scores) {
      for (const score of scores) {
        logger.emit({
          eventName: EVALUATION_EVENT,
          timestamp: score.scoredAt,
          observedTimestamp: score.scoredAt,
          severityNumber: SeverityNumber.INFO,
          severityText: 'INFO',
          // The attribute is for receivers that do not know the event name field yet.
          attributes: { ...evaluationAttributes(score), 'event.name': EVALUATION_EVENT },
          context: scoredContext(score),
        });
      }
      return emitted.splice(0);
    },
  };
}

/** Returns the context of the scored span, as a remote parent; undefined for a session, which has no span. */
function scoredSpanContext(score: Score): SpanContext | undefined {
  return score.traceId === '' || score.spanId === ''
    ? undefined
    : { traceId: score.traceId, spanId: score.spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

function scoredContext(score: Score): Context {
  const scored = scoredSpanContext(score);
  return scored === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, scored);
}

/** Turns scores into evaluation spans through the OpenTelemetry SDK. */
interface EvaluationSpans {
  /** Returns one short span for each score: a child of the scored span and linked to it, with the evaluation as its event. */
  of(scores: readonly Score[]): ReadableSpan[];
}

function createEvaluationSpans(version: string): EvaluationSpans {
  const ended: ReadableSpan[] = [];
  let current: Score | undefined;

  function readId(read: (score: Score) => string): string {
    if (current === undefined) {
      throw new TypeError('an evaluation span was started outside of a score');
    }
    return read(current);
  }

  const collect: SpanProcessor = {
    onStart: () => undefined,
    onEnd: (span: ReadableSpan) => void ended.push(span),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'spanscore', 'service.version': version }),
    sampler: new AlwaysOnSampler(),
    // The SDK asks for ids synchronously when a span starts; it gets the ids of the current score.
    idGenerator: {
      generateTraceId: () => readId(evaluationTraceId),
      generateSpanId: () => readId(evaluationSpanId),
    },
    spanProcessors: [collect],
  });
  const tracer = provider.getTracer(OWN_SCOPE, version);

  function evaluate(score: Score): void {
    current = score;
    const scored = scoredSpanContext(score);
    const attributes = evaluationAttributes(score);
    const span = tracer.startSpan(
      `evaluate ${score.scorer}`,
      {
        kind: SpanKind.INTERNAL,
        startTime: score.scoredAt,
        attributes,
        links: scored === undefined ? [] : [{ context: scored }],
      },
      scoredContext(score),
    );
    span.addEvent(EVALUATION_EVENT, attributes, score.scoredAt);
    span.end(score.scoredAt);
    current = undefined;
  }

  return {
    of(scores) {
      for (const score of scores) {
        evaluate(score);
      }
      return ended.splice(0);
    },
  };
}

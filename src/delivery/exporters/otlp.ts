import { z } from 'zod';
import { exportAttempts, headers, httpUrl } from '../../config/schema/fields.ts';
import { sha256Hex } from '../../domain/identity.ts';
import type { Score } from '../../domain/score.ts';
import { OWN_SCOPE } from '../../domain/trace/span.ts';
import { defineExporter, postScores, type ScoreExporter } from './exporter.ts';

/** The exporter `exporters.otlp`. */
export const otlpExporter = defineExporter({
  name: 'otlp',
  options: z
    .strictObject({
      endpoint: httpUrl(
        'Base URL of an OTLP/HTTP receiver; /v1/traces and /v1/logs are appended.',
        'write them into headers, as authorization',
      ).meta({
        examples: ['http://127.0.0.1:4328'],
      }),
      as: z
        .array(z.enum(['span-event', 'log']))
        .min(1, { error: 'needs span-event, log or both' })
        .default(['span-event', 'log'])
        .describe('Form of a score: an event on an evaluation span, a log record, or both.'),
      headers: headers('Request headers, like authorization.').default({}),
      attempts: exportAttempts,
    })
    .describe('Scores as OpenTelemetry gen_ai.evaluation.result events.'),
  readOtlpUrl: ({ endpoint }) => ({ key: 'endpoint', url: endpoint }),
  create: (options, { version }) => createOtlpExporters({ ...options, version }),
});

/**
 * Form of an export. `span-event`: an evaluation span in the scored trace. `log`: a log record with the context of the scored
 * span.
 */
export type OtlpForm = 'span-event' | 'log';

interface OtlpOptions {
  /** Base address of an OTLP/HTTP receiver, e.g. `http://127.0.0.1:4318`; `/v1/traces` and `/v1/logs` are appended. */
  readonly endpoint: string;
  readonly as: readonly OtlpForm[];
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly attempts: number;
  /** Version of spanscore, sent as version of scope and service. */
  readonly version: string;
  readonly timeoutMs?: number | undefined;
}

const MAX_BATCH = 500;

/**
 * Creates one exporter for each form. Each has its own record of deliveries: a log record has no id by which the receiver could
 * recognise a repeat.
 */
export function createOtlpExporters(options: OtlpOptions): ScoreExporter[] {
  return [...new Set(options.as)].map((form) => ({
    name: `otlp-${form}`,
    maxBatch: MAX_BATCH,
    attempts: options.attempts,
    send(scores, signal) {
      const url = `${options.endpoint.replace(/\/+$/, '')}${form === 'log' ? '/v1/logs' : '/v1/traces'}`;
      const refusal = `${url} did not take ${scores.length} scores: `;
      return postScores(
        {
          url,
          headers: options.headers ?? {},
          body: JSON.stringify(
            form === 'log' ? buildLogs(scores, options.version) : buildSpans(scores, options.version),
          ),
          timeoutMs: options.timeoutMs,
          atTimeout: 'away',
          answered: refusal,
          unreached: refusal,
        },
        signal,
      );
    },
  }));
}

/** Name of the event in OpenTelemetry's semantic conventions for generative AI. */
const EVALUATION_EVENT = 'gen_ai.evaluation.result';
/** Longest explanation that is sent; receivers refuse or cut longer values, each in its own way. */
const MAX_EXPLANATION_CHARS = 8192;
const SPAN_KIND_INTERNAL = 1;
const SEVERITY_INFO = 9;
const SAMPLED = 1;

/** Builds one short span for each score: a child of the scored span and linked to it, with the evaluation as its event. */
function buildSpans(scores: readonly Score[], version: string): object {
  const spans = scores.map((score) => {
    const time = toNanoText(score.scoredAt);
    const attributes = buildAttributes(score);
    const scored = scoredContext(score);
    return {
      traceId: score.traceId === '' ? digest('trace', score).slice(0, 32) : score.traceId,
      spanId: digest('span', score).slice(0, 16),
      ...(scored === undefined ? {} : { parentSpanId: scored.spanId }),
      flags: SAMPLED,
      name: `evaluate ${score.scorer}`,
      kind: SPAN_KIND_INTERNAL,
      startTimeUnixNano: time,
      endTimeUnixNano: time,
      attributes,
      events: [{ timeUnixNano: time, name: EVALUATION_EVENT, attributes }],
      links: scored === undefined ? [] : [{ ...scored, attributes: [] }],
      status: {},
    };
  });
  const { resource, scope } = describeSender(version);
  return { resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] };
}

/** Builds one log record for each score, with the context of the scored span. */
function buildLogs(scores: readonly Score[], version: string): object {
  const logRecords = scores.map((score) => ({
    timeUnixNano: toNanoText(score.scoredAt),
    observedTimeUnixNano: toNanoText(score.scoredAt),
    severityNumber: SEVERITY_INFO,
    severityText: 'INFO',
    eventName: EVALUATION_EVENT,
    // The attribute is for receivers that do not know the event name field yet.
    attributes: [...buildAttributes(score), toAttribute('event.name', EVALUATION_EVENT)],
    ...scoredContext(score),
  }));
  const { resource, scope } = describeSender(version);
  return { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] };
}

function describeSender(version: string): { readonly resource: object; readonly scope: object } {
  const attributes = [toAttribute('service.name', 'spanscore'), toAttribute('service.version', version)];
  return { resource: { attributes }, scope: { name: OWN_SCOPE, version } };
}

/** Returns the context of the scored span; undefined for a session, which has no span. */
function scoredContext({
  traceId,
  spanId,
}: Score): { traceId: string; spanId: string; flags: number } | undefined {
  return traceId === '' || spanId === '' ? undefined : { traceId, spanId, flags: SAMPLED };
}

/** Builds the attributes of an evaluation: attributes of the semantic conventions and, in our own namespace, the ids of the score. */
function buildAttributes(score: Score): object[] {
  return Object.entries({
    'gen_ai.evaluation.name': score.scorer,
    'gen_ai.evaluation.score.value': score.score,
    'gen_ai.evaluation.score.label': score.label,
    'gen_ai.evaluation.explanation': score.reason.slice(0, MAX_EXPLANATION_CHARS).toWellFormed(),
    'spanscore.score.id': score.scoreId,
    'spanscore.score.revision': score.revision,
    'spanscore.scorer.version': score.scorerVersion,
    'spanscore.scorer.fingerprint': score.fingerprint,
    'spanscore.judge.model': score.judgeModel,
    'spanscore.prompt.version': score.promptVersion,
    'spanscore.target.kind': score.target,
    'spanscore.target.id': score.targetId,
    'spanscore.source': score.source,
    'spanscore.tenant': score.tenant,
    'spanscore.completeness': score.completeness,
  }).flatMap(([key, value]) => (value === '' ? [] : [toAttribute(key, value)]));
}

function toAttribute(key: string, value: string | number): object {
  if (typeof value === 'string') {
    return { key, value: { stringValue: value } };
  }
  return { key, value: Number.isInteger(value) ? { intValue: value } : { doubleValue: value } };
}

function toNanoText(unixMs: number): string {
  return String(BigInt(Math.trunc(unixMs)) * 1_000_000n);
}

/** Computes an id of hex digits that is the same in every repeat of one revision. */
function digest(kind: string, { scoreId, revision }: Score): string {
  const hex = sha256Hex(`${kind}:${scoreId}:${revision}`);
  // An id of zeros only is invalid.
  return /^0{16}/.test(hex) ? `1${hex.slice(1)}` : hex;
}

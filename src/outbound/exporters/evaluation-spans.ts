import {
  ROOT_CONTEXT,
  SpanKind,
  trace,
  TraceFlags,
  type Context,
  type SpanContext,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  TracerProvider,
  type ReadableSpan,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';
import type { Score } from '../../domain/score.ts';
import { OWN_SCOPE } from '../../domain/trace/span.ts';
import {
  EVALUATION_EVENT,
  evaluationAttributes,
  evaluationSpanId,
  evaluationTraceId,
} from './evaluation-event.ts';

/** Returns the context of the scored span, as a remote parent; undefined for a session, which has no span. */
function scoredSpanContext(score: Score): SpanContext | undefined {
  return score.traceId === '' || score.spanId === ''
    ? undefined
    : { traceId: score.traceId, spanId: score.spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

export function scoredContext(score: Score): Context {
  const scored = scoredSpanContext(score);
  return scored === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, scored);
}

/** Turns scores into evaluation spans through the OpenTelemetry SDK. */
export interface EvaluationSpans {
  /** Returns one short span for each score: a child of the scored span and linked to it, with the evaluation as its event. */
  of(scores: readonly Score[]): ReadableSpan[];
}

export function createEvaluationSpans(version: string): EvaluationSpans {
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

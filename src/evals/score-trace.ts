import { InvalidInputError } from '../domain/errors.ts';
import type { TraceSpan } from './trajectory/extract-trajectory-from-trace.ts';
import type { Scorer } from './scorer.ts';
import { storedTraceRun } from './stored-trace-run.ts';

/** A trace in the form in which observability stores keep it. */
export interface StoredTrace {
  readonly traceId: string;
  readonly spans: readonly TraceSpan[];
}

/** Span to score; default: the root of the trace. */
export interface TraceTarget {
  readonly trace: StoredTrace;
  readonly spanId?: string | undefined;
}

/** Score of a span in the form of a row of a score store. */
export interface TraceScoreRow {
  readonly runId: string;
  readonly scorerId: string;
  readonly traceId: string;
  readonly spanId: string;
  /** `TEST`: the score does not come from live traffic. */
  readonly source: 'TEST';
  readonly entityType: string;
  readonly entityId: string;
  readonly score: number;
  readonly reason?: unknown;
}

/** Result of a target. */
export type TraceOutcome = { readonly index: number; readonly traceId: string } & (
  | { readonly ok: true; readonly row: TraceScoreRow | null }
  | { readonly ok: false; readonly error: unknown }
);

export interface ScoreTracesResult {
  readonly scoredCount: number;
  readonly notScorableCount: number;
  readonly failedCount: number;
  /** Results in the order of the targets. */
  readonly results: readonly TraceOutcome[];
}

/** Default number of traces that are scored at a time. */
const CONCURRENCY = 3;

/**
 * Scores a trace from an observability store. A scorer of type `agent` gets the agent run of the trace, any other scorer the
 * input and output of the span. Returns null for a run that cannot be scored. Rejects when the span does not exist, when the
 * trace contains no agent run (`InvalidInputError`), and when the scorer fails.
 */
export async function scoreTrace({
  scorer,
  target,
}: {
  readonly scorer: Scorer;
  readonly target: TraceTarget;
}): Promise<TraceScoreRow | null> {
  const { trace } = target;
  const span = trace.spans.find(({ spanId, parentSpanId }) =>
    target.spanId === undefined ? parentSpanId === null : spanId === target.spanId,
  );
  if (span === undefined) {
    const wanted = target.spanId === undefined ? 'root span' : `span "${target.spanId}"`;
    throw new InvalidInputError(`Trace "${trace.traceId}" has no ${wanted}`);
  }
  const isOfAgents = (scorer as { type?: unknown }).type === 'agent';
  const { score, reason, runId } = await scorer.run({
    ...(isOfAgents ? storedTraceRun(trace.spans) : { input: span.input, output: span.output }),
    scoreSource: 'trace',
    targetScope: 'span',
    targetTraceId: trace.traceId,
    targetSpanId: span.spanId,
  });
  if (score === undefined) {
    return null;
  }
  return {
    runId: runId ?? '',
    scorerId: scorer.id,
    traceId: trace.traceId,
    spanId: span.spanId,
    source: 'TEST',
    entityType: span.spanType,
    entityId: span.entityId || span.entityName || 'unknown',
    score,
    ...(reason === undefined ? {} : { reason }),
  };
}

/**
 * Scores several traces, some of them at a time, and returns one outcome for each. A failure is an outcome, never a rejection.
 */
export async function scoreTraces({
  scorer,
  targets,
  concurrency = CONCURRENCY,
}: {
  readonly scorer: Scorer;
  readonly targets: readonly TraceTarget[];
  /** Targets at a time. Default 3. */
  readonly concurrency?: number;
}): Promise<ScoreTracesResult> {
  const results: TraceOutcome[] = [];
  const waiting = targets.entries();
  const work = async (): Promise<void> => {
    for (const [index, target] of waiting) {
      results[index] = await scoreOne(scorer, target, index);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(concurrency, targets.length)) }, work));
  const count = (is: (outcome: TraceOutcome) => boolean): number => results.filter(is).length;
  return {
    scoredCount: count((outcome) => outcome.ok && outcome.row !== null),
    notScorableCount: count((outcome) => outcome.ok && outcome.row === null),
    failedCount: count(({ ok }) => !ok),
    results,
  };
}

async function scoreOne(scorer: Scorer, target: TraceTarget, index: number): Promise<TraceOutcome> {
  const { traceId } = target.trace;
  try {
    return { index, traceId, ok: true, row: await scoreTrace({ scorer, target }) };
  } catch (error) {
    return { index, traceId, ok: false, error };
  }
}

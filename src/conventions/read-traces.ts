import type { TraceReading } from '../domain/agent-run.ts';
import type { TraceData } from '../domain/span.ts';
import { assembleTrace } from './assembly/assemble-trace.ts';
import { decodeTraces } from './decode-traces.ts';
import { joinTraces } from './join-traces.ts';
import { normaliseTrace } from './normalise-trace.ts';
import { findNotUnderstood } from './not-understood.ts';

/**
 * Reads OTLP JSON (one export request, a list of them, or NDJSON text; traces and logs mixed) as agent runs, one reading a
 * trace; traces of emitters that do not nest are joined. Pure and synchronous; never throws on data. What could not be
 * decoded: `decodeTraces`.
 */
export function readTraces(input: unknown): TraceReading[] {
  return readTogether(decodeTraces(input).traces);
}

/** Reads traces that came together, so that those of emitters that do not nest can be joined first (see `joinTraces`). */
export function readTogether(traces: readonly TraceData[]): TraceReading[] {
  return joinTraces(traces, (trace) => normaliseTrace(trace).spans).map(readTrace);
}

/** Reads one trace as agent runs; the order of its spans and records does not matter. */
export function readTrace(data: TraceData): TraceReading {
  const { spans, logCount } = normaliseTrace(data);
  const { runs, notScorable } = assembleTrace(data.traceId, spans);
  return {
    traceId: data.traceId,
    spanCount: spans.length,
    logCount,
    runs,
    notScorable,
    notUnderstood: findNotUnderstood(spans),
  };
}

import type { TraceReading } from '../domain/agent-run.ts';
import { endUnixNano, type TraceData } from '../domain/span.ts';
import { assembleTrace } from './assembly/assemble-trace.ts';
import { decodeTraces } from './decode-traces.ts';
import { joinTraces } from './join-traces.ts';
import { normaliseTrace } from './normalise-trace.ts';
import { findNotUnderstood } from './not-understood.ts';
import { fragmentOf, isOpen, MAX_FRAGMENT_SPANS } from './trace-fragment.ts';

/**
 * Reads OTLP JSON (one export request, a list of them, or NDJSON text; traces and logs mixed) as agent runs, one reading a
 * trace; traces of emitters that do not nest are joined. Pure and synchronous; never throws on data. What could not be
 * decoded: `decodeTraces`.
 */
export function readTraces(input: unknown): TraceReading[] {
  return readTogether(decodeTraces(input).traces);
}

/** Reads traces that came together, so that those of emitters that do not nest are joined first (see `joinTraces`). */
export function readTogether(traces: readonly TraceData[]): TraceReading[] {
  return joinTraces(traces).map((joined) => readTrace(joined.data));
}

/** What a trace shows of being one piece of a run. */
export interface TracePiece {
  readonly service: string;
  readonly startUnixNano: bigint;
  readonly endUnixNano: bigint;
  /** The rest of its run may be in other traces: it is worth while to look for them. */
  readonly isOpen: boolean;
}

/** Most spans that a trace has which is one piece of a run. */
export const MAX_PIECE_SPANS = MAX_FRAGMENT_SPANS;

/** The trace as a piece of a run that came as several traces; undefined when its emitter nests, or it is no part of a run. */
export function pieceOf(trace: TraceData): TracePiece | undefined {
  const fragment = fragmentOf(trace);
  return (
    fragment && {
      service: fragment.service,
      startUnixNano: fragment.startUnixNano,
      endUnixNano: endUnixNano(fragment.root),
      isOpen: isOpen(fragment),
    }
  );
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

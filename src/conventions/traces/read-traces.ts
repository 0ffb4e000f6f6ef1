import type { AgentRun, ReadingOptions, TraceReading } from '../../domain/trace/agent-run.ts';
import { checkTables } from '../../domain/trace/convention-schema.ts';
import type { ConventionTable } from '../../domain/trace/convention-table.ts';
import { endUnixNano, type TraceData } from '../../domain/trace/span.ts';
import { assembleTrace } from '../assembly/assemble-trace.ts';
import { decodeTraces } from './decode-traces.ts';
import { joinTraces, findFragment, isOpen, MAX_FRAGMENT_SPANS } from './join-traces.ts';
import { normaliseInSteps } from '../normalise-trace.ts';
import {
  findNotUnderstood,
  findUnreadTexts,
  joinNotUnderstood,
  pointAtTexts,
} from '../advice/not-understood.ts';
import { showsAgent } from '../shape/add-shapes.ts';
import { finish, finishInSlices, type Steps } from '../steps.ts';
import type { TracePiece } from '../../domain/trace/joined-trace.ts';

/**
 * Reads OTLP JSON (one export request, a list of them, or NDJSON text; traces and logs mixed) as agent runs, one reading per
 * trace. Traces of emitters that do not nest are joined. Pure and synchronous; never throws because of data. `decodeTraces`
 * lists the parts that cannot be decoded.
 * @param options.conventions the user's own conventions, as in the configuration; throws an `InvalidInputError` for a faulty one
 */
export function readTraces(
  input: unknown,
  { conventions = [] }: { conventions?: readonly ConventionTable[] } = {},
): TraceReading[] {
  const tables = checkTables(conventions);
  return readTogether(decodeTraces(input).traces.map((trace) => ({ ...trace, conventions: tables })));
}

/** Reads traces that belong together: those of emitters that do not nest are joined first (see `joinTraces`). */
export function readTogether(traces: readonly TraceData[]): TraceReading[] {
  return joinTraces(traces).map((joined) => readTrace(joined.data));
}

/** Most spans of a trace that is one piece of a run. */
export const MAX_PIECE_SPANS = MAX_FRAGMENT_SPANS;

/** Reads the trace as a piece of a run in several traces; undefined when its emitter nests, or when it is no part of a run. */
export function readPiece(trace: TraceData): TracePiece | undefined {
  const fragment = findFragment(trace);
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
export function readTrace(data: TraceData, options?: ReadingOptions): TraceReading {
  return finish(readInSteps(data, options));
}

/** Longest time without a pause while a large trace is read, milliseconds. */
const SLICE_MS = 25;

/** Reads one trace in slices, with a pause between them, for a process that has other work. */
export function readTraceInSlices(
  data: TraceData,
  deps: { nowMs: () => number; pause: () => Promise<unknown> },
  options?: ReadingOptions,
): Promise<TraceReading> {
  return finishInSlices(readInSteps(data, options), SLICE_MS, deps);
}

function* readInSteps(data: TraceData, options?: ReadingOptions): Steps<TraceReading> {
  const { spans, logCount } = yield* normaliseInSteps(data);
  const { runs, notScorable, ...demanded } = yield* assembleTrace(data.traceId, spans, options);
  warnOfOmitted(runs, data);
  const isSilent = runs.every(({ scorable }) => !scorable) && showsAgent(spans);
  const unread = isSilent ? findUnreadTexts(spans, data.logs) : [];
  for (const run of runs) {
    run.notScorable = run.notScorable && pointAtTexts(run.notScorable, unread);
  }
  return {
    traceId: data.traceId,
    spanCount: spans.length,
    logCount,
    runs,
    ...demanded,
    notScorable: notScorable && pointAtTexts(notScorable, unread),
    notUnderstood: joinNotUnderstood(unread, findNotUnderstood(spans)),
  };
}

/** Warns in the runs of a trace that is larger than the store reads: the omitted spans may contain evidence for the answer. */
function warnOfOmitted(runs: readonly AgentRun[], { omittedSpans = 0 }: TraceData): void {
  for (const run of omittedSpans > 0 ? runs : []) {
    const detail = `the trace is larger than is read at once: ${omittedSpans} of its spans were left out`;
    run.warnings.push({ code: 'trace_too_large', spanId: run.target.spanId, detail });
  }
}

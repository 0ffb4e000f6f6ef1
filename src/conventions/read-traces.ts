import type { TraceReading } from '../domain/agent-run.ts';
import type { LogRecord, TraceData } from '../domain/span.ts';
import { assembleTrace } from './assembly/assemble-trace.ts';
import { decodeTraces } from './decode-traces.ts';
import { uniqueLogs, uniqueSpans } from './deduplicate.ts';
import { normaliseSpan } from './normalise-span.ts';
import { joinTraces } from './join-traces.ts';
import type { NormalisedSpan } from './normalised-span.ts';
import { findNotUnderstood } from './not-understood.ts';
import { CONVENTIONS } from './registry.ts';

/**
 * Reads OTLP JSON (one export request, a list of them, or NDJSON text; traces and logs mixed) as agent runs, one reading a
 * trace; traces of emitters that do not nest are joined first (`joinTraces`). Pure and synchronous; never throws on data. What could not be decoded: `decodeTraces`.
 */
export function readTraces(input: unknown): TraceReading[] {
  return joinTraces(decodeTraces(input).traces, (trace) => readSpans(trace).normalised).map(readTrace);
}

/** Reads one trace as agent runs; the order of its spans and records does not matter. */
export function readTrace(data: TraceData): TraceReading {
  const { normalised, logCount } = readSpans(data);
  const { runs, notScorable } = assembleTrace(data.traceId, normalised);
  return {
    traceId: data.traceId,
    spanCount: normalised.length,
    logCount,
    runs,
    notScorable,
    notUnderstood: findNotUnderstood(normalised),
  };
}

function readSpans(data: TraceData): { normalised: NormalisedSpan[]; logCount: number } {
  const { spans, differing } = uniqueSpans(data.spans);
  const logs = uniqueLogs(data.logs.filter(isAgentEvent));
  const logsBySpan = bySpan(logs);
  const normalised = spans.map((span): NormalisedSpan => {
    const read = normaliseSpan(span, logsBySpan.get(span.spanId) ?? []);
    if (!differing.has(span.spanId)) {
      return read;
    }
    const detail = 'this span id came more than once with differing content; the later end counts';
    return { ...read, warnings: [...read.warnings, { code: 'duplicate_span', spanId: span.spanId, detail }] };
  });
  normalised.sort((a, b) => (a.span.spanId < b.span.spanId ? -1 : 1));
  return { normalised, logCount: logs.length };
}

const LOG_SCOPES = CONVENTIONS.flatMap((convention) => convention.logScopes ?? []);

/** Records with an event name of GenAI, or of a scope that a convention reads; other log lines say nothing here. */
function isAgentEvent(log: LogRecord): boolean {
  return log.eventName.startsWith('gen_ai.') || LOG_SCOPES.includes(log.scopeName);
}

function bySpan(logs: readonly LogRecord[]): Map<string, LogRecord[]> {
  const lists = new Map<string, LogRecord[]>();
  for (const log of logs) {
    const list = lists.get(log.spanId);
    if (list === undefined) {
      lists.set(log.spanId, [log]);
    } else {
      list.push(log);
    }
  }
  return lists;
}

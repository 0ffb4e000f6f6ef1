import { readErrorMessage } from '../../domain/errors.ts';
import { decodeText } from '../../domain/text-encoding.ts';
import { decodeOtlpJson } from '../../wire/otlp-json.ts';
import { fromMastraRecords } from '../mastra-records.ts';
import type { LogRecord, Span, TraceData } from '../../domain/trace/span.ts';

/** Most listed problems. */
const MAX_PROBLEMS = 50;

/** Traces of an input, and the problems of its unreadable parts. */
export interface DecodedTraces {
  traces: TraceData[];
  /** Each problem names the line or the record, and what is wrong with it. */
  problems: string[];
}

interface Collected {
  spans: Map<string, Span[]>;
  logs: Map<string, LogRecord[]>;
  problems: string[];
}

/**
 * Decodes OTLP JSON into traces: one export request, a list of them, JSON text of either, or NDJSON text (a request per line).
 * Instead of a request, Mastra's native records are accepted. Traces come in order of their first span. Never throws because of
 * data.
 * @param place names the input in problems
 */
export function decodeTraces(input: unknown, place = 'input'): DecodedTraces {
  const collected: Collected = { spans: new Map(), logs: new Map(), problems: [] };
  if (input instanceof Uint8Array || typeof input === 'string') {
    collectText(decodeText(input), collected);
  } else {
    collectRequests(input, place, collected);
  }
  const ids = new Set([...collected.spans.keys(), ...collected.logs.keys()]);
  const traces = [...ids].map((traceId) => ({
    traceId,
    spans: collected.spans.get(traceId) ?? [],
    logs: collected.logs.get(traceId) ?? [],
  }));
  return { traces: sortTraces(traces), problems: collected.problems };
}

function collectText(text: string, collected: Collected): void {
  const whole = parse(text);
  if (whole.ok) {
    collectRequests(whole.value, 'input', collected);
    return;
  }
  const lines = text.split('\n').map((line, index) => ({ at: `line ${index + 1}`, text: line.trim() }));
  const parsed = lines
    .filter((line) => line.text !== '')
    .map((line) => ({ ...line, json: parse(line.text) }));
  if (!parsed.some(({ json }) => json.ok)) {
    if (parsed.length > 0) {
      addProblem(collected, `the input is neither JSON nor one JSON document a line: ${whole.reason}`);
    }
    return;
  }
  for (const { at, json } of parsed) {
    if (json.ok) {
      collectRequests(json.value, at, collected);
    } else {
      addProblem(collected, `${at} is not JSON: ${json.reason}`);
    }
  }
}

function parse(text: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    return { ok: false, reason: readErrorMessage(error) };
  }
}

function collectRequests(value: unknown, where: string, collected: Collected): void {
  const requests: unknown[] = Array.isArray(value) ? value : [value];
  requests.forEach((request, index) => {
    const { spans, logs, rejected } = decodeOtlpJson(fromMastraRecords(request) ?? request);
    spans.forEach((span) => append(collected.spans, span.traceId, span));
    logs.filter((log) => log.traceId !== '').forEach((log) => append(collected.logs, log.traceId, log));
    const at = Array.isArray(value) ? `${where}[${index}]` : where;
    rejected.reasons.forEach((reason) => addProblem(collected, `${at}: ${reason}`));
  });
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key) ?? [];
  list.push(item);
  lists.set(key, list);
}

function addProblem(collected: Collected, problem: string): void {
  if (collected.problems.length < MAX_PROBLEMS) {
    collected.problems.push(problem);
  }
}

function sortTraces(traces: TraceData[]): TraceData[] {
  const keyed = traces.map((trace) => ({ trace, start: firstTime(trace) }));
  keyed.sort((a, b) =>
    a.start === b.start ? (a.trace.traceId < b.trace.traceId ? -1 : 1) : a.start < b.start ? -1 : 1,
  );
  return keyed.map(({ trace }) => trace);
}

function firstTime(trace: TraceData): bigint {
  const times = [
    ...trace.spans.map((span) => span.startUnixNano),
    ...trace.logs.map((log) => log.timeUnixNano),
  ];
  return times.reduce((low, time) => (time < low ? time : low), times[0] ?? 0n);
}

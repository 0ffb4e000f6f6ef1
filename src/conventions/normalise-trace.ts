import type { LogRecord, TraceData } from '../domain/trace/span.ts';
import { uniqueLogs, uniqueSpans } from './traces/deduplicate.ts';
import { isMovedContent } from './advice/moved-content.ts';
import { normaliseSpan, type Observe } from './normalise-span.ts';
import type { NormalisedSpan } from './normalised-span.ts';
import { CONVENTIONS } from './registry.ts';
import { addShapes } from './shape/add-shapes.ts';
import { finish, type Steps } from './steps.ts';
import { toConvention } from './tables/table-convention.ts';

/** The spans of a trace, each once, in order of their ids, each read with its log records. */
export interface NormalisedTrace {
  readonly spans: readonly NormalisedSpan[];
  /** Number of log records of agents and models. */
  readonly logCount: number;
}

/** Reads every span of a trace separately; the order of spans and records does not matter. */
export function normaliseTrace(data: TraceData): NormalisedTrace {
  return finish(normaliseInSteps(data));
}

/** Like `normaliseTrace`, with one span per step. */
export function* normaliseInSteps(data: TraceData, observe?: Observe): Steps<NormalisedTrace> {
  const { spans, differing } = uniqueSpans(data.spans);
  const tables = (data.conventions ?? []).map(toConvention);
  const { without } = data;
  const own = without === undefined ? CONVENTIONS : CONVENTIONS.filter(({ name }) => !without.has(name));
  const conventions = tables.length === 0 ? own : [...tables, ...own];
  const events = tables.flatMap(({ logEvents = [] }) => logEvents);
  const logs = uniqueLogs(data.logs.filter((log) => isAgentEvent(log) || events.includes(log.eventName)));
  const logsBySpan = bySpan(logs);
  const inOrder = spans.toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1));
  const normalised: NormalisedSpan[] = [];
  for (const span of inOrder) {
    const read = normaliseSpan(span, logsBySpan.get(span.spanId) ?? [], conventions, observe);
    normalised.push(differing.has(span.spanId) ? duplicated(read) : read);
    yield;
  }
  const read = data.readByShape === false ? normalised : addShapes(normalised, data.logs, observe);
  return { spans: read, logCount: logs.length };
}

function duplicated(read: NormalisedSpan): NormalisedSpan {
  const { spanId } = read.span;
  const detail = 'this span id came more than once with differing content; the later end counts';
  return { ...read, warnings: [...read.warnings, { code: 'duplicate_span', spanId, detail }] };
}

const LOG_SCOPES = CONVENTIONS.flatMap((convention) => convention.logScopes ?? []);

/** True for a record with a GenAI event name or moved content, or of a scope that a convention reads; others are ignored. */
function isAgentEvent(log: LogRecord): boolean {
  return log.eventName.startsWith('gen_ai.') || isMovedContent(log) || LOG_SCOPES.includes(log.scopeName);
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

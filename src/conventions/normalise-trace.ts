import { isMovedContent } from './advice/moved-content.ts';
import { normaliseSpan, type Observe } from './normalise-span.ts';
import type { NormalisedSpan, SpanRole } from './normalised-span.ts';
import { CONVENTIONS } from './registry.ts';
import { addShapes } from './shape/add-shapes.ts';
import { finish, type Steps, finishInSlices } from './steps.ts';
import { toConvention } from './tables/table-convention.ts';
import { compareValues } from '../domain/compare-values.ts';
import { canonicalJson } from '../domain/identity.ts';
import { endUnixNano, type LogRecord, type Span, type TraceData } from '../domain/trace/span.ts';
import type { StepKind } from '../domain/trace/agent-run.ts';

/** The spans of a trace, each once, in order of their ids, each read with its log records. */
interface NormalisedTrace {
  readonly spans: readonly NormalisedSpan[];
  /** Number of log records of agents and models. */
  readonly logCount: number;
}

/** Reads every span of a trace separately; the order of spans and records does not matter. */
export function normaliseTrace(data: TraceData): NormalisedTrace {
  return finish(normaliseInSteps(data));
}

/** Traces that were read ahead, each for one reading: a run that is built from the spans changes their facts. */
const readAhead = new WeakMap<TraceData, NormalisedTrace>();

/** Keeps the spans of a trace, which somebody has read without a change, for its next reading. */
export function keepForReading(data: TraceData, read: NormalisedTrace): void {
  readAhead.set(data, read);
}

/** Like `normaliseTrace`, with one span per step. */
export function* normaliseInSteps(data: TraceData, observe?: Observe): Steps<NormalisedTrace> {
  const ahead = observe === undefined ? readAhead.get(data) : undefined;
  if (ahead !== undefined) {
    readAhead.delete(data);
    return ahead;
  }
  const { spans, differing } = uniqueSpans(data.spans);
  const tables = (data.conventions ?? []).map(toConvention);
  const { without } = data;
  const own = without === undefined ? CONVENTIONS : CONVENTIONS.filter(({ name }) => !without.has(name));
  const conventions = tables.length === 0 ? own : [...tables, ...own];
  const events = tables.flatMap(({ logEvents = [] }) => logEvents);
  const logs = uniqueLogs(data.logs.filter((log) => isAgentEvent(log) || events.includes(log.eventName)));
  const logsBySpan = Map.groupBy(logs, ({ spanId }) => spanId);
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

/** Keeps one span per id: by end, number of attributes, then text, never by arrival. Also returns the ids with different content. */
function uniqueSpans(spans: readonly Span[]): { spans: Span[]; differing: Set<string> } {
  const byId = new Map<string, Span>();
  const differing = new Set<string>();
  for (const span of spans) {
    const known = byId.get(span.spanId);
    if (known === undefined) {
      byId.set(span.spanId, span);
    } else if (known !== span) {
      const order = compareSpans(span, known);
      if (order !== 0) {
        differing.add(span.spanId);
      }
      if (order > 0) {
        byId.set(span.spanId, span);
      }
    }
  }
  return { spans: [...byId.values()], differing };
}

function compareSpans(a: Span, b: Span): number {
  return (
    compareValues(endUnixNano(a), endUnixNano(b)) ||
    a.attributes.size - b.attributes.size ||
    compareValues(textOf(a), textOf(b))
  );
}

function textOf(item: Span | LogRecord): string {
  const [attributes, resourceAttributes] = [sorted(item.attributes), sorted(item.resourceAttributes)];
  return canonicalJson({ ...item, attributes, resourceAttributes });
}

function sorted(attributes: Span['attributes']): [string, string][] {
  return [...attributes].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Keeps each record once, in order of time. Records of equal time stay as they came: nothing else shows the order of messages. */
function uniqueLogs(logs: readonly LogRecord[]): LogRecord[] {
  const byText = new Map<string, LogRecord>();
  for (const log of logs) {
    const text = textOf(log);
    if (!byText.has(text)) {
      byText.set(text, log);
    }
  }
  return [...byText.values()].sort((a, b) => Number(a.timeUnixNano - b.timeUnixNano));
}

/** Longest time without a pause, milliseconds. */
const SLICE_MS = 25;

const KINDS: Readonly<Partial<Record<SpanRole, StepKind>>> = {
  agent: 'agent',
  workflow: 'agent',
  llm: 'model',
  embedding: 'model',
  tool: 'tool',
  retriever: 'retrieval',
};

/** Reads the kind of the step of each span, by span id. Pauses between slices of a large trace. */
export async function readStepKinds(
  data: TraceData,
  deps: { nowMs: () => number; pause: () => Promise<unknown> },
): Promise<ReadonlyMap<string, StepKind>> {
  const { spans } = await finishInSlices(normaliseInSteps(data), SLICE_MS, deps);
  return new Map(spans.map(({ span, facts }) => [span.spanId, KINDS[facts.role ?? 'other'] ?? 'other']));
}

import type { ConventionTable } from './convention-table.ts';

/**
 * Attributes with their values as strings, exactly as the `otel_traces` table keeps them (see `any-value.ts`). A Map, so that a
 * key from a sender cannot reach the prototype of an object.
 */
export type Attributes = ReadonlyMap<string, string>;

/** Statuses of a span; the index is the number in OTLP. */
export const STATUS_CODES = ['Unset', 'Ok', 'Error'] as const;

/** Status of a span in its shortest spelling, as the OpenTelemetry Collector's ClickHouse exporter writes it. */
export type StatusCode = (typeof STATUS_CODES)[number];

/** Kinds of a span; the index is the number in OTLP. */
export const SPAN_KINDS = ['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer'] as const;

/** Kind of a span, spelled as the Collector's ClickHouse exporter spells it. */
export type SpanKind = (typeof SPAN_KINDS)[number];

export interface SpanEvent {
  readonly timeUnixNano: bigint;
  readonly name: string;
  readonly attributes: Attributes;
}

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceState: string;
  readonly attributes: Attributes;
}

/** One finished span in the shape of a row of `otel_traces`; it may come from a file, a socket or the table. */
export interface Span {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** 16 lower-case hex digits. */
  readonly spanId: string;
  /** 16 lower-case hex digits, or '' for a root span. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: SpanKind;
  /** Resource attribute `service.name`, or ''. */
  readonly serviceName: string;
  readonly resourceAttributes: Attributes;
  readonly scopeName: string;
  readonly scopeVersion: string;
  readonly attributes: Attributes;
  readonly startUnixNano: bigint;
  /** End minus start. 0 for a span that ends before it starts (checked by the receivers and again when read). */
  readonly durationNano: bigint;
  readonly statusCode: StatusCode;
  readonly statusMessage: string;
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanLink[];
  /** Number of attributes that the emitting SDK dropped (its attribute count limit). */
  readonly droppedAttributesCount: number;
  /** Columns that were cut before the row was stored; absent without a cut. */
  readonly truncated?: readonly string[];
}

/** One log record of a trace: the shape of a row of `otel_logs`. Only records that are GenAI events are kept. */
export interface LogRecord {
  readonly timeUnixNano: bigint;
  readonly traceId: string;
  readonly spanId: string;
  readonly severityText: string;
  readonly severityNumber: number;
  readonly serviceName: string;
  /** Made a string like an attribute value: a structured body is JSON text. */
  readonly body: string;
  readonly resourceAttributes: Attributes;
  readonly scopeName: string;
  readonly scopeVersion: string;
  readonly attributes: Attributes;
  /** The `event_name` field, else the attribute `event.name`, else ''. */
  readonly eventName: string;
}

export interface ReadingTerms {
  /** The user's own conventions, which read the spans before the conventions of this program. */
  readonly conventions?: readonly ConventionTable[];
  /** False: spans that no convention describes are not read by the form of their values. Default true. */
  readonly readByShape?: boolean;
}

/** Spans and log records of one trace. */
export interface TraceData extends ReadingTerms {
  readonly traceId: string;
  readonly spans: readonly Span[];
  readonly logs: readonly LogRecord[];
  /** Size of the stored rows, in characters; absent when they did not come from a store. */
  readonly size?: number;
  /** Number of spans that were not read because the trace is too large; absent when all were read. */
  readonly omittedSpans?: number;
  /** Frees the spans: nobody reads them again. */
  readonly forget?: () => void;
  /** Names of this program's conventions that do not read these spans, as if it did not know their emitter. */
  readonly without?: ReadonlySet<string>;
}

/** Instrumentation scope of every span that spanscore itself emits; such spans are stored, never scored. */
export const OWN_SCOPE = 'spanscore';

/** Computes the end of a span, Unix nanoseconds. */
export function endUnixNano(span: Span): bigint {
  return span.startUnixNano + span.durationNano;
}

/** Facts by which a trace may be one piece of a run. */
export interface TracePiece {
  readonly service: string;
  readonly startUnixNano: bigint;
  readonly endUnixNano: bigint;
  /** The rest of its run may be in other traces: it is worth while to look for them. */
  readonly isOpen: boolean;
}

/** A run that came as several traces, or one trace as it came. */
export interface JoinedTrace {
  /** Under the trace id of the member that owns the run: of the step around the members, else of the earliest. */
  readonly data: TraceData;
  /** The traces that it is made of, by start; itself alone when nothing was joined. */
  readonly members: readonly TraceData[];
  /** False for pieces of a run whose answer, or whose asking call, has not come. */
  readonly finished: boolean;
}

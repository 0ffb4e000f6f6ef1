import { type LogRecord, type Span, SPAN_KINDS, STATUS_CODES, type TraceData } from '../domain/trace/span.ts';

/** Replaces texts in a structured value. */
type Redact = <T>(value: T) => T;

/**
 * Encodes spans and log records as OTLP/JSON export requests, which `decodeOtlpJson` reads back. Values are texts, as the store keeps them.
 * @param redact replaces texts: names, messages, and the values of attributes. Ids and times stay
 */
export function encodeOtlpJson(
  { spans, logs }: Pick<TraceData, 'spans' | 'logs'>,
  redact: Redact = (value) => value,
): object[] {
  const spanTexts = redact(spans.map(readSpanTexts));
  const logTexts = redact(logs.map(readLogTexts));
  const requests = [
    { resourceSpans: groupByScope(spans, spanTexts, 'scopeSpans', 'spans', encodeSpan) },
    { resourceLogs: groupByScope(logs, logTexts, 'scopeLogs', 'logRecords', encodeLog) },
  ];
  return requests.filter((request) => Object.values(request).some((groups) => groups.length > 0));
}

type SpanTexts = ReturnType<typeof readSpanTexts>;

function readSpanTexts({ name, statusMessage, attributes, resourceAttributes, events, links }: Span) {
  return {
    name,
    statusMessage,
    attributes: Object.fromEntries(attributes),
    resource: Object.fromEntries(resourceAttributes),
    events: events.map((event) => ({ name: event.name, attributes: Object.fromEntries(event.attributes) })),
    links: links.map((link) => Object.fromEntries(link.attributes)),
  };
}

type LogTexts = ReturnType<typeof readLogTexts>;

function readLogTexts({ body, attributes, resourceAttributes }: LogRecord) {
  return {
    body,
    attributes: Object.fromEntries(attributes),
    resource: Object.fromEntries(resourceAttributes),
  };
}

/** Groups records by their resource and scope. */
function groupByScope<Item extends { readonly scopeName: string; readonly scopeVersion: string }, Texts>(
  records: readonly Item[],
  texts: readonly (Texts & { readonly resource: Record<string, string> })[],
  scopeKey: string,
  recordKey: string,
  encode: (record: Item, text: Texts) => object,
): object[] {
  const all = records.flatMap((record, index) => {
    const text = texts[index];
    return text === undefined ? [] : [{ record, text }];
  });
  const groups = Map.groupBy(all, ({ record, text }) =>
    JSON.stringify([text.resource, record.scopeName, record.scopeVersion]),
  );
  return [...groups.values()].flatMap((members) => {
    const [first] = members;
    return first === undefined
      ? []
      : [
          {
            resource: { attributes: encodeAttributes(first.text.resource) },
            [scopeKey]: [
              {
                scope: { name: first.record.scopeName, version: first.record.scopeVersion },
                [recordKey]: members.map(({ record, text }) => encode(record, text)),
              },
            ],
          },
        ];
  });
}

function encodeSpan(span: Span, texts: SpanTexts): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId === '' ? {} : { parentSpanId: span.parentSpanId }),
    ...(span.traceState === '' ? {} : { traceState: span.traceState }),
    name: texts.name,
    kind: SPAN_KINDS.indexOf(span.kind),
    startTimeUnixNano: String(span.startUnixNano),
    endTimeUnixNano: String(span.startUnixNano + span.durationNano),
    attributes: encodeAttributes(texts.attributes),
    events: span.events.map(({ timeUnixNano }, index) => ({
      timeUnixNano: String(timeUnixNano),
      name: texts.events[index]?.name ?? '',
      attributes: encodeAttributes(texts.events[index]?.attributes ?? {}),
    })),
    links: span.links.map(({ traceId, spanId, traceState }, index) => ({
      traceId,
      spanId,
      traceState,
      attributes: encodeAttributes(texts.links[index] ?? {}),
    })),
    status: { code: STATUS_CODES.indexOf(span.statusCode), message: texts.statusMessage },
    droppedAttributesCount: span.droppedAttributesCount,
  };
}

function encodeLog(log: LogRecord, texts: LogTexts): object {
  return {
    timeUnixNano: String(log.timeUnixNano),
    ...(log.traceId === '' ? {} : { traceId: log.traceId }),
    ...(log.spanId === '' ? {} : { spanId: log.spanId }),
    severityNumber: log.severityNumber,
    severityText: log.severityText,
    eventName: log.eventName,
    body: { stringValue: texts.body },
    attributes: encodeAttributes(texts.attributes),
  };
}

function encodeAttributes(attributes: Record<string, string>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: value } }));
}

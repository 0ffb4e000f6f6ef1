import { canonicalJson } from '../../domain/identity.ts';
import { type Attributes, endUnixNano, type LogRecord, type Span } from '../../domain/trace/span.ts';
import { compareValues } from '../../domain/compare-values.ts';

/**
 * Keeps one span per id: the one with the later end, then with more attributes, then with the greater text; never by arrival.
 * Also returns the ids whose spans had different content.
 */
export function uniqueSpans(spans: readonly Span[]): { spans: Span[]; differing: Set<string> } {
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
    compareValues(spanText(a), spanText(b))
  );
}

function spanText(span: Span): string {
  const [attributes, resourceAttributes] = [sorted(span.attributes), sorted(span.resourceAttributes)];
  return canonicalJson({ ...span, attributes, resourceAttributes });
}

function logText(log: LogRecord): string {
  const [attributes, resourceAttributes] = [sorted(log.attributes), sorted(log.resourceAttributes)];
  return canonicalJson({ ...log, attributes, resourceAttributes });
}

function sorted(attributes: Attributes): [string, string][] {
  return [...attributes].sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * Keeps each log record once, in order of time. Records of equal time keep their order: the messages of one model call often
 * share a time, and nothing else shows their order.
 */
export function uniqueLogs(logs: readonly LogRecord[]): LogRecord[] {
  const byText = new Map<string, LogRecord>();
  for (const log of logs) {
    const text = logText(log);
    if (!byText.has(text)) {
      byText.set(text, log);
    }
  }
  return [...byText.values()].sort((a, b) => Number(a.timeUnixNano - b.timeUnixNano));
}

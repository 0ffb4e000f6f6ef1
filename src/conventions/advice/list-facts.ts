import {
  BY_SHAPE,
  type ConventionTable,
  parseSource,
  type TableField,
} from '../../domain/trace/convention-table.ts';
import type { LogRecord, Span, TraceData } from '../../domain/trace/span.ts';
import { normaliseInSteps } from '../normalise-trace.ts';
import type { SpanFacts, SpanView } from '../normalised-span.ts';
import { finish } from '../steps.ts';
import { READ_BY_SHAPE } from '../shape/add-shapes.ts';
import { readSource } from '../tables/table-convention.ts';

/** A fact of a span, as one convention states it. */
export interface StatedFact {
  spanId: string;
  field: string;
  value: unknown;
  convention: string;
  /** Place of the value, in the syntax of the user's conventions; null when no place has its text. */
  source: string | null;
  /** False when an earlier convention states the field too. */
  used: boolean;
}

const NAMES = new Map<keyof SpanFacts, TableField>([
  ['toolName', 'tool.name'],
  ['toolArgs', 'tool.arguments'],
  ['toolResult', 'tool.result'],
  ['toolCallId', 'tool.callId'],
]);

const KINDS = new Map<SpanFacts['role'], string>([
  ['llm', 'model'],
  ['retriever', 'retrieval'],
  ['container', 'other'],
]);

const USAGE = new Map<string, TableField>([
  ['inputTokens', 'usage.input'],
  ['outputTokens', 'usage.output'],
  ['totalTokens', 'usage.total'],
  ['cachedInputTokens', 'usage.cached'],
  ['reasoningTokens', 'usage.reasoning'],
]);

/** Notes for the assembly; they are no content of a span. */
const NOTES: ReadonlySet<keyof SpanFacts> = new Set([
  'outputGrouped',
  'hidden',
  'withheld',
  'isUsageRepeated',
]);

/** Lists what each convention states of each span of a trace, in the order in which they are asked. */
export function listFacts(data: TraceData): StatedFact[] {
  const stated: StatedFact[] = [];
  const known = new Set<string>();
  const observe = (convention: string, facts: SpanFacts, view: SpanView): void => {
    const table = data.conventions?.find(({ name }) => name === convention);
    for (const [field, value] of named(facts)) {
      const { spanId } = view.span;
      const used = !known.has(`${spanId} ${field}`);
      known.add(`${spanId} ${field}`);
      const source =
        tableSource(table, field, view) ??
        shapeSource(convention, field, view) ??
        (field === 'kind' ? null : findSource(view, value));
      stated.push({ spanId, field, value, convention, source, used });
    }
  };
  finish(normaliseInSteps(data, observe));
  return stated;
}

function named(facts: SpanFacts): [field: string, value: unknown][] {
  return (Object.entries(facts) as [keyof SpanFacts, unknown][]).flatMap(([key, value]) => {
    const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0) || NOTES.has(key);
    if (key === 'role') {
      return isEmpty ? [] : [['kind', KINDS.get(facts.role) ?? value]];
    }
    if (key !== 'usage') {
      return isEmpty ? [] : [[NAMES.get(key) ?? key, value]];
    }
    return Object.entries(facts.usage ?? {}).flatMap(([name, count]): [string, unknown][] =>
      count === null ? [] : [[USAGE.get(name) ?? `usage.${name}`, count]],
    );
  });
}

function tableSource(table: ConventionTable | undefined, field: string, view: SpanView): string | undefined {
  const sources = field === 'kind' ? table?.kind?.from : table?.fields[field as TableField];
  return [sources ?? []].flat().find((text) => {
    const source = parseSource(text);
    return typeof source !== 'string' && readSource(view, source) !== undefined;
  });
}

function shapeSource(convention: string, field: string, { warnings }: SpanView): string | undefined {
  const read = convention === BY_SHAPE ? warnings.find(({ code }) => code === READ_BY_SHAPE) : undefined;
  return [read?.fields?.[field] ?? []].flat()[0];
}

/** Finds the shortest value of the span that holds the longest text of a fact. */
function findSource({ span, logs }: SpanView, value: unknown): string | null {
  const text = longestText(value);
  const written = JSON.stringify(text).slice(1, -1);
  const holding = [...places(span, logs)].filter(([, held]) => held.includes(text) || held.includes(written));
  holding.sort(([, a], [, b]) => a.length - b.length);
  return text === '' ? null : (holding[0]?.[0] ?? null);
}

function* places(span: Span, logs: readonly LogRecord[]): Generator<[source: string, value: string]> {
  yield* keyed('', span.attributes);
  for (const { name, attributes } of span.events) {
    yield* keyed(`event:${quote(name, /[\s"/]/)}/`, attributes);
  }
  for (const { eventName, attributes, body } of logs) {
    const event = `log:${quote(eventName, /[\s"/]/)}`;
    yield [event, body];
    yield* keyed(`${event}/`, attributes);
  }
}

function keyed(start: string, attributes: Span['attributes']): [string, string][] {
  return [...attributes].map(([key, value]) => [start + quote(key, /[\s"]/), value]);
}

function quote(name: string, characters: RegExp): string {
  return characters.test(name) ? `"${name}"` : name;
}

function longestText(value: unknown): string {
  const texts: string[] = [];
  JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === 'string' || typeof inner === 'number') {
      texts.push(String(inner));
    }
    return inner;
  });
  return texts.reduce((longest, text) => (text.length > longest.length ? text : longest), '');
}

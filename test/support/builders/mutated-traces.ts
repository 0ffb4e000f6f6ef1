import type { LogRecord, Span, TraceData } from '../../../src/domain/trace/span.ts';
import { fc } from '../fast-check.ts';

/** One change to one span or one log record of a trace. */
export interface Mutation {
  kind: keyof typeof CHANGES | keyof typeof LOG_CHANGES;
  /** Selects the span or record. The other number selects the second one when a change needs two. */
  span: number;
  other: number;
  /** Selects the attribute. */
  key: number;
  text: string;
}

type Change = (spans: Span[], mutation: Mutation) => Span[];

const JUNK = [
  '',
  'null',
  '{}',
  '[]',
  '[[',
  '{"role":',
  '"',
  '-1',
  '1e999',
  '<REDACTED>',
  '{"__proto__":{"a":1}}',
];

function computeKey(span: Span, pick: number): string {
  const keys = [...span.attributes.keys()];
  return keys[pick % Math.max(1, keys.length)] ?? '';
}

function at(spans: readonly Span[], index: number): Span | undefined {
  return spans[index % Math.max(1, spans.length)];
}

function changed(spans: Span[], index: number, change: (span: Span) => Partial<Span>): Span[] {
  const place = index % Math.max(1, spans.length);
  return spans.map((span, i) => (i === place ? { ...span, ...change(span) } : span));
}

function withValue(span: Span, key: string, value: string | undefined): Partial<Span> {
  const attributes = new Map(span.attributes);
  if (value === undefined) {
    attributes.delete(key);
  } else {
    attributes.set(key, value);
  }
  return { attributes };
}

const CHANGES = {
  dropSpan: (spans, { span }) => spans.filter((_, i) => i !== span % Math.max(1, spans.length)),
  dropAttribute: (spans, { span, key }) =>
    changed(spans, span, (one) => withValue(one, computeKey(one, key), undefined)),
  cutAttribute: (spans, { span, other, key }) =>
    changed(spans, span, (one) => {
      const name = computeKey(one, key);
      const value = one.attributes.get(name) ?? '';
      return withValue(one, name, value.slice(0, other % (value.length + 1)));
    }),
  junkAttribute: (spans, { span, other, key, text }) =>
    changed(spans, span, (one) =>
      withValue(one, computeKey(one, key), JUNK[other % (JUNK.length * 2)] ?? text),
    ),
  swapAttribute: (spans, { span, other, key }) =>
    changed(spans, span, (one) => {
      const name = computeKey(one, key);
      return withValue(
        one,
        name,
        at(spans, other)?.attributes.get(name) ?? one.attributes.get(computeKey(one, other)),
      );
    }),
  moveAttribute: (spans, { span, other, key }) => {
    const source = at(spans, span);
    const name = source === undefined ? '' : computeKey(source, key);
    const value = source?.attributes.get(name);
    return value === undefined ? spans : changed(spans, other, (one) => withValue(one, name, value));
  },
  changeParent: (spans, { span, other }) =>
    changed(spans, span, () => ({ parentSpanId: at(spans, other)?.spanId ?? '' })),
  loseParent: (spans, { span, other }) =>
    changed(spans, span, () => ({ parentSpanId: other % 2 === 0 ? '' : 'ffffffffffffffff' })),
  doubleSpan: (spans, { span, key }) => {
    const one = at(spans, span);
    return one === undefined
      ? spans
      : [...spans, { ...one, ...withValue(one, computeKey(one, key), 'changed') }];
  },
  moveInTime: (spans, { span, other }) =>
    changed(spans, span, (one) => ({ startUnixNano: BigInt(other) * one.startUnixNano })),
  stretch: (spans, { span, other }) => changed(spans, span, () => ({ durationNano: BigInt(other) ** 4n })),
  fail: (spans, { span, text }) => changed(spans, span, () => ({ statusCode: 'Error', statusMessage: text })),
  dropEvents: (spans, { span }) => changed(spans, span, () => ({ events: [] })),
  rename: (spans, { span, text }) => changed(spans, span, () => ({ name: text })),
  changeScope: (spans, { span, other }) =>
    changed(spans, span, () => ({ scopeName: at(spans, other)?.scopeName ?? '' })),
} satisfies Record<string, Change>;

type LogChange = (logs: LogRecord[], mutation: Mutation, spans: readonly Span[]) => LogRecord[];

function changedLog(
  logs: LogRecord[],
  index: number,
  change: (log: LogRecord) => Partial<LogRecord>,
): LogRecord[] {
  const place = index % Math.max(1, logs.length);
  return logs.map((log, i) => (i === place ? { ...log, ...change(log) } : log));
}

const LOG_CHANGES = {
  dropLog: (logs, { span }) => logs.filter((_, i) => i !== span % Math.max(1, logs.length)),
  cutLog: (logs, { span, other }) =>
    changedLog(logs, span, ({ body }) => ({ body: body.slice(0, other % (body.length + 1)) })),
  doubleLog: (logs, { span }) => [...logs, ...logs.slice(span % Math.max(1, logs.length)).slice(0, 1)],
  dropLogAttribute: (logs, { span, key }) =>
    changedLog(logs, span, ({ attributes }) => ({
      attributes: new Map([...attributes].filter((_, i) => i !== key % Math.max(1, attributes.size))),
    })),
  moveLog: (logs, { span, other }, spans) =>
    changedLog(logs, span, ({ spanId }) => ({
      spanId: spans[other % Math.max(1, spans.length)]?.spanId ?? spanId,
    })),
} satisfies Record<string, LogChange>;

function isLogChange(kind: Mutation['kind']): kind is keyof typeof LOG_CHANGES {
  return Object.hasOwn(LOG_CHANGES, kind);
}

function buildMutation(kinds: readonly Mutation['kind'][]): fc.Arbitrary<Mutation> {
  return fc.record({
    kind: fc.constantFrom(...kinds),
    span: fc.nat(1_000),
    other: fc.nat(1_000),
    key: fc.nat(1_000),
    text: fc.string({ maxLength: 20 }),
  });
}

export const mutation = buildMutation([
  ...(Object.keys(CHANGES) as Mutation['kind'][]),
  ...(Object.keys(LOG_CHANGES) as Mutation['kind'][]),
]);

/** Generates changes that remove or move something and add no content from which a result could be read. */
export const loss = buildMutation([
  'dropSpan',
  'dropAttribute',
  'cutAttribute',
  'loseParent',
  'moveInTime',
  'stretch',
  'fail',
  'dropEvents',
  'rename',
  'changeScope',
  'dropLog',
  'cutLog',
  'dropLogAttribute',
]);

export function mutated(trace: TraceData, mutations: readonly Mutation[]): TraceData {
  let [spans, logs] = [[...trace.spans], [...trace.logs]];
  for (const one of mutations) {
    if (isLogChange(one.kind)) {
      logs = LOG_CHANGES[one.kind](logs, one, spans);
    } else {
      spans = CHANGES[one.kind](spans, one);
    }
  }
  return { ...trace, spans, logs };
}

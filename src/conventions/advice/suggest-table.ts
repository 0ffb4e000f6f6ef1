import {
  BUILT_IN_CONVENTIONS,
  BY_SHAPE,
  type ConventionTable,
  type TableField,
} from '../../domain/trace/convention-table.ts';
import type { Span, TraceData } from '../../domain/trace/span.ts';
import { normaliseTrace } from '../normalise-trace.ts';
import type { NormalisedSpan, SpanRole } from '../normalised-span.ts';
import { READ_BY_SHAPE } from '../shape/add-shapes.ts';
import { toldKind, wordsOf } from '../shape/words.ts';
import { readTrace } from '../traces/read-traces.ts';

/** Kinds of a table by role; the work around an agent is an agent's, too. */
const KINDS: Readonly<Partial<Record<SpanRole, string>>> = {
  agent: 'agent',
  workflow: 'agent',
  llm: 'model',
  tool: 'tool',
  retriever: 'retrieval',
};

/** Most words of a kind that a key may have; a key with more is no kind. */
const MAX_WORDS = 30;

/**
 * Makes a table of what was read by shape in spans that no convention understands. Undefined without such a span. `isWhole` is false when
 * the traces have facts that the table does not read as the reading by shape does.
 */
export function suggestTable(traces: readonly TraceData[], name?: string) {
  const spans = traces.flatMap((data) => normaliseTrace(data).spans);
  const shaped = spans.filter(({ conventions }) => conventions.has(BY_SHAPE));
  const fields = fieldsOf(shaped);
  if (Object.keys(fields).length === 0) {
    return undefined;
  }
  const match = matchOf(shaped.map(({ span }) => span));
  const kind = kindOf(shaped, spans);
  const table = { name: name ?? nameOf(match), match, ...(kind === undefined ? {} : { kind }), fields };
  const isWhole = traces.every(
    (data) => describe(data) === describe({ ...data, conventions: [...(data.conventions ?? []), table] }),
  );
  return { table, isWhole };
}

function describe(data: TraceData): string {
  const isHow = (key: string) => key === 'conventions' || key === 'warnings';
  return JSON.stringify(readTrace(data).runs, (key, value: unknown) => (isHow(key) ? undefined : value));
}

/** Lists the sources of each field, the most frequent first. */
function fieldsOf(shaped: readonly NormalisedSpan[]): ConventionTable['fields'] {
  const counts = new Map<string, Map<string, number>>();
  for (const { fields = {} } of shaped.flatMap(({ warnings }) =>
    warnings.filter(({ code }) => code === READ_BY_SHAPE),
  )) {
    for (const [field, sources] of Object.entries(fields)) {
      const known = counts.get(field) ?? new Map<string, number>();
      [sources].flat().forEach((source) => known.set(source, (known.get(source) ?? 0) + 1));
      counts.set(field, known);
    }
  }
  const listed = [...counts].map(([field, sources]): [string, string | string[]] => {
    const [first = '', ...more] = [...sources].toSorted(([, a], [, b]) => b - a).map(([source]) => source);
    return [field, more.length === 0 ? first : [first, ...more]];
  });
  return Object.fromEntries(listed) as Partial<Record<TableField, string | string[]>>;
}

/** Finds the pattern that all spans meet: their scope, the head of their keys, or their service. */
function matchOf(spans: readonly Span[]): ConventionTable['match'] {
  const [scope, ...otherScopes] = new Set(spans.map(({ scopeName }) => scopeName));
  if (scope !== undefined && scope !== '' && otherScopes.length === 0) {
    return { scope };
  }
  const heads = spans.map(
    ({ attributes }) => new Set([...attributes.keys()].map((key) => key.slice(0, key.indexOf('.') + 1))),
  );
  const common = [...(heads[0] ?? [])].find((head) => head !== '' && heads.every((one) => one.has(head)));
  return common === undefined ? { service: spans[0]?.serviceName || '*' } : { attribute: `${common}*` };
}

/** Finds the attribute whose words name the kinds: one word, one kind. */
function kindOf(shaped: readonly NormalisedSpan[], all: readonly NormalisedSpan[]): ConventionTable['kind'] {
  const keys = new Set(shaped.flatMap(({ span }) => [...span.attributes.keys()]));
  for (const key of keys) {
    const values = new Map<string, string>();
    const having = all.filter(({ span }) => span.attributes.has(key));
    const isTold = having.some(
      ({ span }) => toldKind(wordsOf(key), span.attributes.get(key) ?? '') !== undefined,
    );
    const isKind =
      isTold &&
      having.every(({ span, facts }) => {
        const value = span.attributes.get(key) ?? '';
        const kind = KINDS[facts.role ?? 'other'] ?? 'other';
        values.set(value, values.get(value) ?? kind);
        return values.get(value) === kind && values.size <= MAX_WORDS;
      });
    if (isKind) {
      return { from: /[\s"]/.test(key) ? JSON.stringify(key) : key, values: Object.fromEntries(values) };
    }
  }
  return undefined;
}

function nameOf({ scope, attribute, service }: ConventionTable['match']): string {
  const [word = ''] = /[A-Za-z0-9][\w-]*/.exec(scope ?? attribute ?? service ?? '') ?? [];
  return word === '' || BUILT_IN_CONVENTIONS.has(word) ? `own-${word || 'agents'}` : word;
}

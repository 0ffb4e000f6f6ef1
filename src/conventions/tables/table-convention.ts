import { hasKey, readText } from '../attributes.ts';
import { field as ownField, firstField, listIn } from '../json.ts';
import { plainText } from '../messages/part-reader.ts';
import {
  argumentsIn,
  fromRoleKeys,
  outcomeFacts,
  readDocuments,
  readOutcome,
  responseIn,
} from '../messages/payloads.ts';
import { openPrintedArguments } from '../messages/printed-items.ts';
import { readMessages, readSystem } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';
import { listCarriers, parseSent } from '../shape/carriers.ts';
import { readAnswered, readAsked, splitCall, splitTurn } from '../shape/values.ts';
import { wordsOf } from '../shape/words.ts';
import type { AgentSignals } from '../../domain/trace/agent-signals.ts';
import {
  type ConventionTable,
  parseSource,
  type TableField,
  type TableSource,
} from '../../domain/trace/convention-table.ts';
import type { Span } from '../../domain/trace/span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Roles by the kinds of tables. Those of a user have the first five. */
const ROLES = {
  agent: 'agent',
  model: 'llm',
  tool: 'tool',
  retrieval: 'retriever',
  other: 'container',
  workflow: 'workflow',
  embedding: 'embedding',
} as const satisfies Readonly<Record<string, SpanRole>>;

export type BuiltInKind = keyof typeof ROLES;

const compiled = new WeakMap<ConventionTable, Convention>();

/** Makes a convention of a table. The table was checked: a source that does not parse gives no fact. */
export function toConvention(table: ConventionTable): Convention {
  const known = compiled.get(table) ?? compile(table);
  compiled.set(table, known);
  return known;
}

function compile(table: ConventionTable): Convention {
  const { name, match, kind } = table;
  const fields = Object.entries(table.fields).map(([field, sources = []]): [TableField, TableSource[]] => [
    field as TableField,
    [sources].flat().flatMap(sourceOf),
  ]);
  const [from] = kind === undefined ? [] : sourceOf(kind.from);
  const all = [...(from === undefined ? [] : [from]), ...fields.flatMap(([, sources]) => sources)];
  const [scope, key, service] = [match.scope, match.attribute, match.service].map(globOf);
  return {
    name,
    detect: ({ span }) =>
      scope?.test(span.scopeName) === true ||
      service?.test(span.serviceName) === true ||
      (key !== undefined && hasKey(span.attributes, key)),
    read: (view) => readTable(view, new Map(fields), roleOf(view, { kind, from })),
    logEvents: all.flatMap(({ place, event }) => (place === 'log' ? [event] : [])),
    signals: signalsOf(match, [
      ...(from === undefined ? [] : [from]),
      ...fields.flatMap(([field, sources]) => (SHARED.has(field) ? [] : sources)),
    ]),
  };
}

/** Fields that spans of any other traffic may have, too. */
const SHARED: ReadonlySet<string> = new Set(['session', 'user', 'error'] satisfies TableField[]);

/** Lists the signals of a table: its patterns, and the places of its content when a pattern is no signal. */
function signalsOf(
  { scope, attribute, service }: ConventionTable['match'],
  sources: readonly TableSource[],
): Partial<AgentSignals> {
  const isVague =
    service !== undefined || [scope, attribute].some((pattern) => pattern?.startsWith('*') === true);
  const places = sources.filter(({ place }) => place === 'log' || isVague);
  return {
    scopePrefixes: headOf(scope),
    keyPrefixes: [attribute, ...places.map(({ place, key }) => (place === 'attribute' ? key : ''))].flatMap(
      headOf,
    ),
    eventPrefixes: places.flatMap(({ event }) => headOf(event)),
  };
}

function sourceOf(text: string): TableSource[] {
  const source = parseSource(text);
  return typeof source === 'string' ? [] : [source];
}

function globOf(pattern: string | undefined): RegExp | undefined {
  return pattern === undefined
    ? undefined
    : new RegExp(
        `^${pattern
          .split('*')
          .map((part) => part.replaceAll(/[\\^$.+?()[\]{}|]/g, '\\$&'))
          .join('.*')}$`,
        's',
      );
}

/** Returns the part of a name that a signal may have: plain characters before the first star. */
function headOf(name: string | undefined): string[] {
  const head = /^[\w .:/@-]*/.exec(name ?? '')?.[0] ?? '';
  return head === '' ? [] : [head];
}

function roleOf(
  view: SpanView,
  { kind, from }: { kind: ConventionTable['kind']; from: TableSource | undefined },
): SpanRole | undefined {
  const said = from === undefined ? undefined : readSource(view, from);
  if (kind === undefined || said === undefined) {
    return undefined;
  }
  const value = plainText(said);
  const named = Object.hasOwn(kind.values, value) ? kind.values[value] : undefined;
  return ROLES[(named ?? 'other') as BuiltInKind];
}

type Get = (field: TableField) => unknown;

function readTable(
  view: SpanView,
  fields: ReadonlyMap<TableField, readonly TableSource[]>,
  role: SpanRole | undefined,
): SpanFacts {
  const failed = view.span.statusCode === 'Error';
  /** Sources that hold the error of this span: what they hold is no answer and no result. */
  const errors = new Set((failed ? (fields.get('error') ?? []) : []).map(keyOf));
  const get: Get = (field) => {
    const sources = fields.get(field) ?? [];
    const own = field === 'error' ? sources : sources.filter((source) => !errors.has(keyOf(source)));
    return own.map((source) => readSource(view, source)).find((value) => value !== undefined);
  };
  const text = (field: TableField) => textOf(get(field));
  const error = failed || !sharesError(fields) ? text('error') : undefined;
  return {
    role,
    ...(role === 'tool' ? {} : { agent: text('agent'), ...contentFacts(get, role) }),
    ...(role === 'tool' || role === undefined ? toolFacts(get) : {}),
    agentVersion: text('agentVersion'),
    session: text('session'),
    user: text('user'),
    model: text('model'),
    usage: {
      inputTokens: countOf(get('usage.input')),
      outputTokens: countOf(get('usage.output')),
      totalTokens: countOf(get('usage.total')),
      cachedInputTokens: countOf(get('usage.cached')),
      reasoningTokens: countOf(get('usage.reasoning')),
    },
    ...(error === undefined ? {} : { error: { type: null, message: error } }),
  };
}

function keyOf({ place, event, key }: TableSource): string {
  return JSON.stringify([place, event, key]);
}

/** True when the error of a failed span stands where the answer or the result of others stands. */
function sharesError(fields: ReadonlyMap<TableField, readonly TableSource[]>): boolean {
  const errors = new Set((fields.get('error') ?? []).map(keyOf));
  const results = (['output', 'tool.result'] as const).flatMap((field) => fields.get(field) ?? []);
  return results.some((source) => errors.has(keyOf(source)));
}

function contentFacts(get: Get, role: SpanRole | undefined): SpanFacts {
  const [given, got, instructions, hits] = [get('input'), get('output'), get('system'), get('documents')];
  const documents = hits === undefined ? undefined : readDocuments(listOf(structured(hits)));
  if (role === 'retriever') {
    return { documents };
  }
  const asked = given === undefined ? {} : askedIn(given);
  const input = given === undefined ? undefined : (asked.input ?? readLoose(given, 'user'));
  const output =
    got === undefined
      ? undefined
      : (responseOf(got) ?? readLoose(got, 'assistant').flatMap(({ parts }) => parts));
  return {
    ...asked,
    ...(instructions === undefined ? {} : { system: readSystem(structured(instructions)) }),
    // One list may have both question and answer.
    ...(given === got && input !== undefined
      ? (role === 'llm' ? splitCall : splitTurn)(input)
      : { input, output }),
    documents,
  };
}

function askedIn(value: unknown): SpanFacts {
  const parsed = structured(value);
  const keyed = fromRoleKeys(parsed);
  return keyed === undefined
    ? readAsked(openCall(parsed), plainText(value))
    : { input: readMessages(keyed, 'user') };
}

function responseOf(value: unknown): SpanFacts['output'] {
  const parsed = structured(value);
  const parts = typeof parsed === 'object' ? responseIn(parsed) : undefined;
  return parts ?? readAnswered(parsed, undefined);
}

/** Reads a list of texts or of calls; any other value that is no message is a text as it stands. */
function readLoose(value: unknown, role: 'user' | 'assistant'): NormalMessage[] {
  const parsed = structured(value);
  return readMessages(Array.isArray(parsed) ? parsed : plainText(value), role);
}

function toolFacts(get: Get): SpanFacts {
  const [args, result] = [get('tool.arguments'), get('tool.result')];
  const outcome = result === undefined ? {} : outcomeFacts(readOutcome(structured(result)));
  return {
    ...outcome,
    toolName: textOf(get('tool.name')),
    toolCallId: textOf(get('tool.callId'))?.trim() ?? outcome.toolCallId,
    ...(args === undefined ? {} : { toolArgs: openPrintedArguments(openCall(structured(args))) }),
  };
}

/** Opens the arguments of a decorated function; any other value stays as it is. */
function openCall(value: unknown): unknown {
  return isRecord(value) && Array.isArray(firstField(value, 'args')) ? argumentsIn(value) : value;
}

function structured(value: unknown): unknown {
  return typeof value === 'string' ? parseSent(value) : value;
}

function listOf(value: unknown): unknown {
  return typeof value === 'string' ? [value] : value;
}

function textOf(value: unknown): string | undefined {
  return value === undefined || isRecord(value) || Array.isArray(value) ? undefined : plainText(value);
}

function countOf(value: unknown): number | null {
  const count = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
  return Number.isFinite(count) && count >= 0 ? count : null;
}

/** Reads the value of a source: a text, or what its path leads to. Undefined when it is absent, null or ''. */
export function readSource({ span, logs }: SpanView, source: TableSource): unknown {
  const { place, event, key, path } = source;
  const holders =
    place === 'attribute'
      ? [span.attributes]
      : place === 'event'
        ? span.events.filter(({ name }) => name === event).map(({ attributes }) => attributes)
        : logs
            .filter(({ eventName }) => eventName === event)
            .map(({ attributes, body }) => (key === '' ? new Map([['', body]]) : attributes));
  for (const holder of holders) {
    const text = readText(holder, key);
    const value = text === undefined ? undefined : follow(text, path);
    if (value !== undefined && value !== null && value !== '') {
      return value;
    }
  }
  return place === 'attribute' && !span.attributes.has(key) ? follow(flattened(span, key), path) : undefined;
}

function flattened(span: Span, key: string): unknown {
  const isBelow = (one: string) => one.startsWith(key) && /^[._[]/.test(one.slice(key.length));
  const below = [...span.attributes.keys()].some(isBelow) ? listCarriers(span, isBelow) : [];
  return below.find(({ text, words }) => text === undefined && words.join() === wordsOf(key).join())?.value;
}

function follow(start: unknown, path: TableSource['path']): unknown {
  let value = start;
  for (const [at, step] of path.entries()) {
    value = typeof value === 'string' ? parseSent(value) : value;
    if (step === null) {
      const items = listIn(value);
      const found = items
        .map((item) => follow(item, path.slice(at + 1)))
        .filter((item) => item !== undefined);
      return found.length === 0 ? undefined : found;
    }
    value = typeof step === 'number' ? itemOf(value, step) : ownField(value, step);
  }
  return value;
}

function itemOf(value: unknown, index: number): unknown {
  return Array.isArray(value) ? (value as unknown[])[index] : undefined;
}

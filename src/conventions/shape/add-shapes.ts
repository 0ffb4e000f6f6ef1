import type { ReadingWarning } from '../../domain/trace/agent-run.ts';
import { BY_SHAPE } from '../../domain/trace/convention-table.ts';
import type { LogRecord } from '../../domain/trace/span.ts';
import { isWithoutContent } from '../advice/not-understood.ts';
import { findFinishReason } from '../finish-reason.ts';
import { bindResults } from '../messages/bind-results.ts';
import type { Observe } from '../normalise-span.ts';
import type { NormalisedSpan, SpanFacts, SpanRole } from '../normalised-span.ts';
import { placeSteps, type Step, STEPS } from './place-steps.ts';
import { readShape, type ShapeReading } from './read-shape.ts';
import { isKindKey, meaningsOf, remembered, toldKind, wordsOf } from './words.ts';
import { isFlattened, isInfrastructure, isProtocol } from './carriers.ts';

/** Code of the warning that names the sources of a reading by form. */
export const READ_BY_SHAPE = 'read_by_shape';

/** Words that show an agent or a model, in names of spans, scopes, services and keys. */
const SIGN =
  /llm|gpt|genai|gen_ai|model|prompt|completion|agent|assistant|chatbot|copilot|(^|[^a-z])(ai|bot|rag|mcp)([^a-z]|$)/i;

/** Reads spans without content by shape, in a trace that shows an agent or a model by any sign. What conventions say stays. */
export function addShapes(
  spans: readonly NormalisedSpan[],
  logs: readonly LogRecord[],
  observe?: Observe,
): readonly NormalisedSpan[] {
  if (!showsAgent(spans)) {
    return spans;
  }
  const logsBySpan = Map.groupBy(logs, ({ spanId }) => spanId);
  const open = spans.filter((read) => isOpen(read) && (!isPlain(read) || logsBySpan.has(read.span.spanId)));
  if (open.length === 0) {
    return spans;
  }
  const steps = open.map((read): Step => {
    const own = logsBySpan.get(read.span.spanId) ?? [];
    const shape = readShape(read.span, own, read.facts.role);
    const readAs = (role: SpanRole): ShapeReading => readShape(read.span, own, undefined, role);
    return { read, shape, readAs, role: shape.facts.role, path: [], inner: [] };
  });
  placeSteps(spans, steps);
  const shaped = new Map(steps.map((step) => [step.read.span.spanId, step]));
  return spans.map((read) => {
    const one = shaped.get(read.span.spanId);
    return one === undefined || one.role === undefined
      ? read
      : withShape(one, logsBySpan.get(read.span.spanId) ?? [], observe);
  });
}

/** True for a span whose conventions found no content and do not say that it is only a step. */
function isOpen(read: NormalisedSpan): boolean {
  return (read.facts.role === undefined || STEPS.has(read.facts.role)) && isWithoutContent(read);
}

/** True for a span of a server, a client, a queue or a database that has nothing else that could be read. */
function isPlain({ span: { attributes, events }, facts }: NormalisedSpan): boolean {
  if (facts.role !== undefined || events.length > 0) {
    return false;
  }
  let isOfServer = false;
  for (const [key, value] of attributes) {
    isOfServer ||= isProtocol(key);
    if (!isInfrastructure(key) && (!isMute(key) || /^\s*[[{("]/.test(value))) {
      return false;
    }
  }
  return isOfServer;
}

/** True for a key whose plain value is no fact. */
const isMute = remembered((key): boolean => {
  const words = wordsOf(key);
  return !isKindKey(words) && !isFlattened(key) && meaningsOf(words).length === 0;
});

/** True for a trace that shows an agent or a model by any sign. */
export function showsAgent(spans: readonly NormalisedSpan[]): boolean {
  return spans.some(({ facts }) => STEPS.has(facts.role)) || spans.some(isSign);
}

function isSign({ span }: NormalisedSpan): boolean {
  if (isSignName(span.name) || isSignName(span.scopeName) || isSignName(span.serviceName)) {
    return true;
  }
  let isAsked = false;
  let isAnswered = false;
  for (const [key, value] of span.attributes) {
    const sign = signOf(key);
    if (sign === 'name' || (sign === 'kind' && STEPS.has(toldKind(wordsOf(key), value)))) {
      return true;
    }
    isAsked ||= isQuestion(key);
    isAnswered ||= isAnswer(key);
  }
  return isAsked && isAnswered;
}

const isQuestion = remembered((name): boolean => /question/i.test(name));
const isAnswer = remembered((name): boolean => /answer/i.test(name));
const isSignName = remembered((name): boolean => SIGN.test(name));

const signOf = remembered((key): 'name' | 'kind' | undefined => {
  if (isInfrastructure(key)) {
    return undefined;
  }
  return SIGN.test(key) ? 'name' : isKindKey(wordsOf(key)) ? 'kind' : undefined;
});

function withShape(
  { read, shape, role }: Step,
  logs: readonly LogRecord[],
  observe: Observe | undefined,
): NormalisedSpan {
  const given: SpanFacts = Object.fromEntries(
    Object.entries(shape.facts).filter(([, value]) => value !== undefined),
  );
  const named: SpanFacts = Object.fromEntries(
    Object.entries(read.facts).filter(([, value]) => value !== undefined),
  );
  const usage = {
    ...given.usage,
    ...Object.fromEntries(Object.entries(named.usage ?? {}).filter(([, count]) => count !== null)),
  };
  const facts: SpanFacts = { ...given, ...named, role: read.facts.role ?? role, usage };
  facts.input = facts.input && bindResults(facts.input);
  if (facts.role === 'llm') {
    facts.finishReason ??= findFinishReason({ span: read.span, logs, warnings: [] });
  }
  const fieldCount = Object.keys(shape.fields).length;
  if (read.facts.role !== undefined && isWithoutContent({ ...read, facts })) {
    return read;
  }
  const own = fieldCount === 0 ? [] : [warningOf(read, shape)];
  observe?.(BY_SHAPE, { ...given, role }, { span: read.span, logs, warnings: own });
  const conventions = new Map([...read.conventions, [BY_SHAPE, Math.max(1, fieldCount)] as const]);
  return { ...read, facts, conventions, warnings: [...read.warnings, ...own] };
}

function warningOf({ span }: NormalisedSpan, { fields, ambiguous }: ShapeReading): ReadingWarning {
  return { code: READ_BY_SHAPE, spanId: span.spanId, detail: '', fields, ambiguous };
}

/** Joins the warnings of a run's spans to one, with all sources of each field. */
export function joinShapeWarnings(warnings: readonly ReadingWarning[]): ReadingWarning[] {
  const own = warnings.filter(({ code }) => code === READ_BY_SHAPE);
  const [first] = own;
  if (first === undefined) {
    return [...warnings];
  }
  const sourcesIn = (
    pick: (warning: ReadingWarning) => Record<string, string | string[]>,
  ): [string, string[]][] => {
    const found = Map.groupBy(
      own.flatMap((warning) => Object.entries(pick(warning))),
      ([name]) => name,
    );
    return [...found].map(([name, pairs]) => [name, [...new Set(pairs.flatMap(([, source]) => source))]]);
  };
  const fields = sourcesIn((warning) => warning.fields ?? {});
  const ambiguous = sourcesIn((warning) => warning.ambiguous ?? {});
  const taken = fields.map(([name, sources]) => `${name} from ${sources.join(', ')}`);
  const left = ambiguous.map(
    ([name, sources]) => `${name} from none of ${sources.join(', ')}, which are equally likely`,
  );
  const joined: ReadingWarning = {
    code: READ_BY_SHAPE,
    spanId: first.spanId,
    detail: `no known convention describes these spans; read by the form of their values: ${[...taken, ...left].join('; ')}`,
    fields: Object.fromEntries(
      fields.map(([name, [one = '', ...more]]) => [name, more.length === 0 ? one : [one, ...more]]),
    ),
    ...(left.length === 0 ? {} : { ambiguous: Object.fromEntries(ambiguous) }),
  };
  return [joined, ...warnings.filter(({ code }) => code !== READ_BY_SHAPE)];
}

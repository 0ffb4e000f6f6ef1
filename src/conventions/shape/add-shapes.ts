import type { ReadingWarning } from '../../domain/trace/agent-run.ts';
import { BY_SHAPE } from '../../domain/trace/convention-table.ts';
import type { LogRecord } from '../../domain/trace/span.ts';
import { isWithoutContent } from '../advice/not-understood.ts';
import { findFinishReason } from '../attributes.ts';
import { bindResults, readMessages } from '../messages/read-messages.ts';
import type { Observe } from '../normalise-span.ts';
import type { NormalisedSpan, SpanFacts, SpanRole } from '../normalised-span.ts';
import { readShape, type ShapeReading } from './read-shape.ts';
import { isKindKey, meaningsOf, remembered, toldKind, wordsOf } from './words.ts';
import { isFlattened, isInfrastructure, isProtocol } from './carriers.ts';
import { listMessages } from './values.ts';

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
  const { fields, ambiguous } = shape;
  const warning = { code: READ_BY_SHAPE, spanId: read.span.spanId, detail: '', fields, ambiguous };
  const own = fieldCount === 0 ? [] : [warning];
  observe?.(BY_SHAPE, { ...given, role }, { span: read.span, logs, warnings: own });
  const conventions = new Map([...read.conventions, [BY_SHAPE, Math.max(1, fieldCount)] as const]);
  return { ...read, facts, conventions, warnings: [...read.warnings, ...own] };
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

/** Kinds of spans that are part of a run. */
const STEPS: ReadonlySet<SpanRole | undefined> = new Set(['llm', 'tool', 'agent', 'retriever', 'workflow']);

/** Most spans above a span that are looked at. */
const MAX_LEVELS = 64;

/** A span that was read by shape, with its place in the trace. */
interface Step {
  readonly read: NormalisedSpan;
  shape: ShapeReading;
  /** Reads the span as one of another kind. */
  readonly readAs: (role: SpanRole) => ShapeReading;
  role: SpanRole | undefined;
  /** Ids of the spans above, nearest first. */
  path: readonly string[];
  /** Steps below, at any depth. */
  readonly inner: Step[];
}

/** Decides what the spans are by what is around them; the role of a span that is no part of a run becomes undefined. */
function placeSteps(spans: readonly NormalisedSpan[], steps: readonly Step[]): void {
  const byId = new Map(steps.map((step) => [step.read.span.spanId, step]));
  const parents = new Map(spans.map(({ span }) => [span.spanId, span.parentSpanId]));
  const hasTools =
    steps.some((step) => step.role === 'tool' && hasOutcome(step)) ||
    spans.some(({ facts }) => facts.role === 'tool');
  const isKnown = spans.some(({ facts }) => STEPS.has(facts.role));
  for (const step of steps) {
    step.path = listAbove(step.read.span.spanId, parents);
    if (step.read.facts.role === undefined && !isShown(step, hasTools)) {
      step.role = undefined;
    }
  }
  for (const step of steps.filter(({ role, read }) => STEPS.has(role) && read.facts.role === undefined)) {
    step.path.forEach((id) => byId.get(id)?.inner.push(step));
  }
  steps.filter(({ role }) => role === 'llm').forEach(placeCall);
  steps.filter(({ role }) => role === 'tool').forEach(placeTool);
  const agents = new Set(
    [
      ...spans.map(({ span, facts }) => ({ id: span.spanId, role: facts.role })),
      ...steps.map(({ read, role }) => ({ id: read.span.spanId, role })),
    ]
      .filter(({ role }) => role === 'agent' || role === 'workflow')
      .map(({ id }) => id),
  );
  const tools = new Set(steps.filter(({ role }) => role === 'tool').map(({ read }) => read.span.spanId));
  const isAlone = !isKnown && !steps.some(({ role }) => STEPS.has(role));
  for (const step of steps.toSorted((a, b) => a.path.length - b.path.length)) {
    if (step.read.facts.role === undefined) {
      placeStep(step, agents, isAlone, tools);
    }
  }
}

function listAbove(id: string, parents: ReadonlyMap<string, string>): string[] {
  const path: string[] = [];
  let at = parents.get(id) ?? '';
  while (parents.has(at) && path.length < MAX_LEVELS && !path.includes(at)) {
    path.push(at);
    at = parents.get(at) ?? '';
  }
  return path;
}

/** True when a span shows its kind: by a fact, or by its name where it is no server, client, queue or database. */
function isShown(step: Step, hasTools: boolean): boolean {
  const { shape, role, read } = step;
  if (!shape.isSure && [...read.span.attributes.keys()].some(isProtocol)) {
    return false;
  }
  return isTold(step) || role === 'agent' || role === 'container' || (role === 'tool' && !hasTools);
}

function isTold({ shape }: Step): boolean {
  return Object.keys(shape.fields).some((name) => name !== 'session' && name !== 'user');
}

function hasTexts({ shape: { facts } }: Step): boolean {
  return facts.input !== undefined || facts.output !== undefined;
}

/** Places a model call around others: they are its attempts when they have no texts, else it is a step around them. */
function placeCall(step: Step): void {
  const calls = step.inner.filter(({ role }) => role === 'llm');
  if (calls.length === 0 || step.read.facts.role !== undefined) {
    return;
  }
  if (calls.some(hasTexts)) {
    step.role = 'container';
  } else {
    calls.forEach((call) => {
      call.role = undefined;
    });
  }
}

/** Places a tool around others: a step that hands calls to tools is none, and a tool without content inside another is its state. */
function placeTool(step: Step): void {
  const tools = step.inner.filter(({ role }) => role === 'tool');
  if (step.read.facts.role !== undefined) {
    return;
  }
  if (step.path.length === 0 && step.inner.some(({ role }) => role === 'llm')) {
    step.role = 'agent';
    step.shape = step.readAs('agent');
    return;
  }
  const { toolArgs, toolResult } = step.shape.facts;
  const asked = JSON.stringify(toolArgs) ?? '';
  const isSame = ({ shape: { facts } }: Step): boolean =>
    asked.includes(JSON.stringify(facts.toolName)) ||
    (toolResult !== undefined && JSON.stringify(facts.toolResult) === JSON.stringify(toolResult));
  const asking = readMessages(listMessages(toolArgs) ?? [], 'user').at(-1)?.parts ?? [];
  if (
    (!hasOutcome(step) && tools.length > 0) ||
    asking.some(({ type }) => type === 'tool-call') ||
    tools.some(isSame)
  ) {
    step.role = 'container';
  } else {
    tools
      .filter((tool) => !hasOutcome(tool))
      .forEach((tool) => {
        tool.role = undefined;
      });
  }
}

function hasOutcome({ shape: { facts } }: Step): boolean {
  return facts.toolArgs !== undefined || facts.toolResult !== undefined || facts.error !== undefined;
}

/** Finds the role of an agent's span without steps: one in an agent that counts a model's tokens is a model call. */
function roleOfLeaf(step: Step, agents: ReadonlySet<string>): SpanRole | undefined {
  const { model, usage } = step.shape.facts;
  const isCounted = model !== undefined && Object.values(usage ?? {}).some((count) => count !== null);
  return !isTold(step) ? undefined : isCounted && step.path.some((id) => agents.has(id)) ? 'llm' : 'agent';
}

/** Finds the root of a run: the outermost span around calls in no agent. A nameless agent in another is a step, unless a tool is between. */
function placeStep(step: Step, agents: Set<string>, isAlone: boolean, tools: ReadonlySet<string>): void {
  const { role, inner, path } = step;
  const { spanId } = step.read.span;
  const agentAbove = path.findIndex((id) => agents.has(id));
  if (role === 'agent') {
    const isPart = agentAbove >= 0 && inner.length > 0 && step.shape.facts.agent === undefined;
    const isCalled = path.slice(0, Math.max(agentAbove, 0)).some((id) => tools.has(id));
    step.role = inner.length === 0 ? roleOfLeaf(step, agents) : isPart && !isCalled ? 'container' : role;
    if (step.role !== 'agent') {
      agents.delete(spanId);
    }
    return;
  }
  if (role !== undefined && role !== 'container') {
    return;
  }
  const isAround = inner.some(
    (one) => one.role !== 'agent' && STEPS.has(one.role) && isOwn(one, spanId, agents),
  );
  const isRoot = (hasTexts(step) && (isAround || isAlone)) || (role === 'container' && isAround);
  if (agentAbove < 0 && isRoot) {
    step.role = 'agent';
    agents.add(spanId);
  }
}

function isOwn(step: Step, spanId: string, agents: ReadonlySet<string>): boolean {
  return !step.path.slice(0, step.path.indexOf(spanId)).some((id) => agents.has(id));
}

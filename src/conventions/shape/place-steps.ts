import type { NormalisedSpan, SpanRole } from '../normalised-span.ts';
import { isProtocol } from './carriers.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { ShapeReading } from './read-shape.ts';
import { listMessages } from './values.ts';

/** Kinds of spans that are part of a run. */
export const STEPS: ReadonlySet<SpanRole | undefined> = new Set([
  'llm',
  'tool',
  'agent',
  'retriever',
  'workflow',
]);

/** Most spans above a span that are looked at. */
const MAX_LEVELS = 64;

/** A span that was read by shape, with its place in the trace. */
export interface Step {
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
export function placeSteps(spans: readonly NormalisedSpan[], steps: readonly Step[]): void {
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

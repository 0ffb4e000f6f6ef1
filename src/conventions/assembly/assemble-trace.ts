import { clearTransferErrors, handoffResults, mapAsking } from './asked-calls.ts';
import type { BuiltRun } from './bind-sub-runs.ts';
import { buildRun, toRun, type TraceFacts } from './build-run.ts';
import { parentsFirst, resolveEnvelopes, takeDelegatedFacts } from './envelopes.ts';
import { planRuns } from './plan-runs.ts';
import { listContext, listIdentities } from './run-fields.ts';
import { createPlan, type RunPlan, splitInput } from './run-plan.ts';
import {
  buildTree,
  findWorkflows,
  inheritIdentity,
  inheritInput,
  notePauses,
  type SpanNode,
} from './span-tree.ts';
import { toMessages } from './to-messages.ts';
import { buildTranscript, type Transcript } from './transcript.ts';
import type { NormalisedSpan, NormalPart, SpanFacts } from '../normalised-span.ts';
import type { Steps } from '../steps.ts';
import type {
  AgentRun,
  NotScorableReason,
  ReadingOptions,
  TraceReading,
} from '../../domain/trace/agent-run.ts';
import { canonicalJson } from '../../domain/identity.ts';
import { textIn } from '../messages/read-messages.ts';
import { fillGaps } from '../normalise-span.ts';

/** Texts in comparable form. They are cached, because one span may be compared with thousands below it. */
class Texts {
  readonly #said = new Map<object, string>();
  readonly #canonical = new Map<object, string>();

  said(output: readonly NormalPart[]): string {
    const text = this.#said.get(output) ?? textIn(output).trim();
    this.#said.set(output, text);
    return text;
  }

  canonical(value: object): string {
    const text = this.#canonical.get(value) ?? canonicalJson(value);
    this.#canonical.set(value, text);
    return text;
  }
}

/** Builds the runs of a trace in order of their start, or the reason why there is none; one run per step. Knows no convention. */
export function* assembleTrace(
  traceId: string,
  normalised: readonly NormalisedSpan[],
  { modelCalls = 0 }: ReadingOptions = {},
): Steps<Partial<ModelCalls> & Pick<TraceReading, 'runs' | 'notScorable'>> {
  const tree = buildTree(normalised);
  yield;
  foldDuplicates(tree.nodes);
  inheritIdentity(tree.nodes);
  inheritInput(tree.nodes);
  notePauses(tree.nodes);
  findWorkflows(tree.nodes);
  yield;
  const plans = resolveEnvelopes(planRuns(tree.nodes));
  clearTransferErrors(plans);
  takeDelegatedFacts(plans);
  const ordered = parentsFirst(plans).toReversed();
  const asked = mapAsking(plans);
  const identities = listIdentities(ordered);
  const transfers = handoffResults(plans);
  const facts = { traceId, asked, identities, transfers };
  const built = new Map<RunPlan, BuiltRun>();
  for (const plan of ordered) {
    yield;
    const subs = plan.subs.flatMap((sub) => built.get(sub) ?? []);
    built.set(plan, yield* buildRun(plan, subs, facts));
  }
  const tops = plans.filter((plan) => plan.parent === null).sort((a, b) => a.root.order - b.root.order);
  const runs = tops.flatMap((plan) => built.get(plan)?.run ?? []);
  return {
    runs,
    notScorable: runs.length > 0 ? null : notScorableReason(tree.evaluations),
    ...(modelCalls > 0 ? yield* buildModelCalls(built, facts, modelCalls) : {}),
  };
}

function notScorableReason(evaluations: number): NotScorableReason {
  if (evaluations > 0) {
    return {
      code: 'evaluation_span',
      detail: 'the trace holds only spans of judges and scorers, which are never scored',
    };
  }
  return {
    code: 'no_agent_or_llm_span',
    detail: 'no span of this trace is an agent run or a model call that a known convention describes',
  };
}

interface ModelCalls {
  /** In order of time. */
  readonly modelCalls: AgentRun[];
  readonly modelCallsLeftOut: number;
}

/** Builds a run per model call, up to a limit, one a step: calls and results of the turn so far end the input, and the results are the context. */
function* buildModelCalls(
  built: ReadonlyMap<RunPlan, BuiltRun>,
  trace: TraceFacts,
  limit: number,
): Steps<ModelCalls> {
  const calls = [...built]
    .flatMap(([plan, { run }]) => plan.llms.map((llm) => ({ llm, plan, run })))
    .sort((a, b) => a.llm.order - b.llm.order);
  const modelCalls: AgentRun[] = [];
  for (const { llm, plan, run } of calls.slice(0, limit)) {
    yield;
    modelCalls.push(yield* buildModelCall(llm, { plan, run, trace }));
  }
  return { modelCalls, modelCallsLeftOut: calls.length - modelCalls.length };
}

interface Caller {
  readonly plan: RunPlan;
  /** Run of the agent that made the call. */
  readonly run: AgentRun;
  readonly trace: TraceFacts;
}

function* buildModelCall(llm: SpanNode, { plan: owner, run: caller, trace }: Caller): Steps<AgentRun> {
  const plan: RunPlan = { ...createPlan(llm, 'calls'), llms: [llm] };
  const transcript = yield* transcribe(llm, { input: undefined });
  const earlier = yield* transcribe(llm, { output: undefined });
  const identity = trace.identities.get(owner) ?? { session: null, user: null };
  const run = toRun({
    plan,
    subs: [],
    transcript,
    conventions: llm.conventions,
    identity,
    traceId: trace.traceId,
  });
  const { turn, inFlight } = splitInput(llm.facts.input);
  const place = {
    traceId: trace.traceId,
    spanId: llm.span.spanId,
    section: 'input' as const,
    createdAt: new Date(run.startedAt),
  };
  const input =
    inFlight.length === 0
      ? run.input
      : { ...run.input, inputMessages: toMessages([...turn, ...inFlight], place) };
  // An answer of tool calls is whole: their results come later.
  const isWhole =
    run.notScorable?.code === 'run_waiting'
      ? transcript.blocks.length > 0
      : run.notScorable?.code === 'run_incomplete' && transcript.calls.all.length > 0;
  const notScorable = isWhole ? null : run.notScorable;
  return {
    ...run,
    target: { ...run.target, kind: 'model-call' },
    agent: caller.agent,
    agentVersion: caller.agentVersion,
    input,
    context: listContext([...earlier.blocks, ...transcript.blocks], run.documents),
    scorable: notScorable === null,
    notScorable,
  };
}

function transcribe(llm: SpanNode, without: Partial<SpanNode['facts']>): Steps<Transcript> {
  const node = { ...llm, facts: { ...llm.facts, ...without } };
  return buildTranscript({
    llms: [node],
    tools: [],
    rootOrder: llm.order,
    agentOutput: [],
    isElsewhere: () => false,
  });
}

/**
 * Folds spans that describe the same thing into one: the span of a framework and the span of an instrumentation for one model
 * call, one tool call, or one agent. The folded span stays in the tree as a container, and its facts are added where the other
 * span has none.
 */
function foldDuplicates(nodes: readonly SpanNode[]): void {
  const byResponse = new Map<string, SpanNode>();
  const enclosingCall = new Map<SpanNode, SpanNode | undefined>();
  const texts = new Texts();
  foldStates(nodes);
  for (const node of nodes) {
    const parent = node.parent ?? undefined;
    const enclosing = parent === undefined ? undefined : enclosingCall.get(parent);
    const isFoldable = node.role === 'tool' || node.role === 'agent';
    if (node.role === 'llm') {
      foldModelCall(node, enclosing, { byResponse, texts });
    } else if (isFoldable && parent?.role === node.role && isSameThing(parent, node, texts)) {
      mergeCopy(parent, node);
    }
    enclosingCall.set(node, enclosingCallFor(node, enclosing));
  }
}

/** Folds the states of a tool call into the last one that knows most: its result, else its arguments. */
function foldStates(nodes: readonly SpanNode[]): void {
  const states = nodes.filter(({ facts }) => facts.stateOf !== undefined);
  const calls = Map.groupBy(
    states,
    ({ parent, facts }) => `${parent?.span.spanId ?? ''} ${facts.stateOf ?? ''}`,
  );
  for (const call of calls.values()) {
    const keeper = call.reduce((best, one) => (countKnown(one) >= countKnown(best) ? one : best));
    call.filter((one) => one !== keeper).forEach((one) => mergeCopy(keeper, one));
  }
}

function countKnown({ facts }: SpanNode): number {
  return [facts.toolArgs, facts.toolResult ?? facts.error].filter((fact) => fact !== undefined).length;
}

/** Finds the model call that spans below this one may repeat; below tools and agents a new scope begins. */
function enclosingCallFor(node: SpanNode, enclosing: SpanNode | undefined): SpanNode | undefined {
  if (node.role === 'llm') {
    return node;
  }
  return node.role === 'container' || node.role === 'other' ? enclosing : undefined;
}

function foldModelCall(
  node: SpanNode,
  enclosing: SpanNode | undefined,
  { byResponse, texts }: { byResponse: Map<string, SpanNode>; texts: Texts },
): void {
  const id = node.facts.responseId;
  const twin = id === undefined ? undefined : byResponse.get(id);
  if (twin !== undefined) {
    mergeCopy(twin, node);
  } else if (enclosing?.role === 'llm' && isSameCall(enclosing.facts, node.facts, texts)) {
    mergeCopy(enclosing, node);
  }
  if (id !== undefined && twin === undefined) {
    byResponse.set(id, node.role === 'llm' ? node : (enclosing ?? node));
  }
}

function isSameCall(outer: SpanFacts, inner: SpanFacts, texts: Texts): boolean {
  if (outer.responseId !== undefined && inner.responseId !== undefined) {
    return outer.responseId === inner.responseId;
  }
  if (outer.output === undefined || inner.output === undefined) {
    return true;
  }
  return texts.said(outer.output) === texts.said(inner.output);
}

function isSameThing(outer: SpanNode, inner: SpanNode, texts: Texts): boolean {
  const [a, b] = [outer.facts, inner.facts];
  if (outer.role === 'tool') {
    return a.toolCallId === undefined || b.toolCallId === undefined
      ? a.toolName === b.toolName
      : a.toolCallId === b.toolCallId;
  }
  return (
    a.agent === b.agent &&
    isEqualOrAbsent(a.input, b.input, texts) &&
    isEqualOrAbsent(a.output, b.output, texts)
  );
}

function isEqualOrAbsent(a: object | undefined, b: object | undefined, texts: Texts): boolean {
  return a === undefined || b === undefined || texts.canonical(a) === texts.canonical(b);
}

function mergeCopy(keeper: SpanNode, copy: SpanNode): void {
  fillGaps(keeper.facts, copy.facts);
  for (const [name, count] of copy.conventions) {
    keeper.conventions.set(name, (keeper.conventions.get(name) ?? 0) + count);
  }
  copy.role = 'container';
  copy.facts = {};
}

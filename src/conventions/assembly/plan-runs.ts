import { addAsking, listAsked } from './asked-calls.ts';
import { createPlan, MAX_AGENT_DEPTH, type RunPlan, callKey, messageKey, splitInput } from './run-plan.ts';
import type { SpanNode } from './span-tree.ts';
import type { NormalMessage, NormalPart } from '../normalised-span.ts';
import { endUnixNano } from '../../domain/trace/span.ts';

/** Position in the tree: the run, and the tool span above it. */
interface Place {
  plan: RunPlan | null;
  via: SpanNode | null;
}

const NOWHERE: Place = { plan: null, via: null };

/**
 * Assigns the spans of a trace to runs, parents before their sub-runs. The root of a run is the outermost agent span. An agent
 * below another agent's span is its sub-run. Model calls below a tool span are a sub-run of that tool call, even without an
 * agent span. Model calls outside of every agent are grouped by conversation.
 */
export function planRuns(nodes: readonly SpanNode[]): RunPlan[] {
  const free = planFreeCalls(nodes);
  const calling = callingTools(nodes);
  const places = new Map<SpanNode, Place>();
  const plans: RunPlan[] = [...new Set(free.owners.values())];
  const tops = new Map<SpanNode, SpanNode>();
  for (const node of nodes) {
    const top = node.parent === null ? node : (tops.get(node.parent) ?? node);
    tops.set(node, top);
    const above = node.parent === null ? NOWHERE : (places.get(node.parent) ?? NOWHERE);
    places.set(node, place(node, above, { free, top, calling, plans }));
  }
  for (const plan of plans) {
    for (const list of [plan.llms, plan.tools, plan.retrievers]) {
      list.sort((a, b) => a.order - b.order);
    }
    plan.subs.sort((a, b) => a.root.order - b.root.order);
  }
  return plans;
}

function callingTools(nodes: readonly SpanNode[]): Set<SpanNode> {
  const calling = new Set<SpanNode>();
  for (const node of nodes.toReversed()) {
    const bare = node.role === 'llm' || calling.has(node);
    if (bare && node.parent !== null && node.role !== 'agent' && node.role !== 'workflow') {
      calling.add(node.parent);
    }
  }
  return calling;
}

interface Planning {
  free: FreeCalls;
  top: SpanNode;
  calling: ReadonlySet<SpanNode>;
  plans: RunPlan[];
}

function place(node: SpanNode, above: Place, planning: Planning): Place {
  const root = planning.free.roots.get(node);
  if (root !== undefined) {
    planning.plans.push(root);
    return { plan: root, via: null };
  }
  if (node.role === 'agent' || node.role === 'workflow') {
    return placeAgent(node, above, planning);
  }
  if (node.role === 'tool') {
    return placeTool(node, above, planning);
  }
  if (node.role === 'llm') {
    const plan = above.plan ?? planning.free.owners.get(node) ?? null;
    plan?.llms.push(node);
    return { plan, via: above.via };
  }
  if (node.role === 'retriever') {
    const plan = above.plan ?? ownerOfFree(planning.free.groups.get(planning.top), node);
    plan?.retrievers.push(node);
  }
  return above;
}

function placeAgent(node: SpanNode, above: Place, planning: Planning): Place {
  if (above.plan !== null && above.plan.depth + 1 >= MAX_AGENT_DEPTH) {
    above.plan.tooDeep = true;
    return above;
  }
  const caller = above.plan ?? callerOf(planning.free.groups.get(planning.top), node);
  const plan = createPlan(node, 'agent', caller, above.via);
  planning.plans.push(plan);
  return { plan, via: null };
}

function placeTool(node: SpanNode, above: Place, planning: Planning): Place {
  const plan = above.plan ?? ownerOfFree(planning.free.groups.get(planning.top), node);
  if (above.via !== null) {
    return above;
  }
  plan?.tools.push(node);
  const nestsCalls = planning.calling.has(node) && (plan === null || plan.depth + 1 < MAX_AGENT_DEPTH);
  if (nestsCalls) {
    const sub = createPlan(node, 'calls', plan, plan === null ? null : node);
    planning.plans.push(sub);
    return { plan: sub, via: null };
  }
  return { plan, via: plan === null ? null : node };
}

/** Roles of spans that stand alone when an emitter does not nest its spans, or when the span around them is missing. */
const BARE = new Set<SpanNode['role']>(['llm', 'tool', 'retriever', 'embedding']);

/** Most conversations that a call is compared with; beyond that, the call begins a new one. */
const MAX_COMPARED = 64;

/** Runs of the free model calls in one tree of spans. */
interface FreeGroup {
  plans: RunPlan[];
  /** In order of time. */
  calls: { call: SpanNode; plan: RunPlan }[];
  /** Runs that requested a tool call, by the id of the call; by id, name and arguments where several runs requested the id. */
  askedBy: Map<string, RunPlan | null>;
}

/** Plans for model calls that are not below an agent span. */
interface FreeCalls {
  /** Containers with an input and an output around free model calls: each is the root of a run, though no agent. */
  roots: ReadonlyMap<SpanNode, RunPlan>;
  owners: ReadonlyMap<SpanNode, RunPlan>;
  /** By the topmost span of the tree. */
  groups: ReadonlyMap<SpanNode, FreeGroup>;
}

/** Groups free model calls: by a container around them with an input and an output, else by conversation. */
function planFreeCalls(nodes: readonly SpanNode[]): FreeCalls {
  const roots = new Map<SpanNode, RunPlan>();
  const owners = new Map<SpanNode, RunPlan>();
  const groups = new Map<SpanNode, FreeGroup>();
  const { free, bareTops } = freeCallsByTop(nodes);
  const counts = countBelow(nodes, [...free.values()].flat());
  for (const [top, calls] of free) {
    const isBare = top === bareTops[0];
    const { container, common } = isBare
      ? { container: undefined, common: calls[0] ?? top }
      : enclosing(top, counts);
    if (container !== undefined) {
      roots.set(container, createPlan(container, 'agent'));
      continue;
    }
    const group: FreeGroup = { plans: [], calls: [], askedBy: new Map() };
    const chains = listConversations(calls);
    for (const chain of chains) {
      const root = chains.length === 1 && chain.length > 1 ? common : (chain[0] ?? common);
      const plan = createPlan(root, 'calls');
      group.plans.push(plan);
      chain.forEach((call) => owners.set(call, plan));
    }
    fillGroup(group, calls, owners);
    (isBare ? bareTops : [top]).forEach((one) => groups.set(one, group));
  }
  return { roots, owners, groups };
}

function fillGroup(group: FreeGroup, calls: readonly SpanNode[], owners: Map<SpanNode, RunPlan>): void {
  const owned = calls.flatMap((call) => {
    const plan = owners.get(call);
    return plan === undefined ? [] : [{ call, plan }];
  });
  for (const { call, plan } of owned) {
    group.calls.push({ call, plan });
    listAsked([call]).forEach(({ id }) => addAsking(group.askedBy, id, plan));
  }
  for (const { call, plan } of owned) {
    const repeated = listAsked([call]).filter(({ id }) => group.askedBy.get(id) === null);
    repeated.forEach(({ id, name, args }) => addAsking(group.askedBy, `${id} ${callKey(name, args)}`, plan));
  }
}

/** Finds the run of a free tool or retriever: the run that requested it, else the run whose calls began last before it. */
function ownerOfFree(group: FreeGroup | undefined, node: SpanNode): RunPlan | null {
  if (group === undefined) {
    return null;
  }
  const asked = findAsking(group, node);
  if (asked !== null) {
    return asked;
  }
  let low = 0;
  let high = group.calls.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((group.calls[middle]?.call.order ?? 0) < node.order) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return group.calls[low - 1]?.plan ?? group.plans[0] ?? null;
}

/** Finds the run of free calls that an agent works for: the last model call that ended before the agent began called a tool. */
function callerOf(group: FreeGroup | undefined, { span: { startUnixNano } }: SpanNode): RunPlan | null {
  const last = group?.calls.findLast(({ call }) => endUnixNano(call.span) <= startUnixNano);
  const isOpen = last?.call.facts.output?.some(
    (part) => part.type === 'tool-call' && part.providerExecuted !== true,
  );
  return isOpen === true ? (last?.plan ?? null) : null;
}

function findAsking({ askedBy }: FreeGroup, { facts }: SpanNode): RunPlan | null {
  const { toolCallId: id = '', toolName = '', toolArgs } = facts;
  const byId = askedBy.get(id);
  return byId === null ? (askedBy.get(`${id} ${callKey(toolName, toolArgs)}`) ?? null) : (byId ?? null);
}

/**
 * Groups the model calls without an agent, workflow or tool above them by the topmost span of their tree, in order. Calls that stand
 * alone are one group, under the first call or tool that does.
 */
function freeCallsByTop(nodes: readonly SpanNode[]) {
  const bareTops = nodes.filter((node) => node.parent === null && (BARE.has(node.role) || isToolStep(node)));
  const bare = new Set(bareTops);
  const topByNode = new Map<SpanNode, SpanNode | undefined>();
  const calls = new Map<SpanNode, SpanNode[]>();
  for (const node of nodes) {
    const closed = node.role === 'agent' || node.role === 'workflow' || node.role === 'tool';
    const top = node.parent === null ? (bare.has(node) ? bareTops[0] : node) : topByNode.get(node.parent);
    topByNode.set(node, closed ? undefined : top);
    if (node.role === 'llm' && top !== undefined) {
      const list = calls.get(top) ?? [];
      list.push(node);
      calls.set(top, list);
    }
  }
  for (const list of calls.values()) {
    list.sort((a, b) => a.order - b.order);
  }
  return { free: calls, bareTops };
}

/** True for a step around tools only, by an emitter that does not nest its spans. */
function isToolStep({ role, children }: SpanNode): boolean {
  return role === 'container' && children.length > 0 && children.every((child) => child.role === 'tool');
}

function countBelow(nodes: readonly SpanNode[], calls: readonly SpanNode[]): Map<SpanNode, number> {
  const counts = new Map<SpanNode, number>(calls.map((call) => [call, 1]));
  for (const node of nodes.toReversed()) {
    const count = counts.get(node);
    if (count !== undefined && node.parent !== null) {
      counts.set(node.parent, (counts.get(node.parent) ?? 0) + count);
    }
  }
  return counts;
}

/** Finds the lowest span above all free calls, and on the way there the outermost container with an input and an output. */
function enclosing(
  top: SpanNode,
  counts: ReadonlyMap<SpanNode, number>,
): { container: SpanNode | undefined; common: SpanNode } {
  const all = counts.get(top);
  let container: SpanNode | undefined;
  let common = top;
  for (let next: SpanNode | undefined = top; next !== undefined;) {
    common = next;
    const { input, output } = common.facts;
    if (common.role === 'container' && input !== undefined && output !== undefined) {
      container ??= common;
    }
    next = common.role === 'llm' ? undefined : common.children.find((child) => counts.get(child) === all);
  }
  return { container, common };
}

interface Chain {
  calls: SpanNode[];
  keys: string[];
}

/**
 * Groups calls by conversation turn. A call continues an earlier call when its input repeats the input of the earlier one, or
 * when its input contains the result of a tool call that the earlier one requested (maybe alone, when the provider stores the
 * rest).
 */
function listConversations(calls: readonly SpanNode[]): SpanNode[][] {
  const chains: Chain[] = [];
  const byTurn = new Map<string, Chain[]>();
  const askedBy = new Map<string, Chain>();
  const keyed = new Map<readonly NormalMessage[], { keys: string[]; turn: string }>();
  for (const call of calls) {
    const input = call.facts.input ?? [];
    const { keys, turn } = keyed.get(input) ?? buildKeys(input);
    keyed.set(input, { keys, turn });
    const known = byTurn.get(turn) ?? [];
    const last = chains.at(-1);
    const empty = keys.length === 0 || last?.keys.length === 0;
    // After a transfer, another agent continues under other instructions.
    const asker = findAsker(turn === '[]' ? input : splitInput(input).inFlight, turn, askedBy);
    let chain =
      asker ?? (empty ? last : known.slice(-MAX_COMPARED).findLast((one) => isContinuation(keys, one.keys)));
    if (chain === undefined) {
      chain = { calls: [], keys };
      chains.push(chain);
      byTurn.set(turn, [...known.slice(1 - MAX_COMPARED), chain]);
    }
    chain.calls.push(call);
    chain.keys = keys.length > chain.keys.length ? keys : chain.keys;
    for (const id of listIds(call.facts.output ?? [])) {
      askedBy.set(id, chain).set(turn + id, chain);
    }
  }
  return chains.map((chain) => chain.calls);
}

function buildKeys(input: readonly NormalMessage[]): { keys: string[]; turn: string } {
  return {
    keys: input.map(messageKey),
    turn: JSON.stringify(splitInput(input).turn.map(messageKey)),
  };
}

/** Finds the group that requested the call whose result is in this input: of several with one id, the group with this turn, else the latest. */
function findAsker(
  input: readonly NormalMessage[],
  turn: string,
  askedBy: ReadonlyMap<string, Chain>,
): Chain | undefined {
  const ids = input.flatMap((message) => listIds(message.parts));
  const find = (start: string): Chain | undefined =>
    ids.map((id) => askedBy.get(start + id)).find((chain) => chain !== undefined);
  return find(turn) ?? find('');
}

function listIds(parts: readonly NormalPart[]): string[] {
  return parts.flatMap((part) =>
    (part.type === 'tool-call' || part.type === 'tool-result') && part.id !== null ? [part.id] : [],
  );
}

function isContinuation(keys: readonly string[], earlier: readonly string[]): boolean {
  return earlier === keys || earlier.every((key, index) => keys[index] === key);
}

import { callerOf, type FreeCalls, ownerOfFree, planFreeCalls } from './free-calls.ts';
import { MAX_AGENT_DEPTH, createPlan, type RunPlan } from './run-plan.ts';
import type { SpanNode } from './span-tree.ts';

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

/** Lists tool spans with a model call below them that is in no agent span. */
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

/** Assigns a node to its run, and returns the position for the nodes below it. */
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

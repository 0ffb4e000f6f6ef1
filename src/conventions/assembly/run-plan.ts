import type { SpanNode } from './span-tree.ts';

/** Deepest nesting of agents; a deeper agent is read as part of the agent at this depth. */
export const MAX_AGENT_DEPTH = 16;

/** Spans of one agent run, before any content is read. */
export interface RunPlan {
  root: SpanNode;
  /** `calls`: model calls without an agent span around them. `envelope`: several agents, one after the other, on one input. */
  kind: 'agent' | 'calls' | 'envelope';
  /** Model calls in order of time; tools and retrievers have the same order. Spans of nested agents are not included. */
  llms: SpanNode[];
  tools: SpanNode[];
  retrievers: SpanNode[];
  parent: RunPlan | null;
  /** The tool span that this run is below, when it is a sub-run. */
  via: SpanNode | null;
  subs: RunPlan[];
  depth: number;
  /** For an envelope: results of its members' tools, which appear as user messages but are not from the user. */
  relayed: ReadonlySet<unknown>;
  /** True when agents below were too deep and were read as part of this run. */
  tooDeep: boolean;
}

export function createPlan(
  root: SpanNode,
  kind: RunPlan['kind'],
  parent: RunPlan | null = null,
  via: SpanNode | null = null,
): RunPlan {
  const depth = parent === null ? 0 : parent.depth + 1;
  const plan: RunPlan = {
    root,
    kind,
    llms: [],
    tools: [],
    retrievers: [],
    parent,
    via,
    subs: [],
    depth,
    relayed: new Set(),
    tooDeep: false,
  };
  parent?.subs.push(plan);
  return plan;
}

export function firstInput(plan: RunPlan): NonNullable<SpanNode['facts']['input']> {
  const own = plan.root.facts.input;
  if (own !== undefined && own.length > 0) {
    return own;
  }
  return plan.llms.find((llm) => llm.facts.input !== undefined)?.facts.input ?? [];
}

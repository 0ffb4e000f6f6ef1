import type { SpanNode } from './span-tree.ts';

/** Agents nested deeper than this count as part of the agent at this depth. */
export const MAX_AGENT_DEPTH = 16;

/** Spans that make up one agent run, before any content is read. */
export interface RunPlan {
  root: SpanNode;
  /** `calls`: model calls without an agent's span around them. `envelope`: several agents in turn on one input. */
  kind: 'agent' | 'calls' | 'envelope';
  /** In order of time, as are the tools and retrievers. Nested agents' spans are not among them. */
  llms: SpanNode[];
  tools: SpanNode[];
  retrievers: SpanNode[];
  parent: RunPlan | null;
  /** The tool span that this run is below, when it is a sub-run. */
  via: SpanNode | null;
  subs: RunPlan[];
  depth: number;
  /** Of an envelope: what its members' tools returned; no member's user ever said that. */
  relayed: ReadonlySet<unknown>;
  /** Agents below were too deep and were read as part of this run. */
  tooDeep: boolean;
}

export function newPlan(
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

/** Input of a run, from its agent span or its first model call. */
export function firstInput(plan: RunPlan): NonNullable<SpanNode['facts']['input']> {
  const own = plan.root.facts.input;
  if (own !== undefined && own.length > 0) {
    return own;
  }
  return plan.llms.find((llm) => llm.facts.input !== undefined)?.facts.input ?? [];
}

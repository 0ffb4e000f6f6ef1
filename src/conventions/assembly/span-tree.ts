import type { NormalisedSpan, SpanFacts, SpanRole } from '../normalised-span.ts';
import { compareValues } from '../../domain/compare-values.ts';
import { endUnixNano, type Span } from '../../domain/trace/span.ts';

/** A span with its place in the trace. `role` and `facts` may change while duplicates are folded. */
export interface SpanNode {
  readonly span: Span;
  readonly normalised: NormalisedSpan;
  role: SpanRole;
  facts: SpanFacts;
  parent: SpanNode | null;
  children: SpanNode[];
  /** True when the span names a parent that is not in the trace. */
  readonly orphaned: boolean;
  /** Position in the trace: by start, then end, then id; never by arrival. */
  readonly order: number;
  /** Session and user of this span or of the nearest span above with them; set by `inheritIdentity`. */
  inherited: { session: string | undefined; user: string | undefined };
  /** Latest end of a step, at or below this span and not inside an agent below it, that paused its run; 0 without one. */
  pausedUntil: bigint;
  /** Conventions that read this span and the spans folded into it. */
  conventions: Map<string, number>;
}

/** Nodes of a trace, parents before their children. */
interface SpanTree {
  readonly nodes: readonly SpanNode[];
  /** Number of spans of judges and scorers that were left out. */
  readonly evaluations: number;
}

/** Builds the tree, linear but for the sort. A missing parent makes a root, cycles are cut at their earliest span, judges' subtrees left out. */
export function buildTree(normalised: readonly NormalisedSpan[]): SpanTree {
  const sorted = [...normalised].sort((a, b) => comparePlace(a.span, b.span));
  const byId = new Map(sorted.map((item) => [item.span.spanId, item]));
  const nodes = sorted.map((item, order): SpanNode => ({
    span: item.span,
    normalised: item,
    role: item.facts.role ?? 'other',
    facts: { ...item.facts },
    parent: null,
    children: [],
    orphaned: item.span.parentSpanId !== '' && !byId.has(item.span.parentSpanId),
    order,
    inherited: { session: undefined, user: undefined },
    pausedUntil: 0n,
    conventions: new Map(item.conventions),
  }));
  const nodeById = new Map(nodes.map((node) => [node.span.spanId, node]));
  for (const node of nodes) {
    const parent = nodeById.get(node.span.parentSpanId);
    if (parent !== undefined && parent !== node) {
      node.parent = parent;
      parent.children.push(node);
    }
  }
  return walk(nodes);
}

function comparePlace(a: Span, b: Span): number {
  return (
    compareValues(a.startUnixNano, b.startUnixNano) ||
    compareValues(endUnixNano(a), endUnixNano(b)) ||
    compareValues(a.spanId, b.spanId)
  );
}

function walk(sorted: readonly SpanNode[]): SpanTree {
  const visited = new Set<SpanNode>();
  const nodes: SpanNode[] = [];
  let evaluations = 0;
  const visit = (root: SpanNode): void => {
    const stack = [{ node: root, skipped: false }];
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      const skipped = top.skipped || top.node.role === 'evaluation';
      visited.add(top.node);
      if (skipped) {
        evaluations++;
      } else {
        nodes.push(top.node);
      }
      for (const child of top.node.children.toReversed()) {
        if (!visited.has(child)) {
          stack.push({ node: child, skipped });
        }
      }
    }
  };
  sorted.filter((node) => node.parent === null).forEach(visit);
  for (const node of sorted) {
    if (!visited.has(node)) {
      const root = earliestInCycle(node);
      cutFromParent(root);
      visit(root);
    }
  }
  return { nodes, evaluations };
}

/** Finds the earliest span of a cycle. A node without a root above it is in a cycle of parents or below one. */
function earliestInCycle(node: SpanNode): SpanNode {
  const path = new Set<SpanNode>();
  let next = node;
  while (!path.has(next) && next.parent !== null) {
    path.add(next);
    next = next.parent;
  }
  const chain = [...path];
  const cycle = chain.slice(chain.indexOf(next));
  return cycle.reduce((first, one) => (one.order < first.order ? one : first), next);
}

function cutFromParent(node: SpanNode): void {
  const { parent } = node;
  node.parent = null;
  if (parent !== null) {
    parent.children = parent.children.filter((child) => child !== node);
  }
}

/** Copies session and user to the spans below; `nodes` has parents before their children. */
export function inheritIdentity(nodes: readonly SpanNode[]): void {
  for (const node of nodes) {
    node.inherited = {
      session: node.facts.session ?? node.parent?.inherited.session,
      user: node.facts.user ?? node.parent?.inherited.user,
    };
  }
}

/** Tells the spans above a step that it paused the run; `nodes` has parents before their children. */
export function notePauses(nodes: readonly SpanNode[]): void {
  for (const node of nodes.toReversed()) {
    const isStep = node.role === 'container' || node.role === 'other' || node.role === 'workflow';
    const end = isStep && node.facts.halt === 'waiting' ? endUnixNano(node.span) : 0n;
    node.pausedUntil = later(node.pausedUntil, end);
    if (node.parent !== null && node.role !== 'agent' && node.role !== 'tool') {
      node.parent.pausedUntil = later(node.parent.pausedUntil, node.pausedUntil);
    }
  }
}

function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** Gives a model call without an input the input of the container around it: some emitters record messages on the loop only. */
export function inheritInput(nodes: readonly SpanNode[]): void {
  const given = new Map<SpanNode, SpanNode['facts']['input']>();
  for (const node of nodes) {
    const above = node.parent === null ? undefined : given.get(node.parent);
    if (node.role === 'llm' && above !== undefined) {
      node.facts.input ??= above;
    }
    if (node.role === 'container') {
      given.set(node, node.facts.input ?? above);
    }
  }
}

/** Marks workflows: containers with input or output around several agents (crews, graphs). One without them (a session) only groups runs. */
export function findWorkflows(nodes: readonly SpanNode[]): void {
  const agents = countAgents(nodes);
  const inside = new Set<SpanNode>();
  for (const node of nodes) {
    const isInside = node.parent !== null && inside.has(node.parent);
    if (!isInside && node.role === 'container' && hasContent(node) && (agents.get(node) ?? 0) > 1) {
      node.role = 'workflow';
    }
    if (isInside || isAgent(node) || node.role === 'tool') {
      inside.add(node);
    }
  }
}

function isAgent(node: SpanNode): boolean {
  return node.role === 'agent' || node.role === 'workflow';
}

function hasContent({ facts }: SpanNode): boolean {
  return facts.input !== undefined || facts.output !== undefined;
}

/** Counts the agents below each span, without agents below agents or tools. */
function countAgents(nodes: readonly SpanNode[]): Map<SpanNode, number> {
  const agents = new Map<SpanNode, number>();
  for (const node of nodes.toReversed()) {
    const below = node.role === 'tool' ? 0 : (agents.get(node) ?? 0);
    const count = isAgent(node) ? 1 : below;
    if (count > 0 && node.parent !== null) {
      agents.set(node.parent, (agents.get(node.parent) ?? 0) + count);
    }
  }
  return agents;
}

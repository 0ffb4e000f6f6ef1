import type { SpanNode } from './span-tree.ts';

/**
 * Marks workflows: a container with an input or an output that runs several agents is their envelope (a crew, a team, a graph
 * of agents). A container without input and output of its own (a session) only groups independent runs.
 */
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

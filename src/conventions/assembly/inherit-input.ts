import type { SpanNode } from './span-tree.ts';

/**
 * Gives a model call without an input the input of the container around it: some emitters record the messages on the loop, not
 * on each call. Parents come before children in `nodes`.
 */
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

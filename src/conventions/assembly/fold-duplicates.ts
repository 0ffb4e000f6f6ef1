import { canonicalJson } from '../../domain/identity.ts';
import { textIn } from '../messages/read-messages.ts';
import { fillGaps } from '../normalise-span.ts';
import type { NormalPart, SpanFacts } from '../normalised-span.ts';
import type { SpanNode } from './span-tree.ts';

/**
 * Folds spans that describe the same thing into one: the span of a framework and the span of an instrumentation for one model
 * call, one tool call, or one agent. The folded span stays in the tree as a container, and its facts are added where the other
 * span has none.
 */
export function foldDuplicates(nodes: readonly SpanNode[]): void {
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

function mergeCopy(keeper: SpanNode, copy: SpanNode): void {
  fillGaps(keeper.facts, copy.facts);
  for (const [name, count] of copy.conventions) {
    keeper.conventions.set(name, (keeper.conventions.get(name) ?? 0) + count);
  }
  copy.role = 'container';
  copy.facts = {};
}

import { looksLikeAgent } from '../domain/agent-signals.ts';
import { AGENT_SIGNALS } from './agent-signals.ts';
import type { Attributes, Span } from '../domain/span.ts';

/** Mark in `Truncated` of a span whose place in the tree alone was kept. */
export const STUB_MARK = 'Span';

/** Attributes that mean something on a span of any kind: who used the agent, how it failed, what was thought of it. */
const KEPT_KEYS: ReadonlySet<string> = new Set(['session.id', 'user.id', 'enduser.id', 'error.type']);
const KEPT_WORD = 'feedback';

/** Returns true for an attribute that stays on a stub. */
export function isKeptKey(key: string): boolean {
  return KEPT_KEYS.has(key) || key.includes(KEPT_WORD);
}

/**
 * Returns true when a span's content can be of use: it belongs to an agent or a model call. A superset, decided without its
 * values.
 */
export function hasUsefulContent(span: Span): boolean {
  return looksLikeAgent(
    {
      scopeName: span.scopeName,
      attributeKeys: span.attributes.keys(),
      eventNames: span.events.map((event) => event.name),
    },
    AGENT_SIGNALS,
  );
}

/** Builds the stub of a span without useful content: ids, times, names, status and resource, so that the tree stays whole. */
export function buildStub(span: Span): Span {
  return {
    ...span,
    traceState: '',
    attributes: readKept(span.attributes),
    events: [],
    links: [],
    droppedAttributesCount: 0,
    truncated: [STUB_MARK],
  };
}

function readKept(attributes: Attributes): Attributes {
  return new Map([...attributes].filter(([key]) => isKeptKey(key)));
}

import { looksLikeAgent } from '../domain/agent-signals.ts';
import { AGENT_SIGNALS } from './agent-signals.ts';
import type { Attributes, Span } from '../domain/span.ts';

/** Mark in `Truncated` of a stub: only the span's place in the tree was kept. */
export const STUB_MARK = 'Span';

/** Attributes that have a meaning on a span of any kind: the user, the failure, feedback. */
const KEPT_KEYS: ReadonlySet<string> = new Set(['session.id', 'user.id', 'enduser.id', 'error.type']);
const KEPT_WORD = 'feedback';

/** True for an attribute that stays on a stub. */
export function isKeptKey(key: string): boolean {
  return KEPT_KEYS.has(key) || key.includes(KEPT_WORD);
}

/**
 * True when the content of a span may be useful: it belongs to an agent or a model call. Looks at names only, and accepts too
 * much rather than too little.
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

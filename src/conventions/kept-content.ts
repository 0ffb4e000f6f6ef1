import { type AgentSignals, looksLikeAgent } from '../domain/trace/agent-signals.ts';
import { AGENT_SIGNALS } from './agent-signals.ts';
import type { LogRecord, Span } from '../domain/trace/span.ts';
import { isMovedContent } from './advice/moved-content.ts';

/** Mark in `Truncated` of a stub: only the span's place in the tree was kept. */
export const STUB_MARK = 'Span';

/** Attributes that have a meaning on a span of any kind: the user, the failure, feedback. */
const KEPT_KEYS: ReadonlySet<string> = new Set(['session.id', 'user.id', 'enduser.id', 'error.type']);
const KEPT_WORD = 'feedback';

export function isKeptKey(key: string): boolean {
  return KEPT_KEYS.has(key) || key.includes(KEPT_WORD);
}

/** Returns true for the name of an event that tells feedback: its span or log record is kept. */
export function isKeptEvent(name: string): boolean {
  return name.includes(KEPT_WORD);
}

/** Returns true for a log record of an agent or a model call, or with feedback. */
export function isUsefulLog(log: LogRecord, signals: AgentSignals = AGENT_SIGNALS): boolean {
  const { scopeName, attributes, eventName } = log;
  return (
    isMovedContent(log) ||
    isKeptEvent(eventName) ||
    looksLikeAgent({ scopeName, attributeKeys: attributes.keys(), eventNames: [eventName] }, signals) ||
    [...attributes.keys()].some((key) => key.includes(KEPT_WORD))
  );
}

/** True when the content of a span may be useful. Looks at names only, and accepts too much rather than too little. */
export function hasUsefulContent(span: Span, signals: AgentSignals = AGENT_SIGNALS): boolean {
  const eventNames = span.events.map((event) => event.name);
  return (
    eventNames.some(isKeptEvent) ||
    looksLikeAgent({ scopeName: span.scopeName, attributeKeys: span.attributes.keys(), eventNames }, signals)
  );
}

/** Builds the stub of a span without useful content: ids, times, names, status and resource, so that the tree stays whole. */
export function buildStub(span: Span): Span {
  return {
    ...span,
    traceState: '',
    attributes: new Map([...span.attributes].filter(([key]) => isKeptKey(key))),
    events: [],
    links: [],
    droppedAttributesCount: 0,
    truncated: [STUB_MARK],
  };
}

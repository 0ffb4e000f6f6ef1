import type { NormalisedSpan } from '../normalised-span.ts';
import type { NotUnderstood } from '../../domain/trace/agent-run.ts';
import type { Attributes, Span, TraceData } from '../../domain/trace/span.ts';

/** Most spans that a reading lists as not understood, and most keys of each. */
const MAX_NOT_UNDERSTOOD = 50;
const MAX_KEYS = 30;

/** Prefixes of keys that only agent and model instrumentations use. */
const AGENT_KEYS =
  /^(gen_ai\.|llm\.|ai\.(?!azure)|openinference\.|traceloop\.|langfuse\.|langsmith\.|mastra\.|mlflow\.span|gcp\.vertex\.agent\.|genkit:|pydantic_ai\.|crewai\.|haystack\.|koog\.|spring\.ai\.|lk\.|lmnr\.|smolagents\.|claude_code\.|agent_framework\.|braintrust\.|flue\.|voltagent\.)/;

/** True for a key that only agent and model instrumentations use. */
export function isAgentKey(key: string): boolean {
  return AGENT_KEYS.test(key);
}

/** Operations that are known not to be part of a run. */
const QUIET_OPERATIONS = new Set(['create_agent', 'create_memory_store']);

/** Finds spans that look like spans of an agent or a model, but that no convention can read. */
export function findNotUnderstood(normalised: readonly NormalisedSpan[]): NotUnderstood[] {
  const found: NotUnderstood[] = [];
  for (const { span, facts } of normalised) {
    if (found.length >= MAX_NOT_UNDERSTOOD) {
      break;
    }
    const operation = span.attributes.get('gen_ai.operation.name');
    if (facts.role !== undefined || (operation !== undefined && QUIET_OPERATIONS.has(operation))) {
      continue;
    }
    const keys = [...span.attributes.keys()].filter(isAgentKey);
    if (keys.length > 0) {
      found.push({
        spanId: span.spanId,
        name: span.name,
        service: span.serviceName,
        scope: span.scopeName,
        reason: `${
          operation === undefined
            ? 'no known convention describes what this span is'
            : `gen_ai.operation.name "${operation}" is not a known operation`
        }${span.truncated === undefined ? '' : `; truncated when it was stored: ${span.truncated.join(', ')}`}`,
        attributes: keys.sort().slice(0, MAX_KEYS),
      });
    }
  }
  return found;
}

/** Most keys that are counted separately, and most that are listed. */
const MAX_COUNTED = 300;
const MAX_LISTED = 30;

/** A key of agents and models that no convention read, on any span. */
export interface UnreadAttribute {
  /** The key with stars for indexes: `llm.tools.*.tool.json_schema`. */
  key: string;
  spans: number;
  /** Total length of its values in UTF-16 units; the longest is most likely content. */
  chars: number;
}

/** Keys that were read from watched attributes. */
const askedByCopy = new WeakMap<Attributes, ReadonlySet<string>>();

/** Returns the trace with attributes that remember which keys were read, for `createUnread`. */
export function watched(data: TraceData): TraceData {
  return { ...data, spans: data.spans.map((span) => ({ ...span, attributes: watch(span.attributes) })) };
}

function watch(attributes: Attributes): Attributes {
  const copy = new Map(attributes);
  const asked = new Set<string>();
  copy.get = (key) => {
    asked.add(key);
    return attributes.get(key);
  };
  copy.has = (key) => {
    asked.add(key);
    return attributes.has(key);
  };
  askedByCopy.set(copy, asked);
  return copy;
}

/** Collects the keys that no convention read on the added spans. A key that was read on one of them counts as read. */
export function createUnread(): { add(span: Span): void; result(): UnreadAttribute[] } {
  const unread = new Map<string, UnreadAttribute>();
  const read = new Set<string>();
  return {
    add({ attributes }) {
      const asked = askedByCopy.get(attributes);
      const here = new Set<UnreadAttribute>();
      for (const [name, value] of attributes) {
        const key = isAgentKey(name) ? name.replace(/\.\d+(?=\.|$)/g, '.*') : undefined;
        const isNew = key !== undefined && !read.has(key) && !unread.has(key);
        if (key === undefined || (isNew && read.size + unread.size >= MAX_COUNTED)) {
          continue;
        }
        if (asked?.has(name) === true) {
          read.add(key);
        } else {
          const one = unread.get(key) ?? { key, spans: 0, chars: 0 };
          one.chars += value.length;
          unread.set(key, one);
          here.add(one);
        }
      }
      here.forEach((one) => void one.spans++);
    },
    result: () =>
      [...unread.values()]
        .filter(({ key }) => !read.has(key))
        .toSorted((a, b) => b.chars - a.chars || (a.key < b.key ? -1 : 1))
        .slice(0, MAX_LISTED),
  };
}

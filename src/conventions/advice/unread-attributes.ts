import type { Attributes, Span, TraceData } from '../../domain/trace/span.ts';
import { isAgentKey } from './not-understood.ts';

/** Most keys that are counted separately, and most that are listed. */
const MAX_KEYS = 300;
const MAX_LISTED = 30;

/** A key of agents and models that no convention read, on any span. */
export interface UnreadAttribute {
  /** The key with stars for indexes: `llm.choices.*.finish_reason`. */
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
        if (key === undefined || (isNew && read.size + unread.size >= MAX_KEYS)) {
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

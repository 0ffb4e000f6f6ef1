import type { TableSource } from '../../domain/trace/convention-table.ts';
import type { Span } from '../../domain/trace/span.ts';
import { readText } from '../attributes.ts';
import { field, listIn } from '../json.ts';
import { listCarriers, parseSent } from '../shape/carriers.ts';
import { wordsOf } from '../shape/words.ts';
import type { SpanView } from '../normalised-span.ts';

/** Reads the value of a source: a text, or what its path leads to. Undefined when it is absent, null or ''. */
export function readSource({ span, logs }: SpanView, source: TableSource): unknown {
  const { place, event, key, path } = source;
  const holders =
    place === 'attribute'
      ? [span.attributes]
      : place === 'event'
        ? span.events.filter(({ name }) => name === event).map(({ attributes }) => attributes)
        : logs
            .filter(({ eventName }) => eventName === event)
            .map(({ attributes, body }) => (key === '' ? new Map([['', body]]) : attributes));
  for (const holder of holders) {
    const text = readText(holder, key);
    const value = text === undefined ? undefined : follow(text, path);
    if (value !== undefined && value !== null && value !== '') {
      return value;
    }
  }
  return place === 'attribute' && !span.attributes.has(key) ? follow(flattened(span, key), path) : undefined;
}

/** Puts together a list or an object of which each field is an attribute. */
function flattened(span: Span, key: string): unknown {
  const isBelow = (one: string) => one.startsWith(key) && /^[._[]/.test(one.slice(key.length));
  const below = [...span.attributes.keys()].some(isBelow) ? listCarriers(span, isBelow) : [];
  return below.find(({ text, words }) => text === undefined && words.join() === wordsOf(key).join())?.value;
}

function follow(start: unknown, path: TableSource['path']): unknown {
  let value = start;
  for (const [at, step] of path.entries()) {
    value = typeof value === 'string' ? parseSent(value) : value;
    if (step === null) {
      const items = listIn(value);
      const found = items
        .map((item) => follow(item, path.slice(at + 1)))
        .filter((item) => item !== undefined);
      return found.length === 0 ? undefined : found;
    }
    value = typeof step === 'number' ? itemOf(value, step) : field(value, step);
  }
  return value;
}

function itemOf(value: unknown, index: number): unknown {
  return Array.isArray(value) ? (value as unknown[])[index] : undefined;
}

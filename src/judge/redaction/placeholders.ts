/** Placeholders for values: equal values get equal placeholders, so that two redacted texts can still be compared. */
export interface Placeholders {
  /** Returns `[LABEL_n]` for a value, and counts it. */
  of(label: string, value: string): string;
  /** Reserves the placeholders that the text itself contains: their numbers are never used for values. */
  reserveIn(text: string): void;
  readonly count: number;
}

const PLACEHOLDER = /\[([A-Z][A-Z0-9_]*)_(\d{1,9})\]/g;

/**
 * Creates placeholders. It remembers at most `maxValues` values and `maxValues` reserved placeholders, and forgets the oldest.
 */
export function createPlaceholders(maxValues: number): Placeholders {
  const byValue = new Map<string, string>();
  const issued = new Set<string>();
  const foreign = new Set<string>();
  const next = new Map<string, number>();
  let count = 0;

  function issue(label: string): string {
    for (;;) {
      const number = (next.get(label) ?? 0) + 1;
      next.set(label, number);
      const placeholder = `[${label}_${number}]`;
      if (!foreign.has(placeholder)) {
        return placeholder;
      }
    }
  }

  return {
    of(label, value) {
      count += 1;
      const known = byValue.get(value);
      if (known !== undefined) {
        return known;
      }
      const placeholder = issue(label);
      byValue.set(value, placeholder);
      issued.add(placeholder);
      forgetOldest(byValue, maxValues, ([, old]) => issued.delete(old));
      return placeholder;
    },
    reserveIn(text) {
      for (const [placeholder] of text.matchAll(PLACEHOLDER)) {
        if (!issued.has(placeholder)) {
          foreign.add(placeholder);
        }
      }
      while (foreign.size > maxValues) {
        foreign.delete(foreign.values().next().value ?? '');
      }
    },
    get count() {
      return count;
    },
  };
}

function forgetOldest(
  map: Map<string, string>,
  maxSize: number,
  forgotten: (entry: [string, string]) => void,
): void {
  for (const entry of map) {
    if (map.size <= maxSize) {
      return;
    }
    map.delete(entry[0]);
    forgotten(entry);
  }
}

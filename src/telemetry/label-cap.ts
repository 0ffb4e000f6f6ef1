/** Label value for all values above the limit. */
export const OTHER = 'other';

const MAX_VALUES = 100;
const MAX_CHARS = 120;

/** Returns the value of a label in metrics: the value cut to 120 characters, or `other` above the limit of values. */
export type LabelCap = (metric: string, label: string, value: string) => string;

/**
 * Limits the number of series of a metric: each label gets at most 100 values, for any names of configurations, models and
 * topics.
 */
export function createLabelCap(maxValues: number = MAX_VALUES): LabelCap {
  const known = new Map<string, Set<string>>();
  return (metric, label, value) => {
    const key = `${metric} ${label}`;
    const values = known.get(key) ?? new Set();
    known.set(key, values);
    const cut = value.length > MAX_CHARS ? value.slice(0, MAX_CHARS).toWellFormed() : value;
    if (values.has(cut)) {
      return cut;
    }
    if (values.size >= maxValues) {
      return OTHER;
    }
    values.add(cut);
    return cut;
  };
}

/** Label value that stands for all further values above the cap. */
export const OTHER = 'other';

const MAX_VALUES = 100;
const MAX_CHARS = 120;

/** The value under which one of a label is told: itself, cut to 120 characters, or `other` once there are too many. */
export type LabelCap = (metric: string, label: string, value: string) => string;

/** Bounds how many series metrics can have, whatever names configurations, models and topics bring: 100 a label. */
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

/** Values that name a segment of the traffic, by dimension: one or two. */
export type SegmentValues = Readonly<Record<string, string>>;

/** Names a segment: `agent version 3.2 × tool search`. */
export function nameValues(segment: SegmentValues): string {
  return Object.entries(segment)
    .map(([dimension, value]) => `${nameDimension(dimension)} ${value === '' ? 'unknown' : value}`)
    .join(' × ');
}

/** Writes the name of a dimension as words: `agentVersion` is `agent version`. */
function nameDimension(dimension: string): string {
  return dimension
    .replaceAll(/(?<=[a-z\d])[A-Z]/gu, (letter) => ` ${letter.toLowerCase()}`)
    .replaceAll('_', ' ');
}

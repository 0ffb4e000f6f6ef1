/** Compares two values for an ascending order: negative, 0 or positive. Texts are ordered by code units. */
export function compareValues<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** True for any object, arrays included, in which keys can be looked up. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** True for any object, arrays included: safe to look up keys in. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

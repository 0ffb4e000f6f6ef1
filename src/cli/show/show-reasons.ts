/** Formats numbers by reason as a list of at most one part, for a line of counts. */
export function showReasons(kind: string, reasons: Readonly<Record<string, number>>): string[] {
  const entries = Object.entries(reasons).map(([code, count]) => `${count} ${code}`);
  return entries.length === 0 ? [] : [`${kind}: ${entries.join(', ')}`];
}

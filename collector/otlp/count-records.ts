/** Lists of an OTLP/JSON request, from groups to records, each in its two spellings. */
const LISTS = [
  ['resourceSpans', 'resource_spans', 'resourceLogs', 'resource_logs'],
  ['scopeSpans', 'scope_spans', 'scopeLogs', 'scope_logs'],
  ['spans', 'logRecords', 'log_records'],
] as const;

/** Counts the groups, scopes and records of a parsed request. Stops above `most`. Never throws. */
export function countRecords(request: unknown, most: number): number {
  let level: readonly unknown[] = [request];
  let count = 0;
  for (const names of LISTS) {
    const next: unknown[] = [];
    for (const item of level) {
      for (const list of listNested(item, names)) {
        count += list.length;
        if (count > most) {
          return count;
        }
        next.push(...list);
      }
    }
    level = next;
  }
  return count;
}

function listNested(item: unknown, names: readonly string[]): (readonly unknown[])[] {
  if (typeof item !== 'object' || item === null) {
    return [];
  }
  const fields = item as Record<string, unknown>;
  return names.flatMap((name) => (Array.isArray(fields[name]) ? [fields[name] as readonly unknown[]] : []));
}

const SHOWN_APART = new Set(['level', 'time', 'msg']);

/**
 * Formats one JSON log line for people: `07:05:18.791 WARN  message key=value`. Shows the message of an error; only the
 * JSON format has the stack. Escapes control characters, so that logged text cannot move the cursor of a terminal.
 */
export function formatLogLine(jsonLine: string): string {
  const line = JSON.parse(jsonLine) as Record<string, unknown>;
  const fields = Object.entries(line)
    .filter(([key, value]) => !SHOWN_APART.has(key) && value !== undefined)
    .map(([key, value]) => `${key}=${shown(value)}`);
  const time = String(line['time']).slice(11, 23);
  const level = String(line['level']).toUpperCase().padEnd(5);
  return `${[time, level, String(line['msg']), ...fields].join(' ')}\n`;
}

function shown(value: unknown): string {
  if (typeof value === 'string') {
    return /^[\w./:@[\]-]+$/.test(value) ? value : JSON.stringify(value);
  }
  if (value !== null && typeof value === 'object' && 'message' in value && 'stack' in value) {
    return JSON.stringify(joinMessages(value));
  }
  return JSON.stringify(value);
}

function joinMessages(error: object): string {
  const own = 'message' in error ? String(error.message) : '';
  const cause =
    'cause' in error && error.cause !== null && typeof error.cause === 'object' ? error.cause : undefined;
  return cause !== undefined && 'message' in cause ? `${own}: ${joinMessages(cause)}` : own;
}

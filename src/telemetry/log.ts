import { pino, type DestinationStream } from 'pino';
import { redactFields } from './redact-fields.ts';

const SHOWN_APART = new Set(['level', 'time', 'msg']);

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Facts beside a log message. Never prompts, span content or claims; secrets are removed before output. */
type LogFields = Readonly<Record<string, unknown>>;

/** Log for the operator: a constant message (so that lines group) and fields. An error belongs in `error`. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Creates a log that adds these fields to every line. */
  child(fields: LogFields): Log;
}

export interface LogOptions {
  /** `text` for people (default), `json` for log collectors. */
  readonly format?: 'text' | 'json';
  /** Default: stderr, because stdout is for data. */
  readonly destination?: { write(line: string): void };
}

/** Creates a log with a level. It writes synchronously, so that the last lines before an exit are not lost. */
export function createLog(level: LogLevel = 'info', options: LogOptions = {}): Log {
  const destination = options.destination ?? pino.destination({ fd: 2, sync: true });
  const stream: DestinationStream =
    options.format === 'json'
      ? destination
      : { write: (line: string) => destination.write(formatLogLine(line)) };
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  );
  return createBoundLog({ write: (name, fields, message) => logger[name](fields, message) }, {});
}

/** Log without output, for library use and tests. */
export const silentLog: Log = createBoundLog({ write: () => undefined }, {});

interface Sink {
  write(level: Exclude<LogLevel, 'silent'>, fields: Record<string, unknown>, message: string): void;
}

function createBoundLog(sink: Sink, bound: LogFields): Log {
  const at =
    (level: Exclude<LogLevel, 'silent'>) =>
    (message: string, fields: LogFields = {}) =>
      sink.write(level, redactFields({ ...bound, ...fields }), message);
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => createBoundLog(sink, { ...bound, ...fields }),
  };
}

/**
 * Formats one JSON log line for people: `07:05:18.791 WARN  message key=value`. Shows the message of an error; only the
 * JSON format has the stack. Escapes control characters, so that logged text cannot move the cursor of a terminal.
 */
function formatLogLine(jsonLine: string): string {
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

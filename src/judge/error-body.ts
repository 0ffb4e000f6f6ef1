import { isRecord, textOrUndefined } from '../domain/unknown-values.ts';
import { retryAfterMs } from '../delivery/http/headers.ts';

/** Error in the words of a server. */
export interface ErrorBody {
  /** '' when the body has none. */
  readonly said: string;
  /** Codes and types that the body names beside its words. */
  readonly codes: string;
  /** HTTP status that the body names, or that its words mean. */
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** Text of the model that the server itself refused. */
  readonly rejected: string | undefined;
}

type Node = Readonly<Record<string, unknown>>;

/** HTTP statuses by the words for them, in codes and messages. */
const STATUSES: readonly (readonly [RegExp, number])[] = [
  [/insufficient.?(?:quota|credit|balance|funds)|billing|payment/i, 402],
  [/rate.?limit|too.?many.?requests|resource.?exhausted|throttl|quota/i, 429],
  [/unauthori[sz]ed|unauthenticated|authenticat|api.?key|credentials/i, 401],
  [/permission|forbidden|access denied/i, 403],
  [/not.?found|does not exist|no such model/i, 404],
  [/time.?out|timed.?out|deadline/i, 504],
  [/overload|unavailable|server.?error|internal|upstream|capacity|provider|bad.?gateway/i, 503],
  [/invalid|bad.?request|validation|not supported|context.?length|too (?:long|large)/i, 400],
];

/** Status of an error that names none: a gateway whose server failed. */
const UNNAMED_STATUS = 502;

/**
 * Reads the error in the body of a reply with an error status. Servers write it as `{ error: { message, code } }`, as a text, as
 * members of the body, as a list, or as an event.
 */
export function readErrorBody(body: string, nowMs: number): ErrorBody | undefined {
  const found = parseBody(body);
  const error = findError(found) ?? (isRecord(found) && hasWords(found) ? found : undefined);
  return error === undefined ? undefined : describe(error, nowMs);
}

/** Reads an error in the body of a reply with status 200: at the top, or in the first choice. */
export function readErrorInReply(body: unknown, nowMs: number): ErrorBody | undefined {
  const found = typeof body === 'string' ? parseBody(body) : body;
  const isError = isRecord(found) && isErrorItself(found);
  const error = findError(found) ?? (isError ? found : undefined) ?? findErrorInChoice(found);
  return error === undefined ? undefined : describe(error, nowMs);
}

/** Reads the first choice of a chat completion; undefined for any other body. */
export function readFirstChoice(body: unknown): Node | undefined {
  const choices = isRecord(body) ? body['choices'] : undefined;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return isRecord(choice) ? choice : undefined;
}

/** Finds the error of a reply that ended with one; `{}` when its choice says nothing more. */
function findErrorInChoice(body: unknown): Node | string | undefined {
  const choice = readFirstChoice(body);
  return findError(choice) ?? (choice?.['finish_reason'] === 'error' ? {} : undefined);
}

/** Parses a body. Gateways that wait for their model send comments and white space first, or the error as an event. */
function parseBody(body: string): unknown {
  const lines = body.split('\n').filter((line) => !/^:|^data: *\[DONE\]|^event:/.test(line));
  try {
    const parsed: unknown = JSON.parse(lines.map((line) => line.replace(/^data: ?/, '')).join('\n'));
    return Array.isArray(parsed) ? parsed[0] : parsed;
  } catch {
    // No JSON: a page of a proxy, or a plain text.
    return undefined;
  }
}

function findError(holder: unknown): Node | string | undefined {
  if (!isRecord(holder)) {
    return undefined;
  }
  const { error, errors } = holder;
  const listed: unknown = Array.isArray(errors) ? errors[0] : undefined;
  return [error, listed].map((found) => (isRecord(found) ? found : textOrUndefined(found))).find(Boolean);
}

function hasWords(node: Node): boolean {
  return ['message', 'detail'].some((name) => readWords(node[name]) !== '');
}

/** True for a body with words that calls itself an error or names the status of one, and is no chat completion. */
function isErrorItself(body: Node): boolean {
  const isCalledError = body['object'] === 'error' || body['error'] === true || body['success'] === false;
  const isCoded = (body['detail'] ?? readStatus(body)) !== undefined;
  return body['choices'] === undefined && hasWords(body) && (isCalledError || isCoded);
}

function describe(error: Node | string, nowMs: number): ErrorBody {
  const node: Node = typeof error === 'string' ? { message: error } : error;
  const metadata = isRecord(node['metadata']) ? node['metadata'] : {};
  const words = [node['message'] ?? node['detail'], metadata['raw']].map(readWords);
  const said = words.filter((each) => each !== '').join(': ');
  const codes = listCodes(node).join(' ');
  return {
    said,
    codes,
    status: readStatus(node) ?? statusOf(codes) ?? statusOf(said) ?? UNNAMED_STATUS,
    retryAfterMs: readRetryAfter(node, metadata, nowMs),
    rejected: textOrUndefined(node['failed_generation']),
  };
}

/** Reads words that are a text, or a list of faults (FastAPI). */
function readWords(value: unknown): string {
  if (typeof value === 'string') {
    return value.trim();
  }
  return Array.isArray(value)
    ? value
        .filter(isRecord)
        .map(({ msg, message }) => readWords(msg ?? message))
        .join('; ')
    : '';
}

/** Lists the codes of an error and of the errors in it. */
function listCodes(node: Node): string[] {
  return ['code', 'type', 'status', 'innererror', 'error_type', 'reason'].flatMap((name) => {
    const value = node[name];
    return isRecord(value) ? listCodes(value) : (textOrUndefined(value) ?? []);
  });
}

function readStatus(node: Node): number | undefined {
  return ['code', 'status', 'status_code', 'statusCode']
    .map((name) => Number(node[name] ?? Number.NaN))
    .find((status) => status >= 400 && status < 600);
}

function statusOf(words: string): number | undefined {
  return STATUSES.find(([pattern]) => pattern.test(words))?.[1];
}

/** Reads the wait that a server names in the body: as a header that a gateway passes on, in seconds, or as Google's `RetryInfo`. */
function readRetryAfter(node: Node, metadata: Node, nowMs: number): number | undefined {
  const { headers } = metadata;
  const passedOn = isRecord(headers) ? Object.entries(headers) : [];
  const details: unknown[] = Array.isArray(node['details']) ? node['details'] : [];
  const delay = details.filter(isRecord).map(({ retryDelay }) => retryDelay);
  const seconds = [node['retry_after'], metadata['retry_after'], metadata['retry_after_seconds'], ...delay]
    .map((found) => (typeof found === 'number' ? String(found) : textOrUndefined(found)?.replace(/s$/, '')))
    .find((found) => found !== undefined);
  return retryAfterMs(
    {
      ...(seconds === undefined ? {} : { 'retry-after': seconds }),
      ...Object.fromEntries(passedOn.map(([name, value]) => [name.toLowerCase(), String(value)])),
    },
    nowMs,
  );
}

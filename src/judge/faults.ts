import { AppError, listCauses } from '../domain/errors.ts';
import { isRecord, textOrUndefined } from '../domain/unknown-values.ts';
import { retryAfterMs } from '../delivery/http/headers.ts';
import { JudgeError, type JudgeErrorCode, type JudgeErrorOptions, quoteText } from './judge-error.ts';

/** Words of content filters: Azure, LiteLLM, OpenAI, Gemini, Bedrock, OpenRouter. */
const FILTER =
  /content.?(?:filter|policy|moderation|management policy)|responsible.?ai|prohibited.?content|blocklist|safety (?:system|filter|setting|policy|reason)|(?:input|prompt|text|content|response|request) (?:was |is |has been )?(?:flagged|blocked)|(?:blocked|flagged) (?:by|due to|for) /i;
const FILTER_CODES = /^(?:.*\s)?(?:safety|spii|recitation|moderation\w*|refusal)(?:\s.*)?$/i;
const GUARDRAIL = /guardrail/i;
const HAS_ACTED = /violat|block|interven/i;

/** True for an error of a content filter: nothing is wrong with the configuration. */
function isFilterFault({ said, codes }: ErrorBody): boolean {
  const words = `${codes} ${said}`;
  return FILTER.test(words) || FILTER_CODES.test(codes) || (GUARDRAIL.test(words) && HAS_ACTED.test(words));
}

/** Finish reasons with which providers say that their filter or their model ended the answer. */
const FILTER_FINISH =
  /content.?filter|safety|prohibited|blocklist|spii|recitation|guardrail|moderation|refus|violation|toxic/i;

/** True for a finish reason of a filter or of a refusal. */
export function isFilterFinish(reason: string): boolean {
  return FILTER_FINISH.test(reason);
}

/** Words of servers that check the model's text themselves (Groq), or whose grammar the text broke (llama.cpp, vLLM). */
const REJECTED_TEXT =
  /json_validate_failed|output_parse_failed|failed to (?:generate|validate) (?:\w+ ){0,2}json|(?:generated|model).{0,20}(?:json|output|text|response).{0,40}(?:not|in)[ -]?(?:match|valid|conform)|empty grammar stack|grammar.{0,40}(?:reject|terminated|accept.{0,10}token)|failed to (?:advance|accept token)|failed to parse input at pos/i;

/** True for an error about the text that the model wrote: as any reply that cannot be used. */
function isRejectedText({ said, codes, rejected }: ErrorBody): boolean {
  return rejected !== undefined || REJECTED_TEXT.test(`${codes} ${said}`);
}

/** Words about the schema parameter, which no other fault of a server has. */
const SCHEMA_PARAMETER =
  /response_?(?:json_?)?(?:format|schema)|json_?schema|json_?object|structured.?output|json.?mode|guided.?(?:json|decoding|grammar)|xgrammar|parse grammar/i;
/** Words about a schema in a refused request. */
const SCHEMA = /\b(?:json )?schema\b|\bgrammars?\b|constrained decoding|outlines|invalid format/i;

/** True when a server cannot use the schema of a request. LiteLLM answers 500 when its backend cannot. */
export function isSchemaRefusal(said: string, status: number): boolean {
  const isRefusedRequest = status === 400 || status === 422;
  const isServerFault = status === 500 || status === 501;
  return (
    (isRefusedRequest && SCHEMA.test(said)) ||
    ((isRefusedRequest || isServerFault) && SCHEMA_PARAMETER.test(said))
  );
}

/** Error in the words of a server. */
interface ErrorBody {
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
function readErrorBody(body: string, nowMs: number): ErrorBody | undefined {
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

/** Reads why a reply of OpenAI's responses API is cut, in its own word; undefined for a whole reply. Some packages do not say it. */
export function readIncomplete(body: unknown): string | undefined {
  const details = isRecord(body) ? body['incomplete_details'] : undefined;
  return isRecord(details) ? textOrUndefined(details['reason']) : undefined;
}

/** Finds the words of a refusal in a reply of OpenAI's responses API, which some packages cannot read. */
export function findRefusal(body: unknown): string | undefined {
  const output = isRecord(body) && Array.isArray(body['output']) ? (body['output'] as unknown[]) : [];
  const parts = output.flatMap((item) =>
    isRecord(item) && Array.isArray(item['content']) ? (item['content'] as unknown[]) : [],
  );
  const refusal = parts.find((part) => isRecord(part) && part['type'] === 'refusal');
  return isRecord(refusal) ? textOrUndefined(refusal['refusal']) : undefined;
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

/** Fields of the AI SDK's `APICallError`. It is recognised by shape, because several copies of the SDK may be loaded. */
interface ApiFault {
  readonly message: string;
  readonly url?: string;
  readonly statusCode?: number;
  readonly responseHeaders?: Record<string, string>;
  readonly responseBody?: string;
  readonly isRetryable?: boolean;
  readonly cause?: unknown;
}

const API_CALL_ERROR = Symbol.for('vercel.ai.error.AI_APICallError');

/** Error that a chat completion has inside it. */
export class ErrorInCompletion extends Error {
  /** Body of the reply, under the name that the AI SDK's `InvalidResponseDataError` gives it. */
  readonly data: unknown;

  constructor(data: unknown) {
    super('the completion ended with an error');
    this.data = data;
  }
}

/** Finds the model's text, and the words of the server, in an error with which a server refuses the text; undefined for any other error. */
export function findRejectedText(
  thrown: unknown,
): { readonly text: string; readonly said: string } | undefined {
  const fault = listCauses(thrown).find(isApiFault);
  const body = fault?.responseBody ?? '';
  const error = fault?.statusCode === 200 ? readErrorInReply(body, 0) : readErrorBody(body, 0);
  const status = fault?.statusCode === 200 ? error?.status : fault?.statusCode;
  const mayReject = status === 400 || status === 422 || status === 500;
  return mayReject && error !== undefined && isRejectedText(error)
    ? { text: error.rejected ?? '', said: quoteText(error.said) }
    : undefined;
}

/** Turns any error of a model call into a `JudgeError` with the right code. */
export function toJudgeError(thrown: unknown, nowMs: number): JudgeError {
  for (const fault of listCauses(thrown)) {
    if (fault instanceof JudgeError) {
      return fault;
    }
  }
  if (thrown instanceof AppError) {
    return fromAppError(thrown);
  }
  for (const fault of listCauses(thrown)) {
    if (isApiFault(fault)) {
      return fromApiFault(fault, thrown, nowMs);
    }
    const { data } = fault as { readonly data?: unknown };
    if (isRefusedWhole(data)) {
      return new JudgeError('judge_refused', `${PROVIDER_WORDS.judge_refused}: it declined every question`, {
        cause: fault,
      });
    }
    const inside = readErrorInReply(data, nowMs);
    if (inside !== undefined) {
      // A completion may have cost the model's work, so its call is not repeated at once.
      const repeatable = !(fault instanceof ErrorInCompletion);
      return fromErrorInReply(inside, '', { cause: fault, repeatable });
    }
  }
  return fromUnknown(thrown);
}

/** True for decisions that are refused as a whole: the refusal names no question. */
function isRefusedWhole(body: unknown): boolean {
  const answers: unknown = isRecord(body) ? body['answers'] : undefined;
  return (
    Array.isArray(answers) &&
    answers.some((answer) => isRecord(answer) && answer['type'] === 'refusal' && answer['name'] === null)
  );
}

function fromApiFault(fault: ApiFault, thrown: unknown, nowMs: number): JudgeError {
  if (fault.statusCode === 200 && fault.responseBody === undefined && hasTransportCause(fault)) {
    return brokenReply(thrown);
  }
  return fault.statusCode === undefined
    ? unreachable(fault.message, thrown)
    : fromStatus(fault, fault.statusCode, nowMs);
}

/** Builds the error of a reply that began with status 200, and whose body broke off. */
export function brokenReply(cause: unknown): JudgeError {
  return new JudgeError('judge_unavailable', 'the judge could not be reached: its reply broke off', {
    cause,
    repeatable: true,
    kind: 'broken reply',
  });
}

function unreachable(why: string, cause: unknown): JudgeError {
  return new JudgeError('judge_unavailable', `the judge could not be reached: ${why}`, {
    cause,
    repeatable: true,
    kind: 'network',
    isUnbilled: NOT_CONNECTED.test(findNetworkCode(cause) ?? ''),
  });
}

function isApiFault(thrown: unknown): thrown is ApiFault {
  return typeof thrown === 'object' && thrown !== null && API_CALL_ERROR in thrown;
}

/** Turns an error of the serving side, which stopped the call, into a `JudgeError` with the same code and message. */
function fromAppError(error: AppError): JudgeError {
  const code =
    error.code === 'budget_exhausted' || error.code === 'cancelled' || error.code === 'overloaded'
      ? error.code
      : 'judge_unavailable';
  const { retryAfterMs: after, details } = error;
  return new JudgeError(code, error.message, {
    cause: error,
    retryAfterMs: after,
    details,
    isUnbilled: true,
  });
}

const NETWORK_CODES =
  /^(E(CONN|PIPE|TIMEDOUT|AI_|NOTFOUND|HOSTUNREACH|NETUNREACH)|UND_ERR_|CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

/** Codes of network errors before a connection existed, so that no question reached the provider. */
const NOT_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT|CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

function findNetworkCode(thrown: unknown): string | undefined {
  for (const fault of listCauses(thrown)) {
    const code = (fault as { code?: unknown }).code;
    if (typeof code === 'string' && NETWORK_CODES.test(code)) {
      return code;
    }
  }
  return undefined;
}

function hasTransportCause(thrown: unknown): boolean {
  return (
    findNetworkCode(thrown) !== undefined ||
    listCauses(thrown).some((fault) => fault instanceof TypeError && fault.message === 'terminated')
  );
}

function fromUnknown(thrown: unknown): JudgeError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (isReplyShapeFault(error)) {
    return new JudgeError('judge_malformed', `the judge's reply is malformed: ${quoteText(error.message)}`, {
      cause: thrown,
      repeatable: true,
    });
  }
  if (hasTransportCause(thrown)) {
    return unreachable(findNetworkCode(thrown) ?? error.message, thrown);
  }
  return new JudgeError('judge_unavailable', `the judge failed: ${quoteText(error.message)}`, {
    cause: thrown,
  });
}

/** True for errors of the AI SDK about a reply that arrived whole but cannot be used. */
function isReplyShapeFault(error: Error): boolean {
  return /^AI_(InvalidResponseData|EmptyResponseBody|JSONParse|TypeValidation|NoContentGenerated)Error$/.test(
    error.name,
  );
}

/**
 * Shortest wait after 404 or a redirect, milliseconds: a proxy answers so for the time of a deploy, a wrong address for longer.
 */
const DEPLOY_WAIT_MS = 5 * 60_000;

/** Statuses of a gateway that stopped waiting; the model may have answered. */
const GATEWAY_TIMEOUTS: ReadonlySet<number> = new Set([408, 504]);

function fromStatus(fault: ApiFault, status: number, nowMs: number): JudgeError {
  const body = fault.responseBody ?? '';
  if (status < 300) {
    return fromOkReply(fault, body, nowMs);
  }
  const error = readErrorBody(body, nowMs);
  return fromProvider(
    {
      status,
      where: `HTTP ${status}${showAddress(fault)}`,
      said: quoteText(error?.said || (isWebPage(fault) ? '' : body) || fault.message),
      error,
      location: fault.responseHeaders?.['location'],
    },
    {
      cause: fault,
      details: { status, body: quoteText(body) },
      kind: `HTTP ${status}`,
      retryAfterMs: retryAfterMs(fault.responseHeaders, nowMs) ?? error?.retryAfterMs,
      repeatable: true,
    },
  );
}

/** Builds the error that a reply with status 200 contains. It means what its status means. */
function fromErrorInReply(error: ErrorBody, address: string, options: JudgeErrorOptions): JudgeError {
  const { status, said } = error;
  return fromProvider(
    {
      status,
      where: `error ${status} in a reply with HTTP 200${address}`,
      said: quoteText(said === '' ? 'no reason given' : said),
      error,
    },
    {
      ...options,
      details: { status, body: quoteText(said) },
      kind: `error ${status}`,
      retryAfterMs: error.retryAfterMs,
    },
  );
}

function showAddress({ url }: ApiFault): string {
  return url === undefined ? '' : ` (${url})`;
}

/** Beginning of the message of an error, by its code. */
const PROVIDER_WORDS = {
  judge_refused: 'the judge refused to answer',
  judge_unauthorised: 'the judge provider refuses the key or the account',
  judge_rate_limited: 'the judge provider limits the rate',
  judge_unavailable: 'the judge provider failed',
  judge_misconfigured: 'the judge provider refuses the request',
} satisfies Partial<Record<JudgeErrorCode, string>>;

/** An error of a provider: a status with words. */
interface ProviderFault {
  readonly status: number;
  /** Name of the status and the address, as messages have them. */
  readonly where: string;
  readonly said: string;
  readonly error: ErrorBody | undefined;
  readonly location?: string | undefined;
}

function fromProvider(fault: ProviderFault, { repeatable = false, ...rest }: JudgeErrorOptions): JudgeError {
  const { status, where, said, location } = fault;
  const code = codeOf(fault);
  // A proxy answers with 404 or a redirect during a deploy.
  const mayPass = code === 'judge_misconfigured' && (status < 400 || status === 404);
  const hint = !mayPass
    ? said
    : status === 404
      ? `no such model or path: ${said}`
      : `it redirects to ${quoteText(location ?? '?')}: set the final address as baseURL`;
  return new JudgeError(code, `${PROVIDER_WORDS[code]}, ${where}: ${hint}`, {
    ...rest,
    isUnbilled: !GATEWAY_TIMEOUTS.has(status),
    repeatable: repeatable && (code === 'judge_rate_limited' || code === 'judge_unavailable'),
    ...(mayPass ? { mayPass, retryAfterMs: Math.max(rest.retryAfterMs ?? 0, DEPLOY_WAIT_MS) } : {}),
  });
}

/** Words for a refused key in a reply with status 400: Gemini, Bedrock. */
const WRONG_KEY =
  /api.?key.{0,20}(?:not valid|invalid|expired)|UnrecognizedClient|InvalidSignature|ExpiredToken/i;

function codeOf({ status, error }: ProviderFault): keyof typeof PROVIDER_WORDS {
  if (error !== undefined && status !== 401 && status !== 429 && isFilterFault(error)) {
    return 'judge_refused';
  }
  const words = `${error?.codes} ${error?.said}`;
  const isQuota = status === 429 && /insufficient_quota|billing/i.test(words);
  if (isQuota || [401, 402, 403].includes(status) || (status === 400 && WRONG_KEY.test(words))) {
    return 'judge_unauthorised';
  }
  if (status === 429) {
    return 'judge_rate_limited';
  }
  return status === 408 || status === 409 || status >= 500 ? 'judge_unavailable' : 'judge_misconfigured';
}

function isWebPage({ responseHeaders, responseBody }: ApiFault): boolean {
  const type = responseHeaders?.['content-type'] ?? '';
  return /text\/html/i.test(type) || /^\s*<(!doctype|html)/i.test(responseBody ?? '');
}

/**
 * Turns a 2xx reply that its package cannot read into an error: that of the body; a web page means a proxy or a login page in between;
 * anything else is a broken reply.
 */
function fromOkReply(fault: ApiFault, body: string, nowMs: number): JudgeError {
  const options = { cause: fault, details: { status: fault.statusCode, body: quoteText(body) } };
  if (isWebPage(fault)) {
    return new JudgeError(
      'judge_unavailable',
      `the judge's address answers with a web page${showAddress(fault)}: check baseURL, and whether a proxy or a login page is in between`,
      { ...options, kind: 'web page', isUnbilled: true },
    );
  }
  const refusal = findRefusal(parseBody(body));
  if (refusal !== undefined) {
    return new JudgeError('judge_refused', `${PROVIDER_WORDS.judge_refused}: ${quoteText(refusal)}`, options);
  }
  const error = readErrorInReply(body, nowMs);
  return error === undefined
    ? new JudgeError(
        'judge_malformed',
        `the judge's reply has not the form of its API: ${quoteText(fault.message)}`,
        { ...options, rawOutput: fault.responseBody, repeatable: true },
      )
    : fromErrorInReply(error, showAddress(fault), { cause: fault, repeatable: true });
}

import { AppError, listCauses } from '../domain/errors.ts';
import { type ErrorBody, readErrorBody, readErrorInReply } from './error-body.ts';
import { isFilterFault, isRejectedText } from './fault-words.ts';
import { JudgeError, type JudgeErrorOptions, quoteText } from './judge-error.ts';
import { retryAfterMs } from '../delivery/http/headers.ts';

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

/** Text of a model that its server refused, because it does not fit the schema. */
export interface RejectedText {
  readonly text: string;
  /** Words of the server. */
  readonly said: string;
}

/** Finds the model's text in an error with which a server refuses it; undefined for any other error. */
export function findRejectedText(thrown: unknown): RejectedText | undefined {
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
    const inside = readErrorInReply((fault as { readonly data?: unknown }).data, nowMs);
    if (inside !== undefined) {
      // A completion may have cost the model's work, so its call is not repeated at once.
      const repeatable = !(fault instanceof ErrorInCompletion);
      return fromErrorInReply(inside, '', { cause: fault, repeatable });
    }
  }
  return fromUnknown(thrown);
}

function fromApiFault(fault: ApiFault, thrown: unknown, nowMs: number): JudgeError {
  if (hasBrokenBody(fault)) {
    return connectionLostError(thrown);
  }
  return fault.statusCode === undefined
    ? unreachable(fault.message, thrown)
    : fromStatus(fault, fault.statusCode, nowMs);
}

function unreachable(why: string, cause: unknown): JudgeError {
  return new JudgeError('judge_unavailable', `the judge could not be reached: ${why}`, {
    cause,
    repeatable: true,
    kind: 'network',
    isUnbilled: NOT_CONNECTED.test(findNetworkCode(cause) ?? ''),
  });
}

function connectionLostError(cause: unknown): JudgeError {
  return new JudgeError('judge_unavailable', 'the judge could not be reached: its reply broke off', {
    cause,
    repeatable: true,
    kind: 'broken reply',
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

/** True when the reply began with status 200 and its body broke off. */
function hasBrokenBody(fault: ApiFault): boolean {
  return fault.statusCode === 200 && fault.responseBody === undefined && hasTransportCause(fault);
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

/** An error of a provider: a status with words. */
interface ProviderFault {
  readonly status: number;
  /** Name of the status and the address, as messages have them. */
  readonly where: string;
  readonly said: string;
  /** Code and words, by which a filter and a spent quota are recognised. */
  readonly error: ErrorBody | undefined;
  readonly location?: string | undefined;
  readonly options: JudgeErrorOptions;
}

function fromStatus(fault: ApiFault, status: number, nowMs: number): JudgeError {
  const body = fault.responseBody ?? '';
  if (status < 300) {
    return fromOkReply(fault, body, nowMs);
  }
  const error = readErrorBody(body, nowMs);
  return fromProvider({
    status,
    where: `HTTP ${status}${showAddress(fault)}`,
    said: quoteText(error?.said || (isWebPage(fault) ? '' : body) || fault.message),
    error,
    location: fault.responseHeaders?.['location'],
    options: {
      cause: fault,
      details: { status, body: quoteText(body) },
      kind: `HTTP ${status}`,
      retryAfterMs: retryAfterMs(fault.responseHeaders, nowMs) ?? error?.retryAfterMs,
      repeatable: true,
    },
  });
}

/** Builds the error that a reply with status 200 contains. It means what its status means. */
function fromErrorInReply(error: ErrorBody, address: string, options: JudgeErrorOptions): JudgeError {
  const { status, said } = error;
  return fromProvider({
    status,
    where: `error ${status} in a reply with HTTP 200${address}`,
    said: quoteText(said === '' ? 'no reason given' : said),
    error,
    options: {
      ...options,
      details: { status, body: quoteText(said) },
      kind: `error ${status}`,
      retryAfterMs: error.retryAfterMs,
    },
  });
}

function showAddress({ url }: ApiFault): string {
  return url === undefined ? '' : ` (${url})`;
}

function fromProvider(fault: ProviderFault): JudgeError {
  const { status, where, said, error } = fault;
  const { repeatable = false, ...rest } = fault.options;
  const options = { ...rest, isUnbilled: !GATEWAY_TIMEOUTS.has(status) };
  if (error !== undefined && status !== 401 && status !== 429 && isFilterFault(error)) {
    const message = `the judge refused to answer, ${where}: ${said}`;
    return new JudgeError('judge_refused', message, options);
  }
  if (status === 401 || status === 402 || status === 403 || isQuotaFault(status, error)) {
    const message = `the judge provider refuses the key or the account, ${where}: ${said}`;
    return new JudgeError('judge_unauthorised', message, options);
  }
  if (status === 429) {
    const message = `the judge provider limits the rate, ${where}: ${said}`;
    return new JudgeError('judge_rate_limited', message, { ...options, repeatable });
  }
  if (status === 408 || status === 409 || status >= 500) {
    const message = `the judge provider failed, ${where}: ${said}`;
    return new JudgeError('judge_unavailable', message, { ...options, repeatable });
  }
  return fromRefusedRequest(fault, options);
}

/** Builds the error of a refused request. 404 and redirects may pass: a proxy answers so during a deploy. */
function fromRefusedRequest(
  { status, where, said, location }: ProviderFault,
  options: JudgeErrorOptions,
): JudgeError {
  const mayPass = status < 400 || status === 404;
  const hint =
    status < 400
      ? `it redirects to ${quoteText(location ?? '?')}: set the final address as baseURL`
      : status === 404
        ? `no such model or path: ${said}`
        : said;
  return new JudgeError(
    'judge_misconfigured',
    `the judge provider refuses the request, ${where}: ${hint}`,
    mayPass
      ? { ...options, mayPass, retryAfterMs: Math.max(options.retryAfterMs ?? 0, DEPLOY_WAIT_MS) }
      : options,
  );
}

function isQuotaFault(status: number, error: ErrorBody | undefined): boolean {
  return status === 429 && /insufficient_quota|billing/i.test(`${error?.codes} ${error?.said}`);
}

function isWebPage({ responseHeaders, responseBody }: ApiFault): boolean {
  const type = responseHeaders?.['content-type'] ?? '';
  return /text\/html/i.test(type) || /^\s*<(!doctype|html)/i.test(responseBody ?? '');
}

/**
 * Turns a 2xx reply without a chat completion into an error: that of the body; a web page means a proxy or a login page in between;
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
  const error = readErrorInReply(body, nowMs);
  return error === undefined
    ? new JudgeError(
        'judge_malformed',
        `the judge's reply is no chat completion: ${quoteText(fault.message)}`,
        { ...options, rawOutput: fault.responseBody, repeatable: true },
      )
    : fromErrorInReply(error, showAddress(fault), { cause: fault, repeatable: true });
}

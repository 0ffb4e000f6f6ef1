import { AppError, listCauses } from '../domain/errors.ts';
import { JudgeError, type JudgeErrorOptions, quoteText } from './judge-error.ts';
import { retryAfterMs } from '../outbound/http/retry-after.ts';

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

function fromStatus(fault: ApiFault, status: number, nowMs: number): JudgeError {
  const said = quoteText(fault.message);
  const where = fault.url === undefined ? '' : ` (${fault.url})`;
  const after = retryAfterMs(fault.responseHeaders, nowMs);
  const options = {
    cause: fault,
    details: { status, body: quoteText(fault.responseBody ?? '') },
    kind: `HTTP ${status}`,
    isUnbilled: !GATEWAY_TIMEOUTS.has(status),
  };
  if (status < 300) {
    return fromOkReply(fault, { cause: fault, details: options.details });
  }
  if (status === 401 || status === 402 || status === 403 || isQuotaFault(status, fault)) {
    const message = `the judge provider refuses the key or the account, HTTP ${status}${where}: ${said}`;
    return new JudgeError('judge_unauthorised', message, { ...options, retryAfterMs: after });
  }
  if (status === 429) {
    const message = `the judge provider limits the rate, HTTP 429${where}: ${said}`;
    return new JudgeError('judge_rate_limited', message, {
      ...options,
      retryAfterMs: after,
      repeatable: true,
    });
  }
  if (status === 408 || status === 409 || status >= 500) {
    const message = `the judge provider failed, HTTP ${status}${where}: ${said}`;
    return new JudgeError('judge_unavailable', message, {
      ...options,
      retryAfterMs: after,
      repeatable: true,
    });
  }
  return fromRefusedRequest(fault, status, { ...options, retryAfterMs: after });
}

/** Builds the error of a refused request. 404 and redirects may pass: a proxy answers so during a deploy. */
function fromRefusedRequest(fault: ApiFault, status: number, options: JudgeErrorOptions): JudgeError {
  const where = fault.url === undefined ? '' : ` (${fault.url})`;
  const reply = quoteText(fault.message);
  const target = fault.responseHeaders?.['location'];
  const mayPass = status < 400 || status === 404;
  const hint =
    status < 400
      ? `it redirects to ${quoteText(target ?? '?')}: set the final address as baseURL`
      : status === 404
        ? `no such model or path: ${reply}`
        : reply;
  return new JudgeError(
    'judge_misconfigured',
    `the judge provider refuses the request, HTTP ${status}${where}: ${hint}`,
    mayPass
      ? { ...options, mayPass, retryAfterMs: Math.max(options.retryAfterMs ?? 0, DEPLOY_WAIT_MS) }
      : options,
  );
}

function isQuotaFault(status: number, fault: ApiFault): boolean {
  return status === 429 && /insufficient_quota|billing/i.test(fault.responseBody ?? '');
}

/**
 * Turns a 2xx reply without a chat completion into an error: a web page means a proxy or a login page in between, anything else
 * a broken reply.
 */
function fromOkReply(
  fault: ApiFault,
  options: { cause: unknown; details: Readonly<Record<string, unknown>> },
): JudgeError {
  const type = fault.responseHeaders?.['content-type'] ?? '';
  if (/text\/html/i.test(type) || /^\s*<(!doctype|html)/i.test(fault.responseBody ?? '')) {
    return new JudgeError(
      'judge_unavailable',
      `the judge's address answers with a web page${fault.url === undefined ? '' : ` (${fault.url})`}: check baseURL, and whether a proxy or a login page is in between`,
      { ...options, kind: 'web page', isUnbilled: true },
    );
  }
  return new JudgeError(
    'judge_malformed',
    `the judge's reply is no chat completion: ${quoteText(fault.message)}`,
    {
      ...options,
      rawOutput: fault.responseBody,
      repeatable: true,
    },
  );
}

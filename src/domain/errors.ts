export type Stage = 'receive' | 'store' | 'normalise' | 'judge' | 'export' | 'alert' | 'config';

/**
 * Every stable error code. Each edge (OTLP status, HTTP problem, exit code, decision reason) maps the codes in one small file.
 */
export type ErrorCode =
  | 'config_invalid'
  | 'input_invalid'
  | 'input_too_large'
  | 'overloaded'
  | 'store_unavailable'
  | 'store_rejected'
  | 'store_foreign'
  | 'store_missing'
  | 'store_in_use'
  | 'query_stopped'
  | 'not_found'
  | 'forbidden'
  | 'judge_rate_limited'
  | 'judge_unavailable'
  | 'judge_unauthorised'
  | 'judge_malformed'
  | 'judge_refused'
  | 'judge_misconfigured'
  | 'judge_timeout'
  | 'judge_window'
  | 'budget_exhausted'
  | 'scorer_failed'
  | 'scorer_paused'
  | 'scorer_unavailable'
  | 'timeout'
  | 'out_of_memory'
  | 'delivery_failed'
  | 'cancelled'
  | 'bug';

export interface AppErrorOptions {
  readonly code: ErrorCode;
  readonly stage: Stage;
  /** True when the same call may succeed later; the sender or the decision row then retries it. */
  readonly retryable: boolean;
  /** Earliest time of a retry in milliseconds from now, where the server gave one. */
  readonly retryAfterMs?: number | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly cause?: unknown;
}

/** The one error type that crosses folder borders: a stable code, a stage, and whether a retry can help. */
export class AppError extends Error {
  override readonly name: string = 'AppError';
  readonly code: ErrorCode;
  readonly stage: Stage;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(message: string, options: AppErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
    this.stage = options.stage;
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details ?? {};
  }
}

/** Error in the configuration. The message names the key, the fault and the correction. */
export class ConfigError extends AppError {
  override readonly name = 'ConfigError';
  constructor(message: string, details?: Readonly<Record<string, unknown>>, cause?: unknown) {
    super(message, { code: 'config_invalid', stage: 'config', retryable: false, details, cause });
  }
}

/** Error in the data of a sender; sending the same data again cannot help. */
export class InvalidInputError extends AppError {
  override readonly name = 'InvalidInputError';
  constructor(message: string, details?: Readonly<Record<string, unknown>>, cause?: unknown) {
    super(message, { code: 'input_invalid', stage: 'receive', retryable: false, details, cause });
  }
}

/** Error in a request or a command line itself: its sender has to write another one. */
export class RequestError extends InvalidInputError {}

export class SeveralTenantsError extends RequestError {
  constructor(what: string, tenants: readonly string[]) {
    const names = tenants.map((name) => JSON.stringify(name)).join(', ');
    super(`several tenants have the ${what}: ${names}; name one (--tenant, or the parameter tenant)`);
  }
}

/** Error of a store that cannot be reached or cannot take requests now. */
export class StoreUnavailableError extends AppError {
  override readonly name = 'StoreUnavailableError';
  constructor(message: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(message, { code: 'store_unavailable', stage: 'store', retryable: true, ...options });
  }
}

/** Error of a request that the store understood and refuses; it will refuse the same request again. */
export class StoreRejectedError extends AppError {
  override readonly name = 'StoreRejectedError';
  constructor(message: string, details?: Readonly<Record<string, unknown>>, cause?: unknown) {
    super(message, { code: 'store_rejected', stage: 'store', retryable: false, details, cause });
  }
}

/** Error of a query that the store stopped at a limit of time or memory. A smaller query may succeed. */
export class QueryStoppedError extends AppError {
  override readonly name = 'QueryStoppedError';
  constructor(message: string, cause?: unknown) {
    super(message, { code: 'query_stopped', stage: 'store', retryable: false, cause });
  }
}

/** Error for a thing that exists, and that the caller may not change. The message names who may. */
export class ForbiddenError extends AppError {
  override readonly name = 'ForbiddenError';
  constructor(message: string) {
    super(message, { code: 'forbidden', stage: 'receive', retryable: false });
  }
}

/** Error for a thing that does not exist. */
export class NotFoundError extends AppError {
  override readonly name = 'NotFoundError';
  constructor(message: string, details?: Readonly<Record<string, unknown>>) {
    super(message, { code: 'not_found', stage: 'store', retryable: false, details });
  }
}

/** Throws `cancelled` when the signal of a wait or of a start is aborted. */
export function rejectAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new AppError('interrupted before it was ready', {
      code: 'cancelled',
      stage: 'config',
      retryable: true,
    });
  }
}

/** Most causes of an error that are searched. */
const MAX_CAUSES = 10;

/** Returns the first error of a kind in a chain of causes, or null. A scorer may wrap the error that it catches. */
export function findCause<T extends Error>(
  thrown: unknown,
  kind: abstract new (...args: never[]) => T,
): T | null {
  return listCauses(thrown).find((cause): cause is T => cause instanceof kind) ?? null;
}

/** Lists a thrown value and its chain of causes, the outermost first. */
export function listCauses(thrown: unknown): unknown[] {
  const causes: unknown[] = [];
  let current = thrown;
  while (current !== undefined && current !== null && causes.length < MAX_CAUSES) {
    causes.push(current);
    current = (current as { cause?: unknown }).cause;
  }
  return causes;
}

/** Returns true for an error of the system with one of these codes, as `ENOENT`. */
export function hasCode(error: unknown, ...codes: readonly unknown[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(error.code);
}

/** Returns the message of anything thrown, for logs and reasons. Of a request that failed, the cause says why. */
export function readErrorMessage(thrown: unknown): string {
  if (thrown instanceof Error) {
    const { message, cause } = thrown;
    const why = message === 'fetch failed' && cause instanceof Error ? describeCause(cause) : '';
    return why === '' ? message : `${message}: ${why}`;
  }
  return typeof thrown === 'string' ? thrown : (JSON.stringify(thrown) ?? String(thrown));
}

/** The error of several addresses has a code alone. */
function describeCause({ message, code = '' }: Error & { readonly code?: string }): string {
  return message === '' ? code : message;
}

/**
 * Returns an `AppError` as it is. Wraps any other thrown value in one that means a fault of ours; `failed` says which action
 * failed, as `an insert failed unexpectedly`.
 */
export function toAppError(
  thrown: unknown,
  { failed, ...options }: { failed?: string; stage: Stage; retryable: boolean },
): AppError {
  if (thrown instanceof AppError) {
    return thrown;
  }
  const message = readErrorMessage(thrown);
  return new AppError(failed === undefined ? message : `${failed}: ${message}`, {
    code: 'bug',
    ...options,
    cause: thrown,
  });
}

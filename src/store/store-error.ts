import { ClickHouseError } from '@clickhouse/client';
import {
  AppError,
  findCause,
  QueryStoppedError,
  readErrorMessage,
  RequestError,
  StoreRejectedError,
  StoreUnavailableError,
} from '../domain/errors.ts';

/**
 * ClickHouse error codes of a server that cannot store the rows now or with its present setup: the rows are valid, so the
 * same request may succeed later. Names as in ClickHouse's ErrorCodes.cpp.
 */
const UNAVAILABLE_CODES: ReadonlyMap<string, string> = new Map([
  ['3', 'UNEXPECTED_END_OF_FILE'],
  ['60', 'UNKNOWN_TABLE'],
  ['76', 'CANNOT_OPEN_FILE'],
  ['81', 'UNKNOWN_DATABASE'],
  ['159', 'TIMEOUT_EXCEEDED'],
  ['160', 'TOO_SLOW'],
  ['164', 'READONLY'],
  ['192', 'UNKNOWN_USER'],
  ['193', 'WRONG_PASSWORD'],
  ['194', 'REQUIRED_PASSWORD'],
  ['201', 'QUOTA_EXCEEDED'],
  ['202', 'TOO_MANY_SIMULTANEOUS_QUERIES'],
  ['203', 'NO_FREE_CONNECTION'],
  ['209', 'SOCKET_TIMEOUT'],
  ['210', 'NETWORK_ERROR'],
  ['216', 'QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING'],
  ['236', 'ABORTED'],
  ['241', 'MEMORY_LIMIT_EXCEEDED'],
  ['242', 'TABLE_IS_READ_ONLY'],
  ['243', 'NOT_ENOUGH_SPACE'],
  ['252', 'TOO_MANY_PARTS'],
  ['279', 'ALL_CONNECTION_TRIES_FAILED'],
  ['285', 'TOO_FEW_LIVE_REPLICAS'],
  ['286', 'UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE'],
  ['289', 'REPLICA_IS_NOT_IN_QUORUM'],
  ['319', 'UNKNOWN_STATUS_OF_INSERT'],
  ['394', 'QUERY_WAS_CANCELLED'],
  ['425', 'SYSTEM_ERROR'],
  ['439', 'CANNOT_SCHEDULE_TASK'],
  ['497', 'ACCESS_DENIED'],
  ['499', 'S3_ERROR'],
  ['516', 'AUTHENTICATION_FAILED'],
  ['518', 'CANNOT_ASSIGN_ALTER'],
  ['574', 'DISTRIBUTED_TOO_MANY_PENDING_BYTES'],
  ['735', 'QUERY_WAS_CANCELLED_BY_CLIENT'],
  ['999', 'KEEPER_EXCEPTION'],
]);

/** Codes of a query that reached one of its own limits: TIMEOUT_EXCEEDED, TOO_SLOW, MEMORY_LIMIT_EXCEEDED. */
const LIMIT_CODES: readonly string[] = ['159', '160', '241'];

/** Text of an error about the memory of all queries together. */
const ALL_MEMORY = '(total)';

/** Pause for a server with too many parts or too little memory. */
const RETRY_AFTER_MS = 1000;

/**
 * Converts the error of a failed call to ClickHouse. An answer of the server is classified by its code; any other failure
 * (socket, time limit, an HTTP status without a ClickHouse exception) means that it was not reached. `doing` completes the
 * sentence "… while <doing>".
 */
export function toStoreError(thrown: unknown, doing: string): AppError {
  if (thrown instanceof AppError) {
    return thrown;
  }
  if (!(thrown instanceof ClickHouseError)) {
    return new StoreUnavailableError(
      `ClickHouse could not be reached while ${doing}: ${describeReason(thrown)}`,
      {
        cause: thrown,
      },
    );
  }
  const name = thrown.type ?? 'unknown error';
  const said = `ClickHouse answered ${thrown.code} (${name}) while ${doing}: ${firstLine(thrown.message)}`;
  if (UNAVAILABLE_CODES.has(thrown.code)) {
    return new StoreUnavailableError(said, { cause: thrown, retryAfterMs: RETRY_AFTER_MS });
  }
  return new StoreRejectedError(said, { clickhouseCode: Number(thrown.code), clickhouseType: name }, thrown);
}

/** Node reports a refused connection to a name with two addresses as an AggregateError without a message. */
function describeReason(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.message === '') {
    return thrown.errors.map(readErrorMessage).join('; ');
  }
  return firstLine(readErrorMessage(thrown));
}

const LONGEST_MESSAGE = 500;

function firstLine(message: string): string {
  const line = message.trim().split('\n', 1)[0] ?? '';
  return line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE)}…` : line;
}

/** Codes of the statement of a person, beside those that no store takes: UNKNOWN_TABLE, a limit, READONLY, ACCESS_DENIED. */
const STATEMENT_CODES: readonly string[] = [...LIMIT_CODES, '60', '164', '497'];

/** Converts the error of a statement of a person: a `RequestError` with the engine's words, unless the store is at fault. */
export function toStatementError(thrown: unknown): AppError {
  const said = findCause(thrown, ClickHouseError);
  const isOfStatement =
    said !== null && (STATEMENT_CODES.includes(said.code) || !UNAVAILABLE_CODES.has(said.code));
  if (!isOfStatement || said.message.includes(ALL_MEMORY)) {
    return toStoreError(thrown, 'running a statement');
  }
  const text = said.message.replace(/:? (?:In scope|While (?:executing|processing)) .*$/su, '');
  return new RequestError(`query: ${firstLine(text)} (${said.type ?? said.code})`);
}

/** Converts the error of a read with limits of its own. A read that reached one of them becomes a `QueryStoppedError`. */
export function toLimitedReadError(thrown: unknown, doing: string): AppError {
  const isStopped =
    thrown instanceof ClickHouseError &&
    LIMIT_CODES.includes(thrown.code) &&
    !thrown.message.includes(ALL_MEMORY);
  return isStopped
    ? new QueryStoppedError(`the store stopped a query at its limit: ${firstLine(thrown.message)}`, thrown)
    : toStoreError(thrown, doing);
}

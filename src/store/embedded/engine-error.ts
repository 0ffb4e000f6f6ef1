/** HTTP status of a ClickHouse error, as the server's `exceptionCodeToHTTPStatus` maps it; all others are 500. */
const STATUS_BY_NAME = new Map(
  Object.entries({
    400: `BAD_ARGUMENTS CANNOT_COMPILE_REGEXP CANNOT_PARSE_TEXT CANNOT_PARSE_ESCAPE_SEQUENCE
      CANNOT_PARSE_QUOTED_STRING CANNOT_PARSE_DATE CANNOT_PARSE_DATETIME CANNOT_PARSE_NUMBER
      CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING CANNOT_PARSE_IPV4 CANNOT_PARSE_IPV6
      CANNOT_PARSE_INPUT_ASSERTION_FAILED CANNOT_PARSE_UUID DUPLICATE_COLUMN ILLEGAL_COLUMN UNKNOWN_ELEMENT_IN_AST
      UNKNOWN_TYPE_OF_AST_NODE THERE_IS_NO_COLUMN TOO_DEEP_AST TOO_BIG_AST UNEXPECTED_AST_STRUCTURE SYNTAX_ERROR
      INCORRECT_DATA TYPE_MISMATCH VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE`,
    401: 'REQUIRED_PASSWORD',
    403: 'UNKNOWN_USER WRONG_PASSWORD AUTHENTICATION_FAILED SET_NON_GRANTED_ROLE ACCESS_DENIED',
    404: `UNKNOWN_TABLE UNKNOWN_FUNCTION UNKNOWN_IDENTIFIER UNKNOWN_TYPE UNKNOWN_STORAGE UNKNOWN_DATABASE
      UNKNOWN_SETTING UNKNOWN_DIRECTION_OF_SORTING UNKNOWN_AGGREGATE_FUNCTION UNKNOWN_FORMAT
      UNKNOWN_DATABASE_ENGINE UNKNOWN_TYPE_OF_QUERY UNKNOWN_ROLE`,
    408: 'TIMEOUT_EXCEEDED',
    413: 'QUERY_IS_TOO_LARGE',
    415: 'UNSUPPORTED_MEDIA_TYPE',
    501: 'NOT_IMPLEMENTED',
    503: 'SOCKET_TIMEOUT CANNOT_OPEN_FILE CANNOT_SCHEDULE_TASK TOO_MANY_SIMULTANEOUS_QUERIES',
  }).flatMap(([status, names]) => names.split(/\s+/u).map((name) => [name, Number(status)] as const)),
);

/** Codes of the errors that the HTTP front raises, by ClickHouse's names. */
const OWN_CODES = {
  SYNTAX_ERROR: 62,
  READONLY: 164,
  QUERY_IS_TOO_LARGE: 229,
  TOO_MANY_SIMULTANEOUS_QUERIES: 202,
  NOT_IMPLEMENTED: 48,
  AUTHENTICATION_FAILED: 516,
  UNKNOWN_QUERY_PARAMETER: 456,
  BAD_ARGUMENTS: 36,
  TIMEOUT_EXCEEDED: 159,
  INCORRECT_DATA: 117,
  NOT_ENOUGH_SPACE: 243,
} as const;

/** Error that the HTTP front raises, in the form of a ClickHouse error. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  constructor(errorName: keyof typeof OWN_CODES, message: string) {
    super(`Code: ${OWN_CODES[errorName]}. DB::Exception: ${message}. (${errorName})`);
  }
}

export interface WireError {
  readonly status: number;
  /** ClickHouse's error code, for `X-ClickHouse-Exception-Code`. */
  readonly code: number;
  /** The body: `Code: n. DB::Exception: … (NAME)`. */
  readonly body: string;
}

/** Reads code and name from a message of the engine. Any other error becomes UNKNOWN_EXCEPTION (1002). */
export function wireError(thrown: unknown): WireError {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const code = /^Code: (\d+)\./u.exec(message)?.[1];
  if (code === undefined) {
    return { status: 500, code: 1002, body: `Code: 1002. DB::Exception: ${message}. (UNKNOWN_EXCEPTION)` };
  }
  const name = [...message.matchAll(/\(([A-Z][A-Z0-9_]+)\)/gu)].at(-1)?.[1] ?? '';
  return { status: STATUS_BY_NAME.get(name) ?? 500, code: Number(code), body: message };
}

/** Sessions for all statements of spanscore but inserts. */
export const QUERY_SESSIONS = 6;

/** Sessions for the statements of other programs (curl, pandas, Grafana): slow statements can take these and no more. */
export const CLIENT_SESSIONS = 2;

/** Sessions that only inserts use, so that an insert never waits for a query. */
export const INSERT_SESSIONS = 4;

/** Limit of requests of one kind that wait for a session; the next one is refused with TOO_MANY_SIMULTANEOUS_QUERIES. */
export const MAX_WAITING = 256;

/** Limit of open connections. */
export const MAX_CONNECTIONS = 1024;

/** Limit of the request line and headers: queries with long parameters are in the URL (the server's own limit is 1 MiB). */
export const MAX_HEADER_BYTES = 2 * 1024 * 1024;

/** Limit of a statement in a body, after decompression, with inline data. */
export const MAX_STATEMENT_BYTES = 64 * 1024 * 1024;

/** Limit of the data of one insert, as sent. */
export const MAX_INSERT_BYTES = 1024 * 1024 * 1024;

/** Limit of the data of all inserts that are being received or run. */
export const MAX_SPOOLED_BYTES = 2 * 1024 * 1024 * 1024;

/** Threads of the child's libuv pool: one per session in use, and some for files. */
export const THREAD_POOL_SIZE = 20;

/** Time limit of a read of another program that names none (`max_execution_time`), seconds. */
export const STATEMENT_LIMIT_S = 60;

/** Largest time limit of such a read, seconds. */
export const MAX_STATEMENT_LIMIT_S = 6 * 3_600;

/** Time behind its limit after which a statement is cancelled: the engine's own error comes before, milliseconds. */
export const CANCEL_AFTER_MS = 500;

/** Time behind its limit after which a statement that cannot be cancelled costs the process, milliseconds. */
export const REPLACE_AFTER_MS = 10_000;

/** Time for the error of such a statement to leave the process, milliseconds. */
export const LAST_REPLY_MS = 200;

/** Free space in the data directory below which no reply is written to a file: inserts need it. */
export const MIN_FREE_REPLY_BYTES = 512 * 1024 * 1024;

/** Interval at which the free space is looked up while a reply is written, milliseconds. */
export const ROOM_CHECK_MS = 500;

/** Wait of a stopping or orphaned child for running statements, milliseconds. */
export const DRAIN_MS = 3_000;

/** Time for the replies to leave the process after their statements, milliseconds. */
export const REPLIES_MS = 1_000;

/** Time without progress of a reply, because its reader does not read, before the connection is closed, milliseconds. */
export const SEND_TIMEOUT_MS = 600_000;

/** Sessions for everything that is no insert: slow queries can take these and no more. */
export const QUERY_SESSIONS = 6;

/** Sessions that only inserts use, so that an insert never waits for a query. */
export const INSERT_SESSIONS = 4;

/** Sessions of all readers: they take no place of queries or inserts. */
export const READER_SESSIONS = 2;

/** Requests of readers that may wait for a session. */
export const MAX_WAITING_READERS = 32;

/** Sessions that clients name and that hold something: a setting, a temporary table. */
export const NAMED_SESSIONS = 32;

/** Requests of one kind that may wait for a session; the next is refused with TOO_MANY_SIMULTANEOUS_QUERIES. */
export const MAX_WAITING = 256;

/** Connections that the front keeps open. */
export const MAX_CONNECTIONS = 1024;

/** The request line and headers: queries with long parameters travel in the URL (the server's own limit is 1 MiB). */
export const MAX_HEADER_BYTES = 2 * 1024 * 1024;

/** A statement sent in a body, after decompression, inline data included. */
export const MAX_STATEMENT_BYTES = 64 * 1024 * 1024;

/** One block of compressed data, compressed or not: the largest that the Go client of ClickHouse makes or reads. */
export const MAX_BLOCK_BYTES = 128 * 1024 * 1024;

/** The data of one insert, as sent; of data in compressed blocks, decompressed. */
export const MAX_INSERT_BYTES = 1024 * 1024 * 1024;

/** The data of all inserts that are being received or run. */
export const MAX_SPOOLED_BYTES = 2 * 1024 * 1024 * 1024;

/** Threads of the child's libuv pool: one per session in use, and some for files. */
export const THREAD_POOL_SIZE = 16;

/** Wait of a stopping or orphaned child for running statements, milliseconds. */
export const DRAIN_MS = 3_000;

/** Time that a reply may stand still, because its reader does not read, before the connection is closed, milliseconds. */
export const SEND_TIMEOUT_MS = 600_000;

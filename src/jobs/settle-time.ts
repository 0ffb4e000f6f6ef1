/**
 * Time that a job waits after its begin when it replaces scores, milliseconds: scores stored before it then differ in time from its
 * own.
 */
export const SETTLE_MS = 1_000;

import { sha256Hex } from './identity.ts';

/** Longest session id that is a target id by itself, bytes. */
export const MAX_SESSION_ID_BYTES = 200;

/** Start of a target id that is the hash of a long session id. */
export const HASHED_SESSION = 'sha256:';

/** Returns the target id of a session: its id, or a hash of a long one. Queries of the store compute the same text. */
export function buildSessionTargetId(sessionId: string): string {
  return Buffer.byteLength(sessionId) > MAX_SESSION_ID_BYTES
    ? `${HASHED_SESSION}${sha256Hex(sessionId)}`
    : sessionId;
}

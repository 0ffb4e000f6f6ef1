import { randomUUID } from 'node:crypto';
import type { AuditStore } from '../contracts/access.ts';
import type { Database } from '../database.ts';

/** Creates the store of the writes through the API. */
export function createAuditStore(database: Database): AuditStore {
  return {
    // Two equal writes are two rows, so each insert has a token of its own.
    write: ({ tenant, token, action, subjects }) =>
      database.insertRows(
        'audit',
        [{ Tenant: tenant, Token: token, Action: action, Subjects: [...subjects] }],
        randomUUID(),
      ),
    async has(action, subject) {
      const rows = await database.rows(
        `SELECT 1 FROM audit WHERE WrittenAt > now64(3) - INTERVAL 1 DAY AND Action = {action:String}
          AND has(Subjects, {subject:String}) LIMIT 1`,
        { action, subject },
      );
      return rows.length > 0;
    },
  };
}

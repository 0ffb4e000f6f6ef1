import { randomBytes, randomUUID } from 'node:crypto';
import { StoreUnavailableError } from '../../domain/errors.ts';
import type { AuditRecord } from '../contracts/stores.ts';
import { type Database, readValue } from '../database.ts';

export function createAuditStore(database: Database) {
  return {
    // Two equal writes are two rows, so each insert has a token of its own.
    write: ({ tenant, token, action, subjects }: AuditRecord) =>
      database.insertRows(
        'audit',
        [{ Tenant: tenant, Token: token, Action: action, Subjects: [...subjects] }],
        randomUUID(),
      ),
    /** True when a write of the last 24 hours has the action and the subject. */
    async has(action: string, subject: string) {
      const rows = await database.rows(
        `SELECT 1 FROM audit WHERE WrittenAt > now64(3) - INTERVAL 1 DAY AND Action = {action:String}
          AND has(Subjects, {subject:String}) LIMIT 1`,
        { action, subject },
      );
      return rows.length > 0;
    },
  };
}

export type AuditStore = ReturnType<typeof createAuditStore>;

const KEY_BYTES = 32;

/** Most inserts under tokens that the store has seen: a person may have deleted the keys, and the store remembers the tokens. */
const MAX_ATTEMPTS = 10;

/** Creates the store of the key of cookies, the same for every process. The first read creates it. */
export function createCookieKeyStore(database: Database) {
  let known: string | undefined;
  return { read: async () => (known ??= (await readKey(database)) ?? (await createKey(database))) };
}

function readKey(database: Database): Promise<string | undefined> {
  return readValue<string>(database, 'SELECT Key FROM cookie_keys ORDER BY WrittenAt, Key LIMIT 1');
}

/** Inserts a key under a token that only one insert can have: of several processes, all read the key of the first one. */
async function createKey(database: Database): Promise<string> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const row = { Key: randomBytes(KEY_BYTES).toString('hex') };
    await database.insertRows('cookie_keys', [row], `cookie-key-${attempt}`);
    const key = await readKey(database);
    if (key !== undefined) {
      return key;
    }
  }
  throw new StoreUnavailableError('the key of sign-ins was not stored; try again');
}

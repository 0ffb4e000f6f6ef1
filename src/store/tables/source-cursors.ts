import { randomUUID } from 'node:crypto';
import type { CursorStore } from '../contracts/sources.ts';
import type { Database } from '../database.ts';

/** Creates the store of the cursors of sources. */
export function createCursorStore(database: Database): CursorStore {
  return {
    read: async (source) => {
      const rows = await database.rows<{ key: string; cursor: string }>(
        `SELECT Key AS key, argMax(Cursor, WrittenAt) AS cursor FROM source_cursors
         WHERE Source = {source:String} GROUP BY Key`,
        { source },
      );
      return new Map(rows.map(({ key, cursor }) => [key, JSON.parse(cursor) as unknown]));
    },
    // A place may come again, so each insert has a token of its own.
    write: (source, key, cursor) =>
      database.insertRows(
        'source_cursors',
        [{ Source: source, Key: key, Cursor: JSON.stringify(cursor) }],
        randomUUID(),
      ),
  };
}

import { randomUUID } from 'node:crypto';
import type { Database } from '../database.ts';

/** Creates the store of the cursors of sources of spans: a source may have several, by key. */
export function createCursorStore(database: Database) {
  return {
    read: async (source: string) => {
      const rows = await database.rows<{ key: string; cursor: string }>(
        `SELECT Key AS key, argMax(Cursor, WrittenAt) AS cursor FROM source_cursors
         WHERE Source = {source:String} GROUP BY Key`,
        { source },
      );
      return new Map(rows.map(({ key, cursor }) => [key, JSON.parse(cursor) as unknown]));
    },
    /** Records a place as JSON. The last one counts. A place may come again, so each insert has a token of its own. */
    write: (source: string, key: string, cursor: unknown) =>
      database.insertRows(
        'source_cursors',
        [{ Source: source, Key: key, Cursor: JSON.stringify(cursor) }],
        randomUUID(),
      ),
  };
}

export type CursorStore = ReturnType<typeof createCursorStore>;

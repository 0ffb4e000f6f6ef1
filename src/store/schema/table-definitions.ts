import type { Database } from '../database.ts';

/** Reads the CREATE statements of the tables, by name. */
export async function readDefinitions(database: Database): Promise<Map<string, string>> {
  const tables = await database.rows<{ name: string; definition: string }>(
    'SELECT name, create_table_query AS definition FROM system.tables WHERE database = {name:String}',
    { name: database.name },
  );
  return new Map(tables.map(({ name, definition }) => [name, definition]));
}

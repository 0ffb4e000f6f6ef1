import { rowsTable, statementTable } from '../cluster/cluster.ts';
import type { Database } from '../database.ts';

/** Reads the CREATE statements of the tables with rows, by the names that statements use. */
export async function readDefinitions(database: Database): Promise<Map<string, string>> {
  const tables = await database.rows<{ name: string; definition: string }>(
    'SELECT name, create_table_query AS definition FROM system.tables WHERE database = {name:String}',
    { name: database.name },
  );
  const { cluster } = database;
  return new Map(
    tables
      .filter(({ name }) => rowsTable(cluster, statementTable(cluster, name)) === name)
      .map(({ name, definition }) => [statementTable(cluster, name), definition]),
  );
}

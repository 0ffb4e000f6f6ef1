import { listOwnTables, type OwnTable } from './schema-file.ts';

/** Tables of secrets, which no reader may query. */
const SECRET: readonly string[] = ['cookie_keys'];

/** Lists the tables of the schema that SQL readers may query, by name. A reader can be limited to one tenant where rows have one. */
export function readableTables(): OwnTable[] {
  return listOwnTables().filter(({ name }) => !SECRET.includes(name));
}

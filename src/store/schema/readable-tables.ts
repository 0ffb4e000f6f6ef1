import { readMigrations } from './migration-files.ts';

/** Table of the schema that SQL readers may query. */
export interface ReadableTable {
  readonly name: string;
  /** True when each row has a tenant, so that a reader can be limited to one tenant. */
  readonly hasTenant: boolean;
}

const CREATE_TABLE = /^CREATE TABLE IF NOT EXISTS (\w+)\s*\(/u;

/** Tables of secrets, which no reader may query. */
const SECRET: readonly string[] = ['cookie_keys'];

/** Lists the tables that the migrations create and that readers may query, by name. */
export function readableTables(): ReadableTable[] {
  const tables = readMigrations()
    .flatMap(({ statements }) => statements)
    .flatMap((statement): ReadableTable[] => {
      const name = CREATE_TABLE.exec(statement)?.[1];
      return name === undefined || SECRET.includes(name)
        ? []
        : [{ name, hasTenant: /^\s*`Tenant` /mu.test(statement) }];
    });
  return tables.sort((a, b) => (a.name < b.name ? -1 : 1));
}

import { readMigrations } from './migration-files.ts';

/** A table of the schema, for those who may read it by SQL. */
export interface ReadableTable {
  readonly name: string;
  /** True when each row has a tenant, so that it can be shown to one tenant alone. */
  readonly hasTenant: boolean;
}

const CREATE_TABLE = /^CREATE TABLE IF NOT EXISTS (\w+)\s*\(/u;

/** The tables that the migrations make, by name. */
export function readableTables(): ReadableTable[] {
  const tables = readMigrations()
    .flatMap(({ statements }) => statements)
    .flatMap((statement): ReadableTable[] => {
      const name = CREATE_TABLE.exec(statement)?.[1];
      return name === undefined ? [] : [{ name, hasTenant: /^\s*`Tenant` /mu.test(statement) }];
    });
  return tables.sort((a, b) => (a.name < b.name ? -1 : 1));
}

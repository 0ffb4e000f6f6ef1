import { readMigrations } from './migration-files.ts';

/** Table that the migrations create. */
export interface OwnTable {
  readonly name: string;
  /** True when each row has a tenant. */
  readonly hasTenant: boolean;
}

const CREATE_TABLE = /^CREATE TABLE IF NOT EXISTS (\w+)\s*\(/u;

/** Lists the tables that the migrations create, by name. */
export function listOwnTables(): OwnTable[] {
  return readMigrations()
    .flatMap(({ statements }) => statements)
    .flatMap((statement): OwnTable[] => {
      const name = CREATE_TABLE.exec(statement)?.[1];
      return name === undefined ? [] : [{ name, hasTenant: /^\s*`Tenant` /mu.test(statement) }];
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

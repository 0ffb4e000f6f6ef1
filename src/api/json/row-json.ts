import { z } from '@hono/zod-openapi';
import { isTime, type Column, type RowOf, type Table } from '../../domain/table.ts';
import { Time } from '../resources/series-schema.ts';
import { isoTime } from './time-json.ts';

/** Value of a column in JSON: a time is a text in ISO 8601, or null. */
type JsonOf<C> = C extends { type: `${string}DateTime64${string}` }
  ? string | null
  : C extends Column<infer Value>
    ? Value
    : never;

/** Row of a table in JSON. */
type RowJson<T extends Table> = {
  [Name in keyof RowOf<T>]: Name extends keyof T['columns'] ? JsonOf<T['columns'][Name]> : never;
};

/** Formats a row as JSON: the columns of the table in camelCase, times in ISO 8601. */
export function rowJson<T extends Table>(table: T, row: RowOf<T>): RowJson<T> {
  const json: Record<string, unknown> = { ...row };
  for (const [name, column] of Object.entries<Column>(table.columns)) {
    if (isTime(column)) {
      json[name] = isoTime(json[name] as number | null);
    }
  }
  return json as RowJson<T>;
}

type SchemaOf<C> = C extends { isOptional: true }
  ? z.ZodOptional<z.ZodType<Exclude<JsonOf<C>, undefined>>>
  : z.ZodType<JsonOf<C>>;

/** Returns the schemas of the properties of a row in JSON. A list of objects needs a schema of its own. */
export function rowShape<T extends Table>(table: T) {
  const schemas = Object.entries<Column>(table.columns).map(([name, column]) => [name, schemaOf(column)]);
  return Object.fromEntries(schemas) as { [Name in keyof T['columns']]: SchemaOf<T['columns'][Name]> };
}

function schemaOf(column: Column): z.ZodType {
  const { type, meaning, isOptional = false } = column;
  const value = isTime(column) ? Time.nullable() : valueSchemaOf(column);
  const schema = type.startsWith('Nullable(') && !isTime(column) ? value.nullable() : value;
  const described = isOptional ? schema.optional() : schema;
  return meaning === undefined ? described : described.describe(meaning);
}

function valueSchemaOf({ type, values }: Column): z.ZodType {
  if (values !== undefined) {
    return z.enum(values);
  }
  return /^(?:Nullable\()?(?:UInt\d\d|Float)/u.test(type)
    ? z.number()
    : /Bool|UInt8/u.test(type)
      ? z.boolean()
      : z.string();
}

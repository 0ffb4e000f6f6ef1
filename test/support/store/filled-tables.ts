import { elementType, parseNativeType } from '../../../src/store/embedded/native-format.ts';
import { sqlString } from '../../../src/store/embedded/sql-statement.ts';
import { queryRows, runCommand, type ClickHouseAddress } from './clickhouse-query.ts';

// Rows for tables with any columns, for tests of readers' permissions.

/** Table with the columns that an INSERT may name. */
export interface TableColumns {
  readonly table: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

/** Lists the tables of a database, without the views. */
export async function listTables(address: ClickHouseAddress): Promise<TableColumns[]> {
  const rows = await queryRows<{ table: string; name: string; type: string }>(
    address,
    `SELECT table, name, type FROM system.columns WHERE database = '${address.database}' AND default_kind != 'MATERIALIZED'
     AND table IN (SELECT name FROM system.tables WHERE database = '${address.database}' AND engine LIKE '%MergeTree')
     ORDER BY table, position`,
  );
  return [...Map.groupBy(rows, ({ table }) => table)].map(([table, columns]) => ({
    table,
    columns: columns.map(({ name, type }) => ({ name, type })),
  }));
}

const NUMBER_TYPE = /^(?:U?Int\d+|Decimal)$/;

/** SQL for a value of a plain type. It differs for each `number`. */
const PLAIN_VALUES: Readonly<Record<string, string>> = {
  String: "concat('text € \\n', toString(number))",
  UUID: "toUUID(concat('01234567-89ab-4def-8123-', leftPad(toString(number), 12, '0')))",
  UInt8: 'number % 2',
  Bool: 'number % 2 = 0',
  Float32: 'number + 0.5',
  Float64: 'number + 0.5',
  Date: 'today() - number',
  DateTime: 'toDateTime(now() - number)',
  DateTime64: 'now64(9) - toIntervalMillisecond(number) - toIntervalNanosecond(1)',
  Enum8: 'toInt8(number % 2 + 1)',
  IPv4: 'toIPv4(toUInt32(number))',
};

/** Returns SQL for a value of the type. It differs for each `number`. */
function formatValue(type: string): string {
  const { name, parts } = parseNativeType(type);
  const [first = '', second = ''] = parts;
  switch (name) {
    case 'FixedString':
      return `toFixedString(toString(number), ${first})`;
    case 'LowCardinality':
      return formatValue(first);
    case 'SimpleAggregateFunction':
      return formatValue(second);
    case 'Nullable':
      return `if(number % 2 = 0, NULL, ${formatValue(first)})`;
    case 'Array':
      return `arrayMap(at -> ${formatValue(first)}, range(number % 3))`;
    case 'Tuple':
      return `tuple(${parts.map((part) => formatValue(elementType(part))).join(', ')})`;
    case 'Map': {
      const keys = "arrayMap(at -> concat('key ', toString(at)), range(number % 4))";
      return `mapFromArrays(${keys}, arrayMap(at -> ${formatValue(second)}, range(number % 4)))`;
    }
    default: {
      const value = NUMBER_TYPE.test(name) && name !== 'UInt8' ? 'number + 1' : PLAIN_VALUES[name];
      if (value === undefined) {
        throw new Error(`no value for a column of type ${type}`);
      }
      return value;
    }
  }
}

/** Inserts rows into a table, one for each number from `from` on. `values` has the SQL of some columns. */
export async function fillTable(
  address: ClickHouseAddress,
  { table, columns }: TableColumns,
  rows: number,
  values: Readonly<Record<string, string>> = {},
): Promise<void> {
  const names = columns.map(({ name }) => `\`${name}\``).join(', ');
  const selected = columns.map(
    ({ name, type }) => `CAST(${values[name] ?? formatValue(type)}, ${sqlString(type)})`,
  );
  await runCommand(
    address,
    `INSERT INTO ${table} (${names}) SELECT ${selected.join(', ')} FROM numbers(${rows})`,
  );
}

import { MIB } from '../../domain/byte-sizes.ts';
import { listDataTables } from '../backup/backup-tables.ts';
import type { Database } from '../database.ts';

/** Columns by which rows are divided into ranges of time: stamps of the store. */
const STAMPS = ['ArrivedAt', 'WrittenAt', 'ExportedAt', 'ChosenAt'];

/** Size of one copy: it is in memory as a whole. */
const COPY_BYTES = 32 * MIB;
const MOST_ROWS = 50_000;
const FEWEST_ROWS = 100;

/** Table with the SQL to compare and to copy it. */
export interface MovedTable {
  readonly name: string;
  /** Name with FINAL where versions of a row replace each other: only current rows are compared and copied. */
  readonly current: string;
  readonly isReplaced: boolean;
  /** Columns of a row, without computed ones. */
  readonly columns: readonly string[];
  /** Stamp of the store; undefined where there is none. */
  readonly stamp: string | undefined;
  /** Expression of a day or week, so that a copy reads few partitions. */
  readonly day: string;
  /** Text whose beginnings divide the rows evenly. */
  readonly divider: string;
  /** Columns that tell rows and their versions apart. */
  readonly compared: readonly string[];
  /** Rows of one copy. */
  readonly rowsPerCopy: number;
}

interface ColumnRow {
  readonly owner: string;
  readonly engine: string;
  readonly name: string;
  readonly type: string;
  readonly isKey: number;
  readonly bytes: string;
  readonly amount: string;
}

/** Reads the tables of a store that a move copies. */
export async function readMovedTables(source: Database): Promise<MovedTable[]> {
  const rows = await source.rows<ColumnRow>(
    `SELECT columns.table AS owner, tables.engine AS engine, columns.name AS name, columns.type AS type,
       columns.is_in_sorting_key AS isKey, size.bytes AS bytes, size.amount AS amount
     FROM system.columns AS columns
     INNER JOIN system.tables AS tables ON tables.database = columns.database AND tables.name = columns.table
     LEFT JOIN (
       SELECT table AS owner, sum(data_uncompressed_bytes) AS bytes, sum(rows) AS amount FROM system.parts
       WHERE database = currentDatabase() AND active GROUP BY table) AS size ON size.owner = columns.table
     WHERE columns.database = currentDatabase() AND columns.default_kind != 'MATERIALIZED'
       AND columns.table IN {tables:Array(String)}
     ORDER BY owner, columns.position`,
    { tables: listDataTables() },
  );
  return [...Map.groupBy(rows, ({ owner }) => owner)].map(([name, columns]) => describeTable(name, columns));
}

function describeTable(name: string, columns: readonly ColumnRow[]): MovedTable {
  const [first] = columns;
  const isReplaced = first?.engine !== 'MergeTree';
  const names = columns.map((column) => column.name);
  const stamp = STAMPS.find((each) => names.includes(each));
  const keys = columns.filter(({ isKey }) => isKey === 1).map((column) => column.name);
  const compared = isReplaced
    ? // A part of a table that joins its rows may have other rows joined: sets of texts have no order.
      columns.filter(({ type, isKey }) => isKey === 1 || isComparable(type)).map((column) => column.name)
    : [...new Set([...keys, ...(stamp === undefined ? [] : [stamp])])];
  const rowBytes = Number(first?.bytes ?? 0) / Math.max(1, Number(first?.amount ?? 0));
  return {
    name,
    current: isReplaced ? `${name} FINAL` : name,
    isReplaced,
    columns: names,
    stamp,
    day:
      stamp === undefined
        ? names.includes('ArrivedWeek')
          ? 'ArrivedWeek'
          : "toDate('1970-01-01')"
        : `toDate(${stamp}, 'UTC')`,
    divider: names.includes('TraceId') ? 'TraceId' : `hex(cityHash64(${keys.join(', ')}))`,
    compared,
    rowsPerCopy: Math.min(MOST_ROWS, Math.max(FEWEST_ROWS, Math.floor(COPY_BYTES / Math.max(1, rowBytes)))),
  };
}

/** Plain numbers, times and short texts: versions, stamps and states. Long texts expire by column and cost most. */
function isComparable(type: string): boolean {
  return /^(?:SimpleAggregateFunction\(\w+, )?(?:U?Int\d+|DateTime|Date|Float|UUID|LowCardinality)/u.test(
    type,
  );
}

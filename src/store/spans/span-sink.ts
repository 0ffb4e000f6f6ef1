import { randomUUID } from 'node:crypto';
import { readErrorMessage, StoreUnavailableError } from '../../domain/errors.ts';
import { LOG_COLUMNS, SPAN_COLUMNS, type IngestTable } from '../contracts/rows/columns.ts';
import type { RowBlock, SpanSink } from '../contracts/span-sink.ts';
import type { Database } from '../database.ts';

const COLUMNS: Record<IngestTable, readonly (readonly [string, string])[]> = {
  otel_traces: SPAN_COLUMNS,
  otel_logs: LOG_COLUMNS,
};

/** Lists its columns, because the store sets further columns itself (`ArrivedAt`). */
const STATEMENTS: Record<IngestTable, string> = {
  otel_traces: insertStatement('otel_traces', SPAN_COLUMNS),
  otel_logs: insertStatement('otel_logs', LOG_COLUMNS),
};

/** The sink that writes RowBinary blocks into our own tables. */
export function createSpanSink(database: Database): SpanSink {
  return {
    insert: async (block: RowBlock, token: string) => {
      if (block.rows > 0) {
        await database.insertBody(STATEMENTS[block.table], block.chunks, token);
      }
    },
    check: (table) => checkTable(database, table),
    probe: () => database.insertRows('write_probe', [{}]),
    readFreeBytes: () => readFreeBytes(database),
  };
}

/** Reads the free space of the disks; of replicas, the space of the one that answers. */
async function readFreeBytes(database: Database): Promise<number | null> {
  const [row] = await database.rows<{ free: number; disks: number }>(
    'SELECT sum(free_space) AS free, count() AS disks FROM system.disks',
  );
  return row === undefined || row.disks === 0 ? null : row.free;
}

/** Checks that the columns exist with the types of the written rows, and that an empty insert succeeds. */
async function checkTable(database: Database, table: IngestTable): Promise<void> {
  const found = await database.rows<{ name: string; type: string }>(
    `SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = {table:String}`,
    { table },
  );
  const types = new Map(found.map(({ name, type }) => [name, wireType(type)]));
  const wrong = COLUMNS[table].filter(([name, type]) => types.get(name) !== wireType(type));
  if (wrong.length > 0) {
    const columns = wrong.map(([name, type]) => `${name} ${type} (is ${types.get(name) ?? 'missing'})`);
    throw new StoreUnavailableError(
      `the table ${table} lacks columns: ${columns.join(', ')}; another program changed it: bring its columns back`,
    );
  }
  try {
    await database.insertBody(STATEMENTS[table], [], `check-${randomUUID()}`);
  } catch (cause) {
    throw new StoreUnavailableError(`the table ${table} takes no insert at all: ${readErrorMessage(cause)}`, {
      cause,
    });
  }
}

/** Ignores a dictionary, because it does not change the encoding of a value. */
function wireType(type: string): string {
  return type.replaceAll(/LowCardinality\((\w+)\)/g, '$1');
}

function insertStatement(table: IngestTable, columns: readonly (readonly [string, string])[]): string {
  return `INSERT INTO ${table} (${columns.map(([name]) => `\`${name}\``).join(', ')}) FORMAT RowBinary`;
}

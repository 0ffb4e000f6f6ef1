import { randomUUID } from 'node:crypto';
import { readErrorMessage, StoreUnavailableError } from '../../domain/errors.ts';
import { type IngestTable, LOG_COLUMNS, type RowBlock, SPAN_COLUMNS } from '../contracts/rows.ts';
import { bind, type Database } from '../database.ts';

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
export function createSpanSink(database: Database) {
  return {
    /**
     * Resolves only after every row of the block is durable in the table. Throws a `StoreUnavailableError` (retry the same
     * block with the same token) or a `StoreRejectedError` (the block will never be accepted). `token` identifies the block:
     * a repeat with the same token adds no second row, in the table or in derived tables.
     */
    insert: async (block: RowBlock, token: string) => {
      if (block.rows > 0) {
        await database.insertBody(STATEMENTS[block.table], block.chunks, token);
      }
    },
    ...bind(database, { check: checkTable, readFreeBytes }),
    /** Writes a row of a member that has left. Throws as `insert` does when the store takes none. */
    probe: () => database.insertRows('members', [{ Duty: PROBE_DUTY, Leaving: 1 }]),
  };
}

export type SpanSink = ReturnType<typeof createSpanSink>;

/** Duty of the member that a probe writes. No process has it. */
const PROBE_DUTY = 'probe';

/** Reads the free space of the disks, bytes; null when the store does not report it; of replicas, the space of the one that answers. */
async function readFreeBytes(database: Database): Promise<number | null> {
  const [row] = await database.rows<{ free: number; disks: number }>(
    'SELECT sum(free_space) AS free, count() AS disks FROM system.disks',
  );
  return row === undefined || row.disks === 0 ? null : row.free;
}

/**
 * Finds out after a refusal whether the rows or the table is the reason. Resolves when the table accepts inserts with the
 * sent columns. Throws a `StoreUnavailableError` when it does not; then no row of any sender can be stored.
 */
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

import { LOG_COLUMNS, SPAN_COLUMNS, type IngestTable } from './contracts/columns.ts';
import type { RowBlock, SpanSink } from './contracts/span-sink.ts';
import type { Database } from './database.ts';

/** Names its columns, so that those which the store sets itself (`ArrivedAt`) may follow. */
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
  };
}

function insertStatement(table: IngestTable, columns: readonly (readonly [string, string])[]): string {
  return `INSERT INTO ${table} (${columns.map(([name]) => `\`${name}\``).join(', ')}) FORMAT RowBinary`;
}

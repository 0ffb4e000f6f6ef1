import { SPAN_KINDS, STATUS_CODES } from '../../domain/trace/span.ts';
import type { UnknownWord } from '../contracts/store.ts';
import type { Database } from '../database.ts';
import { KIND, quoteTexts, STATUS } from './foreign-rows.ts';
import type { ForeignTable } from './foreign-schema.ts';

/** Most rows of a table that are looked at, and most words of a column that are told. */
const MAX_ROWS = 100_000_000;
const MAX_WORDS = 5;

/** Finds the words for status and kind of spans that no reading knows. An absent word counts as unset. */
export async function readUnknownWords(database: Database, { name }: ForeignTable): Promise<UnknownWord[]> {
  const columns = [
    ['StatusCode', STATUS, STATUS_CODES],
    ['SpanKind', KIND, SPAN_KINDS],
  ] as const;
  const queries = columns.map(
    ([column, read, known]) => `(SELECT '${column}' AS column, ${read} AS word, toString(count()) AS rows
      FROM ${name} AS origin GROUP BY word HAVING word NOT IN ${quoteTexts(['', ...known])}
      ORDER BY count() DESC, word LIMIT ${MAX_WORDS})`,
  );
  const rows = await database.rows<Record<keyof UnknownWord, string>>(
    `SELECT * FROM (${queries.join(' UNION ALL ')}) ORDER BY column DESC, toUInt64(rows) DESC, word
      SETTINGS max_rows_to_read = ${MAX_ROWS}, read_overflow_mode = 'break'`,
  );
  return rows.map(({ column, word, rows: count }) => ({ column, word, rows: Number(count) }));
}

import { queryRows, type ClickHouseAddress } from './clickhouse-query.ts';

/**
 * Searches every column of every table with rows, also of tables that a test does not know. Returns `table: text` for each text that a row has;
 * bytes in base64 are searched, too.
 */
export async function findTexts(address: ClickHouseAddress, texts: readonly string[]): Promise<string[]> {
  const tables = await queryRows<{ owner: string; columns: string[] }>(
    address,
    `SELECT table AS owner, groupArray(name) AS columns FROM system.columns
     WHERE database = '${address.database}' AND table IN (
       SELECT name FROM system.tables WHERE database = '${address.database}' AND engine LIKE '%MergeTree' AND total_rows > 0)
     GROUP BY table ORDER BY table`,
  );
  const needles = texts.map((text) => `'${text}'`).join(', ');
  const found = await Promise.all(
    tables.map(async ({ owner: name, columns }) => {
      const list = columns.map((column) => `\`${column}\``).join(', ');
      const rows = await queryRows<{ text: string }>(
        address,
        `SELECT DISTINCT arrayJoin(arrayFilter(text -> position(line, text) > 0, [${needles}])) AS text
         FROM (SELECT concat(formatRow('JSONEachRow', ${list})${columns.includes('Body') ? ', tryBase64Decode(Body)' : ''}) AS line FROM ${name})`,
      );
      return rows.map(({ text }) => `${name}: ${text}`);
    }),
  );
  return found.flat().toSorted();
}

export type CsvCell = string | number | null;

/** Begin of a text that a spreadsheet would run as a formula. */
const FORMULA = /^[=+\-@\t\r]/u;

/** Writes rows as CSV after RFC 4180. A text of a trace that would be a formula in a spreadsheet gets an apostrophe before it. */
export function writeCsv(columns: readonly string[], rows: readonly (readonly CsvCell[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(writeCell).join(',')}\r\n`).join('');
}

function writeCell(cell: CsvCell): string {
  if (typeof cell !== 'string') {
    return cell === null ? '' : String(cell);
  }
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

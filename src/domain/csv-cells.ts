/**
 * Texts that a spreadsheet computes: signs of a formula, also full-width ones, behind white space and characters without width. Signs `'`
 * in front count in, so that the one that prevents it can be taken away again. For JavaScript (`u`) and for RE2.
 */
export const COMPUTED_TEXT = String.raw`^'*[\p{Z}\p{Cc}\p{Cf}]*[=+\-@＝＋－＠\t\r\n]`;

const COMPUTED = new RegExp(COMPUTED_TEXT, 'u');

/** Puts `'` in front of a text that a spreadsheet would compute. */
export function protectCell(text: string): string {
  return COMPUTED.test(text) ? `'${text}` : text;
}

/** Returns the text that `protectCell` was given. */
export function unprotectCell(cell: string): string {
  return cell.startsWith("'") && COMPUTED.test(cell.slice(1)) ? cell.slice(1) : cell;
}

/** Text files that people hand in: editors and shells of Windows write UTF-16, or a byte order mark in front of UTF-8. */

/** Bytes that tell the encoding: the longest mark of UTF-16. The decoder of UTF-8 drops its mark by itself. */
const MARK_BYTES = 2;

/** Decodes a text: UTF-16 after its byte order mark, otherwise UTF-8. The mark is no part of the text. */
export function decodeText(text: Uint8Array | string): string {
  return typeof text === 'string' ? text.replace(/^\uFEFF/u, '') : createDecoder(text).decode(text);
}

/** Decodes a text that comes in chunks, as `decodeText` decodes a whole one. */
export async function* decodeTextChunks(
  chunks: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<string, void, undefined> {
  let decoder: ReturnType<typeof createDecoder> | undefined;
  let held = Buffer.alloc(0);
  for await (const chunk of chunks) {
    held = Buffer.concat([held, Buffer.from(chunk)]);
    if (decoder !== undefined || held.length >= MARK_BYTES) {
      decoder ??= createDecoder(held);
      yield decoder.decode(held, { stream: true });
      held = Buffer.alloc(0);
    }
  }
  yield (decoder ?? createDecoder(held)).decode(held);
}

function createDecoder([first, second]: Uint8Array) {
  const mark = `${first},${second}`;
  return new TextDecoder({ '255,254': 'utf-16le', '254,255': 'utf-16be' }[mark] ?? 'utf-8');
}

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

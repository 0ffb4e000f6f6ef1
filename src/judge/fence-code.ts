import { createHmac, randomBytes } from 'node:crypto';

/** Letters of a code. */
const CODE_LETTERS = 12;

/**
 * Letters that replace hex digits. A code with digits could look like a card number; the redaction would replace it by a
 * placeholder that anybody can guess.
 */
const LETTERS = 'ghijklmnopabcdef';

/** Secret of this process. */
const processSecret = randomBytes(32).toString('hex');

/** Computes the code on the marker lines around data: a keyed hash that nobody outside this process can compute. */
export function computeFenceCode(value: string): string {
  const hash = createHmac('sha256', processSecret).update(value).digest('hex').slice(0, CODE_LETTERS);
  return hash.replace(/[0-9a-f]/g, (digit) => LETTERS.charAt(Number.parseInt(digit, 16)));
}

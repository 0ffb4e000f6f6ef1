import { cutText } from '../../../domain/cut-text.ts';
import type { Finding } from './claims/statement-scorer-spec.ts';

/** Most findings or texts that an explanation names; the others are only counted. */
const MAX_NAMED = 5;
/** Longest text that an explanation names, in characters. */
const MAX_NAME_CHARS = 40;

/** Names findings: `"claim" (why); "claim" (why) and 3 more`. */
export function nameFindings(findings: readonly Finding[]): string {
  const named = findings
    .slice(0, MAX_NAMED)
    .map(({ statement, reason }) => (reason === undefined ? `"${statement}"` : `"${statement}" (${reason})`));
  const rest = findings.length - named.length;
  return rest > 0 ? `${named.join('; ')} and ${rest} more` : named.join('; ');
}

/** Names texts of a run, such as words or tools: `one, two and 3 more`. */
export function nameTexts(texts: readonly string[]): string {
  const named = texts.slice(0, MAX_NAMED).map((text) => cutText(text, MAX_NAME_CHARS));
  const rest = texts.length - named.length;
  return rest > 0 ? `${named.join(', ')} and ${rest} more` : named.join(', ');
}

/** Names texts behind a word that says what they are; nothing without texts. */
export function nameAfter(what: string, texts: readonly string[]): string {
  return texts.length === 0 ? '' : `; ${what}: ${nameTexts(texts)}`;
}

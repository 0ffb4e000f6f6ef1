import type { Finding } from './claims/statement-scorer-spec.ts';

/** Most findings that an explanation names; the others are only counted. */
const MAX_NAMED = 5;

/** Names findings: `"claim" (why); "claim" (why) and 3 more`. */
export function nameFindings(findings: readonly Finding[]): string {
  const named = findings
    .slice(0, MAX_NAMED)
    .map(({ statement, reason }) => (reason === undefined ? `"${statement}"` : `"${statement}" (${reason})`));
  const rest = findings.length - named.length;
  return rest > 0 ? `${named.join('; ')} and ${rest} more` : named.join('; ');
}

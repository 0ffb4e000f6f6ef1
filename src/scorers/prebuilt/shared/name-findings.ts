import type { Finding } from './claims/statement-scorer-spec.ts';

/** Findings named in one explanation; the rest is counted. */
const MAX_NAMED = 5;

/** `"claim" (why); "claim" (why) and 3 more`. */
export function nameFindings(findings: readonly Finding[]): string {
  const named = findings
    .slice(0, MAX_NAMED)
    .map(({ statement, reason }) => (reason === undefined ? `"${statement}"` : `"${statement}" (${reason})`));
  const rest = findings.length - named.length;
  return rest > 0 ? `${named.join('; ')} and ${rest} more` : named.join('; ');
}

import type { Finding } from './claims/statement-scorer-spec.ts';

/** Builds a stored verdict; without a reason when none was asked for. */
export function buildFinding(statement: string, verdict: string, reason: string): Finding {
  return { statement, verdict, ...(reason === '' ? {} : { reason }) };
}

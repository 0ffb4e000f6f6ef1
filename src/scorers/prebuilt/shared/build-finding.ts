import type { Finding } from './claims/statement-scorer-spec.ts';

/** A verdict as it is stored: without a reason where none was asked for. */
export function buildFinding(statement: string, verdict: string, reason: string): Finding {
  return { statement, verdict, ...(reason === '' ? {} : { reason }) };
}

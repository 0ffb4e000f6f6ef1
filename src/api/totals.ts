import type { ServerResponse } from 'node:http';
import type { Caller } from './api.ts';
import { sendProblem } from './problem.ts';

/** Refuses a token of one tenant that asks for totals over all tenants. Returns true when it sent the refusal. */
export function refuseTenant(response: ServerResponse, { tenant = '' }: Caller, totals: string): boolean {
  if (tenant === '') {
    return false;
  }
  const detail = `${totals} are totals over all tenants, and this token belongs to tenant ${tenant}; use a token without a tenant`;
  sendProblem(response, { status: 403, title: 'Forbidden', detail });
  return true;
}

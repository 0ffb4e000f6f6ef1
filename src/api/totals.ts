import type { ServerResponse } from 'node:http';
import type { Caller } from './api.ts';
import { sendProblem } from './problem.ts';

/** Answers a token of one tenant that asks for totals over all of them. Returns whether it did. */
export function refuseTenant(response: ServerResponse, { tenant = '' }: Caller, totals: string): boolean {
  if (tenant === '') {
    return false;
  }
  const detail = `${totals} are totals over all tenants, and this token is of tenant ${tenant}; use one without a tenant`;
  sendProblem(response, { status: 403, title: 'Forbidden', detail });
  return true;
}

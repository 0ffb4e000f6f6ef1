import { HTTPException } from 'hono/http-exception';
import type { Caller } from './access/request-access.ts';

/** Throws a 403 for a token of one tenant that asks for totals over all tenants. */
export function refuseTenant({ tenant = '' }: Caller, totals: string): void {
  if (tenant !== '') {
    const message = `${totals} are totals over all tenants, and this token belongs to tenant ${tenant}; use a token without a tenant`;
    throw new HTTPException(403, { message });
  }
}

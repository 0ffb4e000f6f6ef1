import { Hono } from 'hono';
import type { ReadinessCheck } from '../domain/readiness-check.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { ApiEnv } from './api-env.ts';
import { createReadiness } from './health.ts';
import { requireScope } from './router.ts';
import { HTTPException } from 'hono/http-exception';
import type { Caller } from './access/request-access.ts';

export interface ProbeOptions {
  /** Current checks of the readiness. */
  readonly checks: () => readonly ReadinessCheck[];
  readonly metrics: Pick<Metrics, 'add' | 'text'>;
  readonly log: Log;
}

/**
 * Creates `/healthz`, `/readyz` and `/metrics`, which every process has from its start on. Metrics are totals over all tenants. So
 * with tokens, they need a token with the scope `read` and without a tenant.
 */
export function createProbes({ checks, metrics, log }: ProbeOptions): Hono<ApiEnv> {
  const readiness = createReadiness(checks, log);
  return new Hono<ApiEnv>()
    .get('/healthz', (c) => c.json({ status: 'ok' }, 200, NO_STORE))
    .get('/readyz', async (c) => {
      const report = await readiness();
      return c.json(report, report.status === 'ready' ? 200 : 503, NO_STORE);
    })
    .get('/metrics', requireScope('read'), async (c) => {
      refuseTenant(c.var.caller, 'metrics');
      return c.body(await metrics.text(), 200, {
        'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      });
    });
}

const NO_STORE = { 'cache-control': 'no-store' };

/** Throws a 403 for a token of one tenant that asks for totals over all tenants. */
function refuseTenant({ tenant = '' }: Caller, totals: string): void {
  if (tenant !== '') {
    const message = `${totals} are totals over all tenants, and this token belongs to tenant ${tenant}; use a token without a tenant`;
    throw new HTTPException(403, { message });
  }
}

import type { Route } from './api.ts';
import { refuseTenant } from './totals.ts';

/**
 * Creates `GET /metrics`, for Prometheus. Metrics are totals over all tenants. So with tokens, the route needs a token with
 * the scope `read` and without a tenant.
 */
export function metricsRoute(text: () => Promise<string>): Route {
  return {
    method: 'GET',
    path: '/metrics',
    scope: 'read',
    handle: async (_, response, caller) => {
      if (refuseTenant(response, caller, 'metrics')) {
        return;
      }
      const body = await text();
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
      response.end(body);
    },
  };
}

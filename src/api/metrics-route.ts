import type { Route } from './api.ts';
import { refuseTenant } from './totals.ts';

/**
 * `GET /metrics`, for Prometheus. They are totals over all tenants: where there are tokens it takes one that may read, and
 * whose tenant is none in particular.
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

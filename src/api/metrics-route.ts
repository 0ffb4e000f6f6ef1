import type { Route } from './api.ts';
import { sendProblem } from './problem.ts';

/**
 * `GET /metrics`, for Prometheus. They are totals over all tenants: where there are tokens it takes one that may read, and
 * whose tenant is none in particular.
 */
export function metricsRoute(text: () => Promise<string>): Route {
  return {
    method: 'GET',
    path: '/metrics',
    scope: 'read',
    handle: async (_, response, { tenant = '' }) => {
      if (tenant !== '') {
        const detail = `metrics are totals over all tenants, and this token is of tenant ${tenant}; use one without a tenant`;
        sendProblem(response, { status: 403, title: 'Forbidden', detail });
        return;
      }
      const body = await text();
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
      response.end(body);
    },
  };
}

import type { Route } from './api.ts';
import { sendJson } from './problem.ts';
import { refuseTenant } from './totals.ts';

/** Creates `GET /api/v1/status`: the state of this process and its store. */
export function statusRoute(status: () => Promise<object>): Route {
  return {
    method: 'GET',
    path: '/api/v1/status',
    scope: 'read',
    handle: async (_, response, caller) => {
      if (!refuseTenant(response, caller, 'the numbers of the status')) {
        sendJson(response, 200, await status());
      }
    },
  };
}

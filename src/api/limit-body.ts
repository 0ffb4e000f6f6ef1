import type { MiddlewareHandler } from 'hono';
import type { ApiEnv } from './api-env.ts';
import { answerProblem } from './problem.ts';

/**
 * Refuses bodies above a limit in bytes, and bodies without a length: Node.js keeps senders to the length that they give. Own code,
 * because `hono/body-limit` needs the global `Request` replaced for the whole process.
 */
export function limitBody(maxBytes: number): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    if (c.req.header('transfer-encoding') !== undefined) {
      const detail = 'send the body with the header "content-length"';
      return answerProblem(c, { status: 411, title: 'Length required', detail });
    }
    if (Number(c.req.header('content-length') ?? 0) > maxBytes) {
      const detail = `the body is larger than the limit of ${maxBytes} bytes`;
      return answerProblem(c, { status: 413, title: 'Too large', detail });
    }
    return next();
  };
}

import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { z } from '@hono/zod-openapi';

/** Schema of an error reply (RFC 9457). */
export const ProblemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional(),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .describe('Faults of the input, each with the path of the value.'),
  })
  .openapi('Problem');

/** Error reply without its type. */
export type Problem = Omit<z.infer<typeof ProblemSchema>, 'type'>;

/** Headers of every error reply. */
export const PROBLEM_HEADERS = {
  'content-type': 'application/problem+json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};

/** Formats an error reply as JSON. */
export function problemJson(problem: Problem): string {
  return JSON.stringify({ type: 'about:blank', ...problem });
}

/** Builds an error reply. */
export function answerProblem(
  c: Pick<Context, 'body'>,
  problem: Problem,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return c.body(problemJson(problem), problem.status as ContentfulStatusCode, {
    ...PROBLEM_HEADERS,
    ...headers,
  });
}

/** Describes an error reply of a route. */
export function describeProblem(description: string) {
  return { description, content: { 'application/problem+json': { schema: ProblemSchema } } };
}

import type { ServerResponse } from 'node:http';

/** Error reply (RFC 9457). */
export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly detail?: string;
}

export function sendProblem(
  response: ServerResponse,
  problem: Problem,
  headers: Record<string, string> = {},
): void {
  const body = JSON.stringify({ type: 'about:blank', ...problem });
  response.writeHead(problem.status, { 'content-type': 'application/problem+json', ...headers }).end(body);
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(value));
}

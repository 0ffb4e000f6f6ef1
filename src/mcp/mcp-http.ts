import { createMcpHandler } from '@modelcontextprotocol/server';
import { createAsked, type SendRequest } from './ask.ts';
import { createMcpServer } from './mcp-server.ts';

/** Answers a request of the protocol. It keeps nothing between requests. */
export async function answerMcp(request: Request, send: SendRequest): Promise<Response> {
  return createMcpHandler(() => createMcpServer(createAsked(send))).fetch(request);
}

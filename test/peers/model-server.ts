import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { replyInDialect } from './model-dialects.ts';
import { ANSWER, ANSWERED, ASKED, CALL, FINAL_CALL } from './model-story.ts';

/** The model of the one story on loopback: OpenAI's interface, and what agents use of Anthropic's, Google's and Bedrock's. */
export interface ModelServer {
  /** Ends in `/v1`. */
  readonly url: string;
  close(): Promise<void>;
}

interface ModelRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly tools?: readonly { readonly name?: unknown }[];
  /** Chat completions, and Anthropic's messages. */
  readonly messages?: readonly { readonly role?: string; readonly content?: unknown }[];
  /** Gemini. */
  readonly contents?: unknown;
  /** Responses. */
  readonly instructions?: string;
  readonly input?: readonly { readonly type?: string }[];
}

const CREATED_S = 1_700_000_000;

/**
 * Asks for the tool first, and answers when the last message is the tool's result, or a chat offers no tool. A chat that offers
 * a tool for the final answer gets it as a call of that tool.
 */
export async function startModelServer(): Promise<ModelServer> {
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    void answer(request, response, count);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, count: number): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
  }
  const body = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}') as ModelRequest;
  if (request.url === '/v1/chat/completions') {
    const hasResult = body.tools === undefined || body.messages?.at(-1)?.role === 'tool';
    return body.stream === true
      ? streamChat(response, body, hasResult, count)
      : sendJson(response, chatCompletion(body, hasResult, count));
  }
  if (request.url === '/v1/responses' && body.stream !== true) {
    const hasResult = body.input?.at(-1)?.type === 'function_call_output';
    return sendJson(response, modelResponse(body, hasResult, count));
  }
  const reply = replyInDialect(request.url ?? '', body, count);
  if (reply !== undefined) {
    return 'body' in reply ? sendJson(response, reply.body) : sendEvents(response, reply.events);
  }
  response.writeHead(404, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message: `the model does not know ${request.url}` } }));
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Sends a stream; an event with a type is named by it. */
function sendEvents(response: ServerResponse, events: readonly object[]): void {
  const lines = events.flatMap((event) => [
    ...('type' in event ? [`event: ${String(event.type)}`] : []),
    `data: ${JSON.stringify(event)}\r\n`,
  ]);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(lines.map((line) => `${line}\r\n`).join(''));
}

function toolCall({ id, ...called }: typeof CALL) {
  return { id, type: 'function', function: called };
}

/** True when the chat offers a tool that takes the final answer. */
function offersFinalTool({ tools }: ModelRequest): boolean {
  return JSON.stringify(tools ?? []).includes(`"${FINAL_CALL.name}"`);
}

function chatUsage(hasResult: boolean) {
  const { input, output } = hasResult ? ANSWERED : ASKED;
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function chatCompletion(request: ModelRequest, hasResult: boolean, count: number) {
  const { model } = request;
  const call = hasResult ? FINAL_CALL : CALL;
  const isCall = !hasResult || offersFinalTool(request);
  const message = isCall ? { content: null, tool_calls: [toolCall(call)] } : { content: ANSWER };
  return {
    id: `chatcmpl-${count}`,
    object: 'chat.completion',
    created: CREATED_S,
    model: `${model}-2024-07-18`,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', ...message },
        finish_reason: isCall ? 'tool_calls' : 'stop',
      },
    ],
    usage: chatUsage(hasResult),
  };
}

function streamChat(
  response: ServerResponse,
  { model }: ModelRequest,
  hasResult: boolean,
  count: number,
): void {
  const head = {
    id: `chatcmpl-${count}`,
    object: 'chat.completion.chunk',
    created: CREATED_S,
    model: `${model}-2024-07-18`,
  };
  const deltas = hasResult
    ? (ANSWER.match(/.{1,16}/gsu) ?? []).map((content) => ({ content }))
    : [{ tool_calls: [{ index: 0, ...toolCall(CALL) }] }];
  const chunks = [
    ...[{ role: 'assistant', content: '' }, ...deltas].map((delta) => ({
      choices: [{ index: 0, delta, finish_reason: null }],
    })),
    { choices: [{ index: 0, delta: {}, finish_reason: hasResult ? 'stop' : 'tool_calls' }] },
    { choices: [], usage: chatUsage(hasResult) },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const chunk of chunks) {
    response.write(`data: ${JSON.stringify({ ...head, ...chunk })}\n\n`);
  }
  response.end('data: [DONE]\n\n');
}

function modelResponse({ model, instructions }: ModelRequest, hasResult: boolean, count: number) {
  const { input, output } = hasResult ? ANSWERED : ASKED;
  const item = hasResult
    ? {
        id: `msg_${count}`,
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: ANSWER, annotations: [] }],
      }
    : {
        id: `fc_${count}`,
        type: 'function_call',
        status: 'completed',
        call_id: CALL.id,
        name: CALL.name,
        arguments: CALL.arguments,
      };
  return {
    id: `resp_${count}`,
    object: 'response',
    created_at: CREATED_S,
    status: 'completed',
    instructions: instructions ?? null,
    model: `${model}-2024-07-18`,
    output: [item],
    parallel_tool_calls: true,
    tools: [],
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + output,
    },
  };
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The model of the one story, as an OpenAI-compatible server on loopback. */
export interface ModelServer {
  /** Ends in `/v1`. */
  readonly url: string;
  close(): Promise<void>;
}

interface ModelRequest {
  readonly model: string;
  readonly stream?: boolean;
  /** Chat completions. */
  readonly messages?: readonly { readonly role?: string }[];
  /** Responses. */
  readonly instructions?: string;
  readonly input?: readonly { readonly type?: string }[];
}

const CALL = { id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' };
const ANSWER = 'It is 18°C and rainy in Paris right now.';
const ASKED = { input: 81, output: 17 };
const ANSWERED = { input: 112, output: 14 };
const CREATED_S = 1_700_000_000;

/** Asks for the tool first, and answers as soon as the last message is the tool's result. */
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
    const hasResult = body.messages?.at(-1)?.role === 'tool';
    return body.stream === true
      ? streamChat(response, body, hasResult, count)
      : sendJson(response, chatCompletion(body, hasResult, count));
  }
  if (request.url === '/v1/responses' && body.stream !== true) {
    const hasResult = body.input?.at(-1)?.type === 'function_call_output';
    return sendJson(response, modelResponse(body, hasResult, count));
  }
  response.writeHead(404, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message: `the model does not know ${request.url}` } }));
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function toolCall() {
  return { id: CALL.id, type: 'function', function: { name: CALL.name, arguments: CALL.arguments } };
}

function chatUsage(hasResult: boolean) {
  const { input, output } = hasResult ? ANSWERED : ASKED;
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function chatCompletion({ model }: ModelRequest, hasResult: boolean, count: number) {
  const message = hasResult ? { content: ANSWER } : { content: null, tool_calls: [toolCall()] };
  return {
    id: `chatcmpl-${count}`,
    object: 'chat.completion',
    created: CREATED_S,
    model: `${model}-2024-07-18`,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', ...message },
        finish_reason: hasResult ? 'stop' : 'tool_calls',
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
    : [{ tool_calls: [{ index: 0, ...toolCall() }] }];
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

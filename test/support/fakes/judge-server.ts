import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';

/** One request to the server. */
export interface JudgeServerRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Body of the chat-completions request. */
  readonly body: {
    model: string;
    temperature?: number;
    stream?: boolean;
    response_format?: { type: string; json_schema?: { schema: unknown; strict?: boolean } };
    messages: { role: string; content: unknown }[];
    [key: string]: unknown;
  };
  /** Text of the system message, '' without one. */
  readonly system: string;
  /** Text of the first user message: the scorer's prompt. */
  readonly prompt: string;
  /** Text of the last message. Differs from `prompt` when the scorer asks again after a faulty reply. */
  readonly lastMessage: string;
  /** Number of the request on this server, from 1. */
  readonly count: number;
}

export interface ScriptedText {
  readonly kind: 'text';
  readonly text: string | null;
  readonly finishReason?: string;
  readonly refusal?: string;
  readonly usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens: number };
  } | null;
  readonly toolCalls?: { id: string; name: string; args: unknown }[];
  /** Delay before the first byte, milliseconds. */
  readonly delayMs?: number;
}

export type ScriptedReply =
  | ScriptedText
  | {
      readonly kind: 'raw';
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body: string;
    }
  /** Sends the head and a part of the body, then resets the connection. */
  | { readonly kind: 'break-off' }
  /** Resets the connection without sending a byte. */
  | { readonly kind: 'reset' }
  /** Sends a byte of white space every `everyMs`, without end. */
  | { readonly kind: 'never-ending'; readonly everyMs: number }
  /** Sends the head and a part of the body, then nothing more. */
  | { readonly kind: 'stall' }
  /** Never answers. */
  | { readonly kind: 'hang' };

export type JudgeScript = (request: JudgeServerRequest) => ScriptedReply | Promise<ScriptedReply>;

export interface JudgeServer {
  /** URL that ends in `/v1`, for a provider's `baseURL`. */
  readonly baseUrl: string;
  readonly requests: JudgeServerRequest[];
  /** Replaces the script. */
  script(next: JudgeScript): void;
  close(): Promise<void>;
}

/** Builds a reply with this text. */
export function replyText(text: string, more: Partial<ScriptedText> = {}): ScriptedReply {
  return { kind: 'text', text, ...more };
}

/** Builds a reply with this value as JSON. */
export function replyJson(value: unknown, more: Partial<ScriptedText> = {}): ScriptedReply {
  return replyText(JSON.stringify(value), more);
}

/** A question of the Decisions API. */
interface AskedDecision {
  readonly name: string;
  readonly instructions: string;
  readonly choices: readonly { readonly value: string }[];
}

/** Answers choices of the Decisions API with probabilities of their options; an option that is not named has none. */
export function replyDecisions(
  { body }: JudgeServerRequest,
  decide: (question: AskedDecision) => Readonly<Record<string, number>>,
): ScriptedReply {
  const answers = (body['questions'] as AskedDecision[]).map((question) => {
    const shares = decide(question);
    const probabilities = question.choices.map(({ value }) => ({ value, probability: shares[value] ?? 0 }));
    const { value: choice } = probabilities.reduce((a, b) => (b.probability > a.probability ? b : a));
    return { type: 'choice', name: question.name, choice, probabilities };
  });
  const usage = { input_tokens: Math.ceil(JSON.stringify(body).length / 4), output_tokens: 0 };
  return {
    kind: 'raw',
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: body.model, answers, usage }),
  };
}

function errorReply(status: number, message: string, headers: Record<string, string> = {}): ScriptedReply {
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error', code: null, param: null } });
  return { kind: 'raw', status, headers: { 'content-type': 'application/json', ...headers }, body };
}

/** Every kind of faulty reply, by name. None of them may become a score. */
export const judgeFaults = {
  garbage: () => replyText('lorem ipsum %% dolor'),
  garbageBody: (): ScriptedReply => ({
    kind: 'raw',
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '}{ not json',
  }),
  wrongEnvelope: (): ScriptedReply => ({
    kind: 'raw',
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '{"answer":42}',
  }),
  html: (): ScriptedReply => ({
    kind: 'raw',
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<!doctype html><html><body>Please sign in</body></html>',
  }),
  badRequest: (message = 'bad request') => errorReply(400, message),
  unauthorised: () => errorReply(401, 'Incorrect API key provided'),
  forbidden: () => errorReply(403, 'Country not supported'),
  notFound: () => errorReply(404, 'The model does not exist'),
  conflict: () => errorReply(409, 'conflict'),
  rateLimited: (retryAfter?: string) =>
    errorReply(429, 'Rate limit reached', retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
  serverError: (status = 500) => errorReply(status, 'The server had an error'),
  refusal: (): ScriptedReply => ({ kind: 'text', text: null, refusal: 'I cannot help with that.' }),
  contentFilter: () => replyText('', { finishReason: 'content_filter' }),
  truncated: () => replyText('{"verdicts":[{"verd', { finishReason: 'length' }),
  empty: () => replyText(''),
  emptyBody: (): ScriptedReply => ({
    kind: 'raw',
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '',
  }),
  breakOff: (): ScriptedReply => ({ kind: 'break-off' }),
  reset: (): ScriptedReply => ({ kind: 'reset' }),
  neverEnding: (everyMs = 5): ScriptedReply => ({ kind: 'never-ending', everyMs }),
  stall: (): ScriptedReply => ({ kind: 'stall' }),
  hang: (): ScriptedReply => ({ kind: 'hang' }),
  wrongSchema: () => replyJson({ unexpected: true }),
  huge: (bytes = 10_000_000) => replyText('x'.repeat(bytes)),
};

/** Starts an OpenAI-compatible server on loopback. The script computes each reply from the request. */
export async function startJudgeServer(script: JudgeScript): Promise<JudgeServer> {
  let current = script;
  const requests: JudgeServerRequest[] = [];
  const server = createServer((request, response) => {
    void answer(request, response, requests, (got) => current(got));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    script: (next) => {
      current = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  requests: JudgeServerRequest[],
  script: JudgeScript,
): Promise<void> {
  const body = await textOf(request).catch(() => undefined);
  if (body === undefined) {
    // The client closed the connection before it sent the whole request.
    return;
  }
  const path = request.url ?? '';
  if (request.method !== 'POST' || !/\/(chat\/completions|decisions)$/.test(path)) {
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end('{"error":{"message":"no such path"}}');
    return;
  }
  const got = readRequest(path, request, body, requests.length + 1);
  requests.push(got);
  try {
    await send(response, got, await script(got));
  } catch (error) {
    response.writeHead(500, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: `the test's script threw: ${String(error)}` } }));
  }
}

function readRequest(
  path: string,
  request: IncomingMessage,
  text: string,
  count: number,
): JudgeServerRequest {
  const body = JSON.parse(text) as JudgeServerRequest['body'];
  const said = (role: string): string =>
    contentText(body.messages?.find((message) => message.role === role)?.content);
  return {
    path,
    headers: request.headers,
    body,
    system: said('system'),
    prompt: said('user'),
    lastMessage: contentText(body.messages?.at(-1)?.content),
    count,
  };
}

function contentText(content: unknown): string {
  if (typeof content === 'string') {
    return content;
  }
  if (!Array.isArray(content)) {
    return '';
  }
  return content.map((part: { text?: string }) => part.text ?? '').join('');
}

async function send(
  response: ServerResponse,
  request: JudgeServerRequest,
  reply: ScriptedReply,
): Promise<void> {
  switch (reply.kind) {
    case 'text':
      if (reply.delayMs !== undefined) {
        await new Promise((resolve) => setTimeout(resolve, reply.delayMs));
      }
      return request.body.stream === true
        ? sendStream(response, request, reply)
        : sendCompletion(response, request, reply);
    case 'raw':
      response.writeHead(reply.status, reply.headers);
      response.end(reply.body);
      return;
    case 'reset':
      response.destroy();
      return;
    case 'hang':
      return;
    case 'break-off':
    case 'stall':
    case 'never-ending':
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"id":"x","choices":[');
      return continueBrokenBody(response, reply);
  }
}

function continueBrokenBody(
  response: ServerResponse,
  reply: Exclude<ScriptedReply, { kind: 'text' | 'raw' | 'reset' | 'hang' }>,
): void {
  if (reply.kind === 'break-off') {
    setTimeout(() => response.destroy(), 5);
    return;
  }
  if (reply.kind === 'never-ending') {
    const timer = setInterval(() => response.write(' '), reply.everyMs);
    response.on('close', () => clearInterval(timer));
  }
}

function buildUsage(reply: ScriptedText, request: JudgeServerRequest) {
  if (reply.usage === null) {
    return undefined;
  }
  const usage = reply.usage ?? {
    prompt_tokens: Math.ceil(JSON.stringify(request.body.messages).length / 4),
    completion_tokens: Math.ceil((reply.text ?? '').length / 4),
  };
  return { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens };
}

function buildToolCalls(reply: ScriptedText) {
  return reply.toolCalls?.map((call, index) => ({
    index,
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.args) },
  }));
}

function sendCompletion(response: ServerResponse, request: JudgeServerRequest, reply: ScriptedText): void {
  const toolCalls = buildToolCalls(reply);
  const message = {
    role: 'assistant',
    content: reply.text,
    ...(reply.refusal === undefined ? {} : { refusal: reply.refusal }),
    ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }),
  };
  const finish = reply.finishReason ?? (toolCalls === undefined ? 'stop' : 'tool_calls');
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify({
      id: `chatcmpl-${request.count}`,
      object: 'chat.completion',
      created: 1_700_000_000,
      model: request.body.model,
      choices: [{ index: 0, message, finish_reason: finish }],
      usage: buildUsage(reply, request),
    }),
  );
}

function sendStream(response: ServerResponse, request: JudgeServerRequest, reply: ScriptedText): void {
  const toolCalls = buildToolCalls(reply);
  const chunk = (choices: unknown[], usage?: unknown): void => {
    const body = {
      id: `chatcmpl-${request.count}`,
      created: 1_700_000_000,
      model: request.body.model,
      choices,
    };
    response.write(`data: ${JSON.stringify({ ...body, object: 'chat.completion.chunk', usage })}\n\n`);
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  chunk([{ index: 0, delta: { role: 'assistant', content: '' } }]);
  for (const piece of (reply.text ?? '').match(/.{1,16}/gsu) ?? []) {
    chunk([{ index: 0, delta: { content: piece } }]);
  }
  if (toolCalls !== undefined) {
    chunk([{ index: 0, delta: { tool_calls: toolCalls } }]);
  }
  const finish = reply.finishReason ?? (toolCalls === undefined ? 'stop' : 'tool_calls');
  chunk([{ index: 0, delta: {}, finish_reason: finish }]);
  chunk([], buildUsage(reply, request));
  response.end('data: [DONE]\n\n');
}

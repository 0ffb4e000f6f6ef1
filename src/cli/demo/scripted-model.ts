import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InvalidInputError, readErrorMessage } from '../../domain/errors.ts';
import { SCENARIOS } from './scenarios.ts';
import { answerAsJudge } from './scripted-judge.ts';

export interface ScriptedModel {
  /** Base address of an OpenAI-compatible API, ending in `/v1`. */
  readonly url: string;
  close(): Promise<void>;
}

interface ChatMessage {
  readonly role: string;
  readonly content?: string | { readonly text?: string }[] | null;
}

interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
}

interface Reply {
  readonly text: string | null;
  readonly toolCall?: { readonly name: string; readonly args: unknown };
}

const MAX_BODY_BYTES = 1024 * 1024;

/** Starts the scripted model of the demonstration on loopback. It serves as the agent's model and as the judge. */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const server = createServer((request, response) => {
    void handle(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
      sendJson(response, 404, { error: { message: 'this server only knows POST /v1/chat/completions' } });
      return;
    }
    const chat = JSON.parse(await readBody(request)) as ChatRequest;
    sendJson(response, 200, readCompletion(chat, replyTo(chat)));
  } catch (error) {
    sendJson(response, 400, { error: { message: readErrorMessage(error) } });
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BODY_BYTES) {
      throw new InvalidInputError(`the request is larger than ${MAX_BODY_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function readText(message: ChatMessage | undefined): string {
  const content = message?.content;
  return Array.isArray(content) ? content.map((part) => part.text ?? '').join('') : (content ?? '');
}

function replyTo({ messages }: ChatRequest): Reply {
  const asked = readText(messages.find(({ role }) => role === 'user'));
  const judged = answerAsJudge(asked);
  if (judged !== undefined) {
    return { text: judged };
  }
  const scenario = SCENARIOS.find(({ question }) => question === asked);
  if (scenario === undefined) {
    throw new InvalidInputError('the scripted model answers only the questions of the demonstration');
  }
  const hasResult = messages.at(-1)?.role === 'tool';
  return scenario.city === undefined || hasResult
    ? { text: scenario.answer }
    : { text: null, toolCall: { name: 'get_weather', args: { city: scenario.city } } };
}

/** Average characters of a token: the counts are shown, not billed. */
const CHARS_PER_TOKEN = 4;

function readCompletion({ model, messages }: ChatRequest, { text, toolCall }: Reply): unknown {
  const promptTokens = Math.ceil(JSON.stringify(messages).length / CHARS_PER_TOKEN);
  const completionTokens = Math.ceil((text ?? JSON.stringify(toolCall)).length / CHARS_PER_TOKEN);
  const toolCalls =
    toolCall === undefined
      ? {}
      : {
          tool_calls: [
            {
              id: `call_${promptTokens}`,
              type: 'function',
              function: { name: toolCall.name, arguments: JSON.stringify(toolCall.args) },
            },
          ],
        };
  return {
    id: `chatcmpl-${promptTokens}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text, ...toolCalls },
        finish_reason: toolCall === undefined ? 'stop' : 'tool_calls',
      },
    ],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  };
}

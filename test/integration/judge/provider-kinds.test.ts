import { createServer, type IncomingMessage, type Server } from 'node:http';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { JUDGE_KIND_NAMES, judgeKindOf } from '../../../src/domain/judge-kinds.ts';
import type { JudgeError } from '../../../src/judge/judge-error.ts';
import { createJudgeRegistry } from '../../../src/judge/judge-registry.ts';
import { withJudgeScope } from '../../../src/judge/judge-scope.ts';
import { askForObject } from '../../../src/judge/judge.ts';

// The real package of each kind against a server that speaks its wire: what it sends and reads is the package's own.

const VERDICT = JSON.stringify({ verdict: 'yes' });

interface Reply {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Replies of a wire: a verdict, and the faults that every provider has. */
interface Wire {
  readonly path: RegExp;
  readonly verdict: (text: string) => object;
  readonly refusal: Reply;
  /** The reply `text`, cut at the output limit. */
  readonly cut: (text: string) => object;
  readonly unauthorised: Reply;
  readonly limited: Reply;
}

const ok = (body: object): Reply => ({ status: 200, body });
const openaiError = (status: number, code: string): Reply => ({
  status,
  body: { error: { message: code, type: code, code } },
});

const chat = (text: string | null, finish: string, refusal?: string) => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'judge-1',
  choices: [
    {
      index: 0,
      finish_reason: finish,
      message: { role: 'assistant', content: text, ...(refusal === undefined ? {} : { refusal }) },
    },
  ],
  usage: { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 },
});

const CHAT: Wire = {
  path: /\/chat\/completions/,
  verdict: (text) => chat(text, 'stop'),
  refusal: ok(chat(null, 'content_filter')),
  cut: (text) => chat(text, 'length'),
  unauthorised: openaiError(401, 'invalid_api_key'),
  limited: openaiError(429, 'rate_limit_exceeded'),
};

const responses = (content: object, status = 'completed', reason?: string) => ({
  id: 'r',
  object: 'response',
  created_at: 1,
  model: 'judge-1',
  status,
  incomplete_details: reason === undefined ? null : { reason },
  output: [{ type: 'message', id: 'm', role: 'assistant', status, content: [content] }],
  usage: {
    input_tokens: 100,
    output_tokens: 5,
    total_tokens: 105,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  },
});
const outputText = (text: string) => ({ type: 'output_text', text, annotations: [] });

const RESPONSES: Wire = {
  path: /\/responses/,
  verdict: (text) => responses(outputText(text)),
  refusal: ok(responses({ type: 'refusal', refusal: 'I cannot help with that.' })),
  cut: (text) => responses(outputText(text), 'incomplete', 'max_output_tokens'),
  unauthorised: openaiError(401, 'invalid_api_key'),
  limited: openaiError(429, 'rate_limit_exceeded'),
};

const message = (text: string, stop: string) => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'judge-1',
  content: text === '' ? [] : [{ type: 'text', text }],
  stop_reason: stop,
  stop_sequence: null,
  usage: { input_tokens: 100, output_tokens: 5 },
});
const anthropicError = (status: number, type: string): Reply => ({
  status,
  body: { type: 'error', error: { type, message: type } },
});

const MESSAGES: Wire = {
  path: /\/messages/,
  verdict: (text) => message(text, 'end_turn'),
  refusal: ok(message('', 'refusal')),
  cut: (text) => message(text, 'max_tokens'),
  unauthorised: anthropicError(401, 'authentication_error'),
  limited: anthropicError(429, 'rate_limit_error'),
};

const candidate = (text: string, finish: string) => ({
  candidates: [
    {
      content: text === '' ? {} : { role: 'model', parts: [{ text }] },
      finishReason: finish,
      index: 0,
    },
  ],
  usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 5, totalTokenCount: 105 },
  modelVersion: 'judge-1',
});

const GEMINI: Wire = {
  path: /:generateContent/,
  verdict: (text) => candidate(text, 'STOP'),
  refusal: ok(candidate('', 'SAFETY')),
  cut: (text) => candidate(text, 'MAX_TOKENS'),
  unauthorised: {
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'API key not valid. Please pass a valid API key.',
        status: 'INVALID_ARGUMENT',
        details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
      },
    },
  },
  limited: { status: 429, body: { error: { code: 429, message: 'slow', status: 'RESOURCE_EXHAUSTED' } } },
};

const converse = (text: string, stop: string) => ({
  output: { message: { role: 'assistant', content: text === '' ? [] : [{ text }] } },
  stopReason: stop,
  usage: { inputTokens: 100, outputTokens: 5, totalTokens: 105 },
  metrics: { latencyMs: 5 },
});
const awsError = (status: number, type: string): Reply => ({
  status,
  body: { message: type, type },
  headers: { 'x-amzn-errortype': type },
});

const CONVERSE: Wire = {
  path: /\/converse$/,
  verdict: (text) => converse(text, 'end_turn'),
  refusal: ok(converse('', 'guardrail_intervened')),
  cut: (text) => converse(text, 'max_tokens'),
  unauthorised: awsError(403, 'UnrecognizedClientException'),
  limited: awsError(429, 'ThrottlingException'),
};

const cohere = (text: string, finish: string) => ({
  id: 'c',
  finish_reason: finish,
  message: { role: 'assistant', content: text === '' ? [] : [{ type: 'text', text }] },
  usage: {
    billed_units: { input_tokens: 100, output_tokens: 5 },
    tokens: { input_tokens: 100, output_tokens: 5 },
  },
});

const COHERE: Wire = {
  path: /\/chat$/,
  verdict: (text) => cohere(text, 'COMPLETE'),
  refusal: ok(cohere('', 'ERROR_TOXIC')),
  cut: (text) => cohere(text, 'MAX_TOKENS'),
  unauthorised: { status: 401, body: { message: 'invalid api token' } },
  limited: { status: 429, body: { message: 'rate limit' } },
};

const KINDS: readonly [kind: string, wire: Wire, settings: Record<string, unknown>][] = [
  ['openai', RESPONSES, { use: 'openai', apiKey: 'k' }],
  ['openai chat', CHAT, { use: 'openai', apiKey: 'k', api: 'chat' }],
  ['openai-compatible', CHAT, {}],
  ['anthropic', MESSAGES, { use: 'anthropic', apiKey: 'k' }],
  ['google', GEMINI, { use: 'google', apiKey: 'k' }],
  ['google-vertex', GEMINI, { use: 'google-vertex', apiKey: 'k' }],
  [
    'amazon-bedrock',
    CONVERSE,
    { use: 'amazon-bedrock', region: 'eu-central-1', accessKeyId: 'a', secretAccessKey: 's' },
  ],
  ['azure', RESPONSES, { use: 'azure', apiKey: 'k' }],
  [
    'azure deployments',
    CHAT,
    { use: 'azure', apiKey: 'k', useDeploymentBasedUrls: true, apiVersion: '2024-10-21', api: 'chat' },
  ],
  ['mistral', CHAT, { use: 'mistral', apiKey: 'k' }],
  ['groq', CHAT, { use: 'groq', apiKey: 'k' }],
  ['xai', RESPONSES, { use: 'xai', apiKey: 'k' }],
  ['cohere', COHERE, { use: 'cohere', apiKey: 'k' }],
  ['deepseek', CHAT, { use: 'deepseek', apiKey: 'k' }],
  ['togetherai', CHAT, { use: 'togetherai', apiKey: 'k' }],
  ['fireworks', CHAT, { use: 'fireworks', apiKey: 'k' }],
];

test.each(JUDGE_KIND_NAMES)('the kind %s has an installed package of its range, and a row above', (name) => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies: Record<string, string>;
    peerDependencies: Record<string, string>;
  };
  const kind = judgeKindOf('x', { use: name });
  const range = { ...peerDependencies, ...dependencies }[kind?.package ?? ''];
  expect(range?.split('.')[0]).toBe(kind?.range);
  // Its models decide, they do not chat: the package has no language model.
  expect(KINDS.some(([row]) => row.split(' ', 1)[0] === name)).toBe(name !== 'typesafe-ai');
});

let server: Server;
let address: string;
let reply: Reply;
const seen: { url: string; headers: IncomingMessage['headers']; body: string }[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      seen.push({ url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
      response.end(JSON.stringify(reply.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => server.close());
beforeEach(() => {
  seen.length = 0;
});

let entries = 0;

/** Asks a new provider, so that no breaker and no remembered setting of another test counts. */
function ask(settings: Record<string, unknown>) {
  entries += 1;
  const name = `p${entries}`;
  const judges = createJudgeRegistry({
    providers: { [name]: { baseURL: address, ...settings } },
    limits: { maxRetries: 0, timeoutMs: 20_000 },
  });
  const question = {
    instructions: 'Judge it.',
    prompt: 'Is it so?',
    schema: z.object({ verdict: z.enum(['yes', 'no']) }),
  };
  return withJudgeScope({ judges }, () => askForObject(`${name}/judge-1`, question));
}

async function fault(settings: Record<string, unknown>): Promise<JudgeError> {
  const outcome = await ask(settings).then(
    (value) => value,
    (error: unknown) => error as JudgeError,
  );
  expect(outcome).toBeInstanceOf(Error);
  return outcome as JudgeError;
}

describe.each(KINDS)('a judge of the kind %s', (_kind, wire, settings) => {
  test('answers a question, with its usage', async () => {
    reply = ok(wire.verdict(VERDICT));
    const { value, execution } = await ask(settings);
    expect(value).toEqual({ verdict: 'yes' });
    expect(execution.usage).toMatchObject({ inputTokens: 100, outputTokens: 5 });
    expect(seen[0]?.url).toMatch(wire.path);
  });

  test('names a refused key', async () => {
    reply = wire.unauthorised;
    expect(await fault(settings)).toMatchObject({ code: 'judge_unauthorised' });
  });

  test('names a limited rate', async () => {
    reply = wire.limited;
    expect(await fault(settings)).toMatchObject({ code: 'judge_rate_limited' });
  });

  test('names a refusal, which is no score', async () => {
    reply = wire.refusal;
    expect(await fault(settings)).toMatchObject({ code: 'judge_refused' });
  });

  test.each([
    ['cut at the output limit', (text: string) => wire.cut(text.slice(0, 8))],
    ['whole, but cut at the output limit', (text: string) => wire.cut(text)],
  ])('does not use a reply that is %s', async (_name, cut) => {
    reply = ok(cut(VERDICT));
    expect(await fault(settings)).toMatchObject({
      code: 'judge_malformed',
      message: expect.stringMatching(/\bcut\b/),
    });
  });

  test('does not use a reply whose JSON ends early', async () => {
    reply = ok(wire.verdict(VERDICT.slice(0, 10)));
    expect(await fault(settings)).toMatchObject({ code: 'judge_malformed' });
  });
});

test.each([
  ['anthropic', 'x-api-key', /^k$/],
  ['google', 'x-goog-api-key', /^k$/],
  ['openai', 'authorization', /^Bearer k$/],
  [
    'amazon-bedrock',
    'authorization',
    /^AWS4-HMAC-SHA256 Credential=a\/\d{8}\/eu-central-1\/bedrock\/aws4_request, SignedHeaders=[a-z;-]*host[a-z;-]*, Signature=[0-9a-f]{64}$/,
  ],
])('a judge of the kind %s shows its key in %s', async (name, header, shown) => {
  const [, wire = CHAT, settings = {}] = KINDS.find(([kind]) => kind === name) ?? [];
  reply = ok(wire.verdict(VERDICT));
  await ask(settings);
  expect(seen[0]?.headers[header]).toMatch(shown);
});

test('keys from the environment reach no foreign address', async () => {
  for (const name of [
    'OPENAI_API_KEY',
    'ANTHROPIC_API_KEY',
    'GOOGLE_GENERATIVE_AI_API_KEY',
    'AZURE_API_KEY',
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'MISTRAL_API_KEY',
    'GROQ_API_KEY',
    'XAI_API_KEY',
    'COHERE_API_KEY',
    'DEEPSEEK_API_KEY',
    'TOGETHER_API_KEY',
    'FIREWORKS_API_KEY',
  ]) {
    vi.stubEnv(name, 'from-the-environment');
  }
  for (const [, wire, { apiKey: _key, accessKeyId: _id, secretAccessKey: _secret, ...settings }] of KINDS) {
    reply = ok(wire.verdict(VERDICT));
    await ask(settings);
  }
  vi.unstubAllEnvs();
  expect(seen).toHaveLength(KINDS.length);
  for (const { headers, url } of seen) {
    expect(`${url} ${JSON.stringify(headers)}`).not.toMatch(
      /from-the-environment|"(authorization|x-api-key|api-key|x-goog-api-key|x-amz-\S+)"/,
    );
  }
});

test('headers of an entry are sent, keys among them', async () => {
  reply = ok(MESSAGES.verdict(VERDICT));
  await ask({ use: 'anthropic', headers: { 'x-team': 'a', 'x-api-key': 'mine' } });
  expect(seen[0]?.headers).toMatchObject({ 'x-team': 'a', 'x-api-key': 'mine' });
});

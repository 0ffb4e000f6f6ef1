import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { JudgeBatches } from '../../../src/judge/batches.ts';
import { createJudgeRegistry } from '../../../src/judge/judge-registry.ts';
import { withJudgeScope } from '../../../src/judge/judge-scope.ts';
import { askForObject } from '../../../src/judge/judge.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

// A question in a batch of Anthropic and of Google, through their packages, against servers with the wires of their batch interfaces.

interface Request {
  readonly custom_id?: string;
  readonly params?: object;
  readonly metadata?: object;
  readonly request?: object;
}

const VERDICT = '{"verdict":"yes"}';
const now = () => new Date().toISOString();

/** Batch of Anthropic, or its results. */
function showAnthropic(requests: readonly Request[], { url = '' }: IncomingMessage, base: string): string {
  if (url.endsWith('/results')) {
    const usage = { input_tokens: 10, output_tokens: 2 };
    const content = [{ type: 'text', text: VERDICT }];
    const message = { type: 'message', role: 'assistant', content, stop_reason: 'end_turn', usage };
    const result = { type: 'succeeded', message };
    return requests.map(({ custom_id }) => JSON.stringify({ custom_id, result })).join('\n');
  }
  return JSON.stringify({
    id: 'b',
    type: 'message_batch',
    processing_status: 'ended',
    request_counts: { processing: 0, succeeded: 1, errored: 0, canceled: 0, expired: 0 },
    created_at: now(),
    expires_at: now(),
    results_url: `${base}/messages/batches/b/results`,
  });
}

/** Batch of Google, with its results. */
function showGoogle(requests: readonly Request[]): string {
  const content = { role: 'model', parts: [{ text: VERDICT }] };
  const response = {
    candidates: [{ content, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 },
  };
  const inlinedResponses = requests.map(({ metadata }) => ({ metadata, response }));
  const output = { inlinedResponses: { inlinedResponses } };
  const metadata = { state: 'BATCH_STATE_SUCCEEDED', createTime: now(), output };
  return JSON.stringify({ name: 'batches/b', metadata, done: true });
}

let server: Server | undefined;
afterEach(() => server?.close());

it.each([
  ['anthropic', 'claude-haiku-4-5', true],
  ['anthropic', 'claude-3-haiku-20240307', false],
  ['google', 'gemini-2.5-flash', true],
])('a batch of %s asks %s, with a schema: %s', async (kind, model, hasSchema) => {
  let requests: readonly Request[] = [];
  server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      const base = `http://${request.headers.host}`;
      if (request.method === 'POST') {
        const body = JSON.parse(Buffer.concat(chunks as Buffer[]).toString()) as {
          requests?: Request[];
          batch?: { inputConfig: { requests: { requests: Request[] } } };
        };
        requests = body.requests ?? body.batch?.inputConfig.requests.requests ?? [];
      }
      const shown = kind === 'google' ? showGoogle(requests) : showAnthropic(requests, request, base);
      response.writeHead(200, { 'content-type': 'application/json' }).end(shown);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { judges } = new JudgeBatches(
    {
      judges: createJudgeRegistry({ providers: { work: { use: kind, baseURL, apiKey: 'k' } } }),
      prices: [],
      job: 'job',
      save: async () => undefined,
      signal: new AbortController().signal,
      log: silentLog,
      times: { quietMs: 20, pollMs: [5, 20] },
    },
    [],
  );
  const schema = z.object({ verdict: z.enum(['yes', 'no']) });
  const question = { instructions: 'Judge it.', prompt: 'Is it so?', schema };

  const answer = await withJudgeScope({ judges }, () => askForObject(`work/${model}`, question));

  expect(answer).toMatchObject({
    value: { verdict: 'yes' },
    execution: { usage: { inputTokens: 10, outputTokens: 2 } },
  });
  expect(requests).toHaveLength(1);
  expect(JSON.stringify(requests).includes('"additionalProperties"')).toBe(hasSchema);
});

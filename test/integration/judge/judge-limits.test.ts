import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JudgeCall } from '../../../src/judge/judge-execution.ts';
import { withJudgeScope } from '../../../src/judge/judge-scope.ts';
import { configureJudges, type JudgesConfig } from '../../../src/judge/judge-registry.ts';
import { askForObject } from '../../../src/judge/judge.ts';
import { replyJson, startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';

const Verdict = z.object({ verdict: z.enum(['yes', 'no']) });
const Verdicts = z.object({ verdicts: z.array(z.object({ n: z.number(), reason: z.string() })) });
const question = { instructions: 'Judge it.', prompt: 'Is it so?', schema: Verdict };

let server: JudgeServer;
let models = 0;

beforeAll(async () => {
  server = await startJudgeServer(() => replyJson({ verdict: 'yes' }));
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
  server.script(() => replyJson({ verdict: 'yes' }));
});

/** Configures a judge that no other test has taught anything about, and returns its name. */
function freshJudge(config: (name: string) => Partial<JudgesConfig> = () => ({})): string {
  models += 1;
  const name = `local/limited-${models}`;
  configureJudges({
    providers: { local: { baseURL: server.baseUrl } },
    limits: { firstRetryMs: 1, maxRetryWaitMs: 50, timeoutMs: 20_000 },
    ...config(name),
  });
  return name;
}

const limitsSent = () => server.requests.map(({ body }) => body['max_tokens']);

/** Builds the body of a completion with this message and usage. */
function completion(message: object, finish: string, usage?: object) {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }];
  const body = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage };
  return { kind: 'raw', status: 200, body: JSON.stringify(body) } as const;
}

describe('the output limit of a question', () => {
  test('is at least 500 tokens, follows the form of the reply, and can be set', async () => {
    const name = freshJudge((judge) => ({ options: { [judge]: { maxOutputTokens: 77 } } }));
    await askForObject(name, question);
    const other = freshJudge();
    await askForObject(other, question);
    server.script(() => replyJson({ verdicts: [] }));
    await askForObject(other, { ...question, prompt: 'x'.repeat(12_000), schema: Verdicts });
    expect(limitsSent()).toEqual([77, 500, 8_192]);
  });

  test('is named in the error of a reply that it cut, which is asked for once more', async () => {
    server.script(() =>
      completion({ content: '{"verdict":' }, 'length', { prompt_tokens: 90, completion_tokens: 500 }),
    );
    await expect(askForObject(freshJudge(), question)).rejects.toMatchObject({
      code: 'judge_malformed',
      message: expect.stringContaining('cut off at 500 tokens'),
    });
    expect(server.requests).toHaveLength(2);
  });

  test('leaves a model that thinks room for its thoughts, from its first thoughts on', async () => {
    const name = freshJudge();
    server.script(({ count }) =>
      count % 2 === 1
        ? completion({ content: '', reasoning_content: 'Let me see, the sky' }, 'length')
        : replyJson({ verdict: 'no' }),
    );
    await askForObject(name, question);
    await askForObject(name, question).catch(() => undefined);
    expect(limitsSent().slice(0, 3)).toEqual([500, 16_500, 16_500]);
  });

  test('is left out for a model that refuses it', async () => {
    const name = freshJudge();
    server.script(({ body }) =>
      body['max_tokens'] === undefined
        ? replyJson({ verdict: 'yes' })
        : {
            kind: 'raw',
            status: 400,
            body: JSON.stringify({
              error: { message: "Unsupported parameter: 'max_tokens' is not supported" },
            }),
          },
    );
    await askForObject(name, question);
    await askForObject(name, question);
    expect(limitsSent()).toEqual([500, undefined, undefined]);
  });
});

describe('the usage of a reply', () => {
  const price = (judge: string) => ({ prices: { [judge]: { input: 1, output: 10 } } });
  const content = { content: '{"verdict":"yes"}' };

  test.each([
    [
      'thoughts that only the total counts',
      { prompt_tokens: 100, completion_tokens: 10, total_tokens: 610 },
      0.0052,
    ],
    ['a plain usage', { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }, 0.0002],
  ])('costs %s', async (_what, usage, costUsd) => {
    server.script(() => completion(content, 'stop', usage));
    const { execution } = await askForObject(freshJudge(price), question);
    expect(execution.cost).toBeCloseTo(costUsd, 9);
  });

  test.each([
    ['none', undefined],
    ['an empty one', {}],
    ['one of zeros', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
  ])('costs the estimate where the server sends %s', async (_what, usage) => {
    server.script(() => completion(content, 'stop', usage));
    const calls: JudgeCall[] = [];
    await withJudgeScope({ onCall: (call) => calls.push(call) }, () =>
      askForObject(freshJudge(price), question),
    );
    // 500 tokens of output, and some for the prompt.
    expect(calls[0]?.cost).toBeGreaterThan(0.005);
    expect(calls[0]?.usage).toBeUndefined();
  });
});

test('a server with one slot answers sixteen questions at once without a time-out', async () => {
  let last = Promise.resolve();
  server.script(async () => {
    last = last.then(() => sleep(100));
    await last;
    return replyJson({ verdict: 'yes' });
  });
  const name = freshJudge(() => ({ limits: { timeoutMs: 1_000, maxRetries: 0 } }));
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, index) => askForObject(name, { ...question, prompt: `Is ${index} so?` })),
  );
  expect(answers.map(({ value }) => value.verdict)).toEqual(Array<string>(16).fill('yes'));
});

test('the time limit of a judge is its own, and a local judge has five minutes', async () => {
  server.script(() => ({ kind: 'hang' }));
  const name = freshJudge((judge) => ({
    limits: { maxRetries: 0 },
    options: { [judge]: { timeoutMs: 60 } },
  }));
  await expect(askForObject(name, question)).rejects.toMatchObject({
    code: 'judge_timeout',
    message: 'the judge did not answer within 60 ms',
  });
});

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { JudgeError } from '../../../src/judge/judge-error.ts';
import { configureJudges, type JudgesConfig } from '../../../src/judge/judge-registry.ts';
import { askForText } from '../../../src/judge/judge.ts';
import {
  judgeFaults,
  replyText,
  startJudgeServer,
  type JudgeServer,
} from '../../support/fakes/judge-server.ts';

const MODEL = 'local/reader';
let server: JudgeServer;

beforeAll(async () => {
  server = await startJudgeServer(() => replyText('Fine.'));
});
afterAll(() => server.close());
beforeEach(() => configure());

function configure(options: JudgesConfig['options'] = {}): void {
  server.requests.length = 0;
  configureJudges({ providers: { local: { baseURL: server.baseUrl } }, options });
}

/** Asks about this many characters; the server says that it has read this many tokens. */
async function ask(chars: number, read: number | null): Promise<unknown> {
  server.script(() =>
    replyText('Fine.', { usage: read === null ? null : { prompt_tokens: read, completion_tokens: 5 } }),
  );
  return askText('a word '.repeat(Math.ceil(chars / 7)).slice(0, chars));
}

function askText(prompt: string): Promise<unknown> {
  return askForText(MODEL, { instructions: 'Judge it.', prompt, settings: { maxRetries: 0 } }).then(
    ({ value }) => value,
    (error: unknown) => error,
  );
}

const CUT = { code: 'judge_window', retryable: true, retryAfterMs: 300_000 };

test('an answer about 2,050 of 51,000 characters is no answer, and one about the whole is', async () => {
  const cut = (await ask(51_000, 2050)) as JudgeError;
  expect(cut).toMatchObject(CUT);
  expect(cut.message).toMatch(
    /2050 of about 12752 tokens.*OLLAMA_CONTEXT_LENGTH.*judges\.options\.local\/reader\.contextTokens/,
  );
  expect(cut.message.length).toBeLessThan(480);
  expect(cut.execution).toMatchObject({ modelCallCount: 1, usage: { inputTokens: 2050 } });
  expect(await ask(51_000, 2050)).toMatchObject(CUT);
  expect(await ask(51_000, 12_400)).toBe('Fine.');
});

test.each([
  ['a short question of which few tokens were read', 4000, 20],
  ['a long question whose tokens nobody counted', 51_000, null],
  ['a question in a script with long tokens', 51_000, 6400],
])('%s is answered', async (_what, chars, read) => {
  expect(await ask(chars, read)).toBe('Fine.');
});

test('a model that has shown two characters a token has not read 20,000 characters in 4,096 tokens', async () => {
  expect(await ask(20_000, 4096)).toBe('Fine.');
  configure();
  await ask(5000, 2500);
  expect(await ask(20_000, 4096)).toMatchObject(CUT);
});

test.each([
  ["This model's maximum context length is 4096 tokens. However, you requested 9000 tokens.", 4096],
  ['request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it', 4096],
  ['prompt is too long: 215000 tokens > 200000 maximum', 200_000],
  ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', 1_048_576],
  ['litellm.ContextWindowExceededError: this is too much', 4096],
])('a refusal for the length is learned: %s', async (words, tokens) => {
  configure({ [MODEL]: { contextTokens: 8192 } });
  server.script(() => judgeFaults.badRequest(words));
  const refused = (await askText('word '.repeat(6000))) as JudgeError;
  expect(refused).toMatchObject(CUT);
  expect(refused.message).toContain(String(words.includes('litellm') ? 3751 : tokens));
});

test('a question longer than its known window is not sent', async () => {
  configure({ [MODEL]: { contextTokens: 4096 } });
  expect(await ask(51_000, 12_400)).toMatchObject(CUT);
  expect(server.requests).toHaveLength(0);
});

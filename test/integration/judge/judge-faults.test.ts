import { acceptedSettings } from '../../../src/judge/retry.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { JudgeError, type JudgeErrorCode } from '../../../src/judge/judge-error.ts';
import { configureJudges, createJudgeRegistry, type JudgeLimits } from '../../../src/judge/judge-registry.ts';
import { withJudgeScope } from '../../../src/judge/judge-scope.ts';
import { askForObject, askForText } from '../../../src/judge/judge.ts';
import {
  judgeFaults,
  replyJson,
  replyText,
  startJudgeServer,
  type JudgeServer,
  type ScriptedReply,
} from '../../support/fakes/judge-server.ts';

const Verdict = z.object({ verdict: z.enum(['yes', 'no']) });
const question = { instructions: 'Judge it.', prompt: 'Is it so?', schema: Verdict };

let server: JudgeServer;
let models = 0;

beforeAll(async () => {
  server = await startJudgeServer(() => replyJson({ verdict: 'yes' }));
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
  configure();
});

function configure(limits: Partial<JudgeLimits> = {}): void {
  configureJudges({
    providers: { local: { baseURL: server.baseUrl } },
    limits: { firstRetryMs: 1, maxRetryWaitMs: 50, timeoutMs: 20_000, ...limits },
  });
}

/** A model that no other test has taught anything about. */
function freshModel(): string {
  models += 1;
  return `local/model-${models}`;
}

async function failure(asked: Promise<unknown>): Promise<JudgeError> {
  const outcome = await asked.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  expect(outcome).not.toHaveProperty('value');
  const { error } = outcome as { error: unknown };
  expect(error).toBeInstanceOf(JudgeError);
  return error as JudgeError;
}

type Fault = [
  name: string,
  code: JudgeErrorCode,
  mayPass: boolean,
  calls: number,
  says: RegExp,
  reply: () => ScriptedReply,
  limits?: Partial<JudgeLimits>,
];

const FAULTS: Fault[] = [
  [
    'words that are no JSON',
    'judge_malformed',
    false,
    2,
    /not one complete JSON value that stands alone/,
    judgeFaults.garbage,
  ],
  ['a body that is no JSON', 'judge_malformed', false, 3, /not the form of its API/, judgeFaults.garbageBody],
  [
    'JSON that is no chat completion',
    'judge_malformed',
    false,
    3,
    /not the form of its API/,
    judgeFaults.wrongEnvelope,
  ],
  ['a web page with status 200', 'judge_unavailable', true, 1, /web page .*baseURL/, judgeFaults.html],
  [
    'HTTP 400',
    'judge_misconfigured',
    false,
    1,
    /HTTP 400 .*context too long/,
    () => judgeFaults.badRequest('context too long'),
  ],
  ['HTTP 401', 'judge_unauthorised', true, 1, /HTTP 401 .*Incorrect API key/, judgeFaults.unauthorised],
  ['HTTP 403', 'judge_unauthorised', true, 1, /HTTP 403/, judgeFaults.forbidden],
  ['HTTP 404', 'judge_misconfigured', true, 1, /no such model or path/, judgeFaults.notFound],
  ['HTTP 409', 'judge_unavailable', true, 3, /HTTP 409/, judgeFaults.conflict],
  ['HTTP 408', 'judge_unavailable', true, 3, /HTTP 408/, () => judgeFaults.serverError(408)],
  ['HTTP 429', 'judge_rate_limited', true, 3, /HTTP 429/, () => judgeFaults.rateLimited()],
  ['HTTP 500', 'judge_unavailable', true, 3, /HTTP 500/, () => judgeFaults.serverError(500)],
  ['HTTP 503', 'judge_unavailable', true, 3, /HTTP 503/, () => judgeFaults.serverError(503)],
  [
    'a redirect',
    'judge_misconfigured',
    true,
    1,
    /redirects to http:\/\/127.0.0.1:9\/v1/,
    () => ({ kind: 'raw', status: 307, headers: { location: 'http://127.0.0.1:9/v1' }, body: '' }),
  ],
  [
    'a quota that is used up',
    'judge_unauthorised',
    true,
    1,
    /refuses the key or the account/,
    () => ({
      kind: 'raw',
      status: 429,
      headers: { 'content-type': 'application/json' },
      body: '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}',
    }),
  ],
  ['a refusal', 'judge_refused', false, 1, /refused to answer: I cannot help/, judgeFaults.refusal],
  ['a content filter', 'judge_refused', false, 1, /filtered/, judgeFaults.contentFilter],
  [
    'a reply cut off at the output limit',
    'judge_malformed',
    false,
    2,
    /cut off at \d+ tokens/,
    judgeFaults.truncated,
  ],
  ['an empty reply', 'judge_malformed', false, 2, /empty/, judgeFaults.empty],
  ['an empty body', 'judge_malformed', false, 3, /not the form of its API/, judgeFaults.emptyBody],
  [
    'a connection that breaks off within the body',
    'judge_unavailable',
    true,
    3,
    /broke off/,
    judgeFaults.breakOff,
  ],
  ['a connection that is reset', 'judge_unavailable', true, 3, /could not be reached/, judgeFaults.reset],
  [
    'a reply that never ends',
    'judge_timeout',
    true,
    1,
    /did not answer within 800 ms/,
    () => judgeFaults.neverEnding(),
    { timeoutMs: 800 },
  ],
  [
    'a reply that falls silent',
    'judge_timeout',
    true,
    1,
    /did not answer within 800 ms/,
    judgeFaults.stall,
    { timeoutMs: 800 },
  ],
  [
    'no reply at all',
    'judge_timeout',
    true,
    1,
    /did not answer within 800 ms/,
    judgeFaults.hang,
    { timeoutMs: 800 },
  ],
  [
    'JSON of another shape',
    'judge_malformed',
    false,
    2,
    /does not match the schema \(verdict: /,
    judgeFaults.wrongSchema,
  ],
  [
    'a verdict that is none of the known ones',
    'judge_malformed',
    false,
    2,
    /verdict: /,
    () => replyJson({ verdict: 'maybe' }),
  ],
  [
    'two answers that differ',
    'judge_malformed',
    false,
    2,
    /stands alone/,
    () => replyText('{"verdict":"yes"} or rather {"verdict":"no"}'),
  ],
  [
    'a tool call instead of an answer',
    'judge_malformed',
    false,
    2,
    /empty/,
    () => ({ kind: 'text', text: null, toolCalls: [{ id: '1', name: 'f', args: {} }] }),
  ],
  [
    'a reply larger than the limit',
    'judge_malformed',
    false,
    1,
    /larger than 10000 bytes/,
    () => judgeFaults.huge(100_000),
    { maxReplyBytes: 10_000 },
  ],
];

test.each(FAULTS)(
  'a judge that answers with %s is %s and gives no value',
  async (_name, code, retryable, calls, says, reply, limits) => {
    configure(limits);
    server.script(reply);

    const error = await failure(askForObject(freshModel(), question));

    expect(error).toMatchObject({ code, retryable, message: expect.stringMatching(says) as string });
    expect(server.requests).toHaveLength(calls);
    // Two calls are those to an answer that cannot be used, and once more; a refusal is an answer, every other fault is none.
    const isAnswer = calls === 2 || code === 'judge_refused';
    expect(error.execution).toMatchObject({
      status: 'failed',
      prompt: 'Is it so?',
      modelCallCount: isAnswer ? calls : 0,
      error: { name: 'JudgeError', code },
    });
    expect(error.execution).not.toHaveProperty('output');
  },
);

describe('faults of the address', () => {
  test.each([
    ['a closed port', () => 'http://127.0.0.1:1/v1'],
    ['an unknown host name', () => 'http://no-such-host.invalid/v1'],
    ['TLS spoken to a plain server', () => server.baseUrl.replace('http:', 'https:')],
  ])('%s is judge_unavailable', async (_name, address) => {
    configureJudges({ providers: { local: { baseURL: address() } }, limits: { firstRetryMs: 1 } });

    const error = await failure(askForObject(freshModel(), question));

    expect(error).toMatchObject({ code: 'judge_unavailable', retryable: true });
  });

  test('an unknown provider is judge_misconfigured and says which are known', async () => {
    const error = await failure(askForObject('nowhere/model', question));

    expect(error.code).toBe('judge_misconfigured');
    expect(error.message).toMatch(/known are openai, openai-compatible, anthropic, .*, local;/);
  });

  test('a name without a provider is judge_misconfigured', async () => {
    const error = await failure(askForObject('gpt-5-mini', question));

    expect(error.message).toContain('write provider/model');
  });
});

describe('a judge that mends itself', () => {
  test('is asked again with the fault named, and both calls are counted', async () => {
    server.script(({ count }) =>
      count === 1 ? replyJson({ verdict: 'perhaps' }) : replyJson({ verdict: 'no' }),
    );

    server.requests.length = 0;
    const { value, execution } = await askForObject(freshModel(), question);

    expect(value).toEqual({ verdict: 'no' });
    expect(execution).toMatchObject({ status: 'success', attemptCount: 2, modelCallCount: 2 });
    expect(server.requests[1]?.lastMessage).toMatch(/cannot be used: it does not match the schema \(verdict/);
    const sent = server.requests.map((request) => JSON.stringify(request.body.messages).length);
    expect(execution.usage?.inputTokens).toBe(sent.reduce((sum, chars) => sum + Math.ceil(chars / 4), 0));
  });

  test('may fail a check of the caller once', async () => {
    server.script(({ count }) => replyJson({ verdict: count === 1 ? 'yes' : 'no' }));

    const check = ({ verdict }: { verdict: string }): string | undefined =>
      verdict === 'yes' ? 'statement 2 has no verdict' : undefined;
    const { value } = await askForObject(freshModel(), { ...question, check });

    expect(value).toEqual({ verdict: 'no' });
    expect(server.requests[1]?.lastMessage).toContain('statement 2 has no verdict');
  });

  test('is repeated after a 429 with a short Retry-After', async () => {
    server.script(({ count }) =>
      count === 1 ? judgeFaults.rateLimited('0') : replyJson({ verdict: 'yes' }),
    );

    const { execution } = await askForObject(freshModel(), question);

    expect(server.requests).toHaveLength(2);
    expect(execution).toMatchObject({ attemptCount: 1, modelCallCount: 1 });
  });

  test.each([
    ['seconds', '120'],
    ['a date', 'Sat, 21 Nov 2026 12:02:00 GMT'],
  ])('is left to the caller when Retry-After (%s) is beyond the bound', async (_form, header) => {
    const judges = createJudgeRegistry(
      { providers: { local: { baseURL: server.baseUrl } }, limits: { maxRetryWaitMs: 119_999 } },
      { fetch: globalThis.fetch, now: () => Date.UTC(2026, 10, 21, 12), random: () => 0 },
    );
    server.script(() => judgeFaults.rateLimited(header));

    const error = await failure(withJudgeScope({ judges }, () => askForObject(freshModel(), question)));

    expect(error).toMatchObject({ code: 'judge_rate_limited', retryAfterMs: 120_000 });
    expect(server.requests).toHaveLength(1);
  });

  test('that refuses temperature is asked without it, then and later', async () => {
    server.script(({ body }) =>
      body.temperature === undefined
        ? replyJson({ verdict: 'yes' })
        : judgeFaults.badRequest("Unsupported value: 'temperature' does not support 0 with this model."),
    );
    const model = freshModel();

    await askForObject(model, question);
    await askForObject(model, question);

    expect(server.requests.map(({ body }) => body.temperature)).toEqual([0, undefined, undefined]);
  });

  test('that refuses a schema is asked in JSON mode, then and later', async () => {
    server.script(({ body }) =>
      (body.response_format as { readonly type?: string }).type === 'json_schema'
        ? judgeFaults.badRequest('response_format of type json_schema is not supported')
        : replyText('{"verdict":"yes"}'),
    );
    const model = freshModel();

    await askForObject(model, question);
    await askForObject(model, question);

    const types = server.requests.map(({ body }) => (body.response_format as { type?: string }).type);
    expect(types).toEqual(['json_schema', 'json_object', 'json_object']);
    expect(acceptedSettings(model).structured).toBe('json');
  });

  test('that refuses response_format is asked in words only, then and later', async () => {
    server.script(({ body }) =>
      body.response_format === undefined
        ? replyText('```json\n{"verdict":"yes"}\n```')
        : judgeFaults.badRequest('response_format of type json_schema is not supported'),
    );
    const model = freshModel();

    const { value } = await askForObject(model, question);
    await askForObject(model, question);

    expect(value).toEqual({ verdict: 'yes' });
    expect(server.requests.map(({ body }) => body.response_format !== undefined)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(server.requests[2]?.system).toContain('"yes"|"no"');
  });
});

describe('a text question', () => {
  test('gives the text', async () => {
    server.script(() => replyText('Because it rains.'));

    const { value, execution } = await askForText(freshModel(), { instructions: 'Why?', prompt: 'Say.' });

    expect(value).toBe('Because it rains.');
    expect(execution).toMatchObject({ status: 'success', output: 'Because it rains.', attemptCount: 1 });
    expect(server.requests[0]?.body.response_format).toBeUndefined();
  });

  test('accepts an empty text only with allowEmpty', async () => {
    server.script(judgeFaults.empty);
    const asked = { instructions: 'Why?', prompt: 'Say.' };

    const error = await failure(askForText(freshModel(), asked));
    const { value } = await askForText(freshModel(), { ...asked, allowEmpty: true });

    expect(error.code).toBe('judge_malformed');
    expect(value).toBe('');
  });
});

describe('a caller that gives up', () => {
  test('ends the call at once', async () => {
    server.script(judgeFaults.hang);
    const controller = new AbortController();
    const asked = askForObject(freshModel(), { ...question, settings: { abortSignal: controller.signal } });
    await expect.poll(() => server.requests.length).toBe(1);

    controller.abort();

    expect((await failure(asked)).code).toBe('cancelled');
  });
});

describe('a provider that only fails', () => {
  test('gets no calls after a number of failures, then one probe', async () => {
    const clock = { nowMs: Date.UTC(2026, 10, 21, 12) };
    const limits = { firstRetryMs: 1, breakerFailures: 3, breakerOpenMs: 40_000 };
    const judges = createJudgeRegistry(
      { providers: { local: { baseURL: server.baseUrl } }, limits },
      { fetch: globalThis.fetch, now: () => clock.nowMs, random: () => 0 },
    );
    const model = freshModel();
    const ask = () => withJudgeScope({ judges }, () => askForObject(model, question));
    server.script(() => judgeFaults.serverError(500));
    await failure(ask());
    expect(server.requests).toHaveLength(3);

    clock.nowMs += 39_999;
    const blocked = await failure(ask());
    expect(server.requests).toHaveLength(3);
    expect(blocked.message).toContain('gets no calls for now, after repeated failures');
    expect(blocked.retryAfterMs).toBe(1);

    clock.nowMs += 1;
    server.script(() => replyJson({ verdict: 'yes' }));
    expect((await ask()).value).toEqual({ verdict: 'yes' });
  });
});

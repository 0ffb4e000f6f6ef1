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

interface Expectation {
  reply: () => ScriptedReply;
  code: JudgeErrorCode;
  retryable: boolean;
  calls: number;
  says: RegExp;
  limits?: Partial<JudgeLimits>;
}

const faults: Record<string, Expectation> = {
  'words that are no JSON': {
    reply: judgeFaults.garbage,
    code: 'judge_malformed',
    retryable: false,
    calls: 2,
    says: /not one complete JSON value that stands alone/,
  },
  'a body that is no JSON': {
    reply: judgeFaults.garbageBody,
    code: 'judge_malformed',
    retryable: false,
    calls: 3,
    says: /no chat completion/,
  },
  'JSON that is no chat completion': {
    reply: judgeFaults.wrongEnvelope,
    code: 'judge_malformed',
    retryable: false,
    calls: 3,
    says: /no chat completion/,
  },
  'a web page with status 200': {
    reply: judgeFaults.html,
    code: 'judge_unavailable',
    retryable: true,
    calls: 1,
    says: /web page .*baseURL/,
  },
  'HTTP 400': {
    reply: () => judgeFaults.badRequest('context too long'),
    code: 'judge_misconfigured',
    retryable: false,
    calls: 1,
    says: /HTTP 400 .*context too long/,
  },
  'HTTP 401': {
    reply: judgeFaults.unauthorised,
    code: 'judge_unauthorised',
    retryable: true,
    calls: 1,
    says: /HTTP 401 .*Incorrect API key/,
  },
  'HTTP 403': {
    reply: judgeFaults.forbidden,
    code: 'judge_unauthorised',
    retryable: true,
    calls: 1,
    says: /HTTP 403/,
  },
  'HTTP 404': {
    reply: judgeFaults.notFound,
    code: 'judge_misconfigured',
    retryable: true,
    calls: 1,
    says: /no such model or path/,
  },
  'HTTP 409': {
    reply: judgeFaults.conflict,
    code: 'judge_unavailable',
    retryable: true,
    calls: 3,
    says: /HTTP 409/,
  },
  'HTTP 408': {
    reply: () => judgeFaults.serverError(408),
    code: 'judge_unavailable',
    retryable: true,
    calls: 3,
    says: /HTTP 408/,
  },
  'HTTP 429': {
    reply: () => judgeFaults.rateLimited(),
    code: 'judge_rate_limited',
    retryable: true,
    calls: 3,
    says: /HTTP 429/,
  },
  'HTTP 500': {
    reply: () => judgeFaults.serverError(500),
    code: 'judge_unavailable',
    retryable: true,
    calls: 3,
    says: /HTTP 500/,
  },
  'HTTP 503': {
    reply: () => judgeFaults.serverError(503),
    code: 'judge_unavailable',
    retryable: true,
    calls: 3,
    says: /HTTP 503/,
  },
  'a redirect': {
    reply: () => ({ kind: 'raw', status: 307, headers: { location: 'http://127.0.0.1:9/v1' }, body: '' }),
    code: 'judge_misconfigured',
    retryable: true,
    calls: 1,
    says: /redirects to http:\/\/127.0.0.1:9\/v1/,
  },
  'a quota that is used up': {
    reply: () => ({
      kind: 'raw',
      status: 429,
      headers: { 'content-type': 'application/json' },
      body: '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}',
    }),
    code: 'judge_unauthorised',
    retryable: true,
    calls: 1,
    says: /refuses the key or the account/,
  },
  'a refusal': {
    reply: judgeFaults.refusal,
    code: 'judge_refused',
    retryable: false,
    calls: 1,
    says: /refused to answer: I cannot help/,
  },
  'a content filter': {
    reply: judgeFaults.contentFilter,
    code: 'judge_refused',
    retryable: false,
    calls: 1,
    says: /filtered/,
  },
  'a reply cut off at the output limit': {
    reply: judgeFaults.truncated,
    code: 'judge_malformed',
    retryable: false,
    calls: 2,
    says: /cut off at \d+ tokens/,
  },
  'an empty reply': {
    reply: judgeFaults.empty,
    code: 'judge_malformed',
    retryable: false,
    calls: 2,
    says: /empty/,
  },
  'an empty body': {
    reply: judgeFaults.emptyBody,
    code: 'judge_malformed',
    retryable: false,
    calls: 3,
    says: /no chat completion/,
  },
  'a connection that breaks off within the body': {
    reply: judgeFaults.breakOff,
    code: 'judge_unavailable',
    retryable: true,
    calls: 3,
    says: /broke off/,
  },
  'a connection that is reset': {
    reply: judgeFaults.reset,
    code: 'judge_unavailable',
    retryable: true,
    calls: 3,
    says: /could not be reached/,
  },
  'a reply that never ends': {
    reply: () => judgeFaults.neverEnding(),
    code: 'judge_timeout',
    retryable: true,
    calls: 1,
    says: /did not answer within 1500 ms/,
    limits: { timeoutMs: 1_500 },
  },
  'a reply that falls silent': {
    reply: judgeFaults.stall,
    code: 'judge_timeout',
    retryable: true,
    calls: 1,
    says: /did not answer within 1500 ms/,
    limits: { timeoutMs: 1_500 },
  },
  'no reply at all': {
    reply: judgeFaults.hang,
    code: 'judge_timeout',
    retryable: true,
    calls: 1,
    says: /did not answer within 1500 ms/,
    limits: { timeoutMs: 1_500 },
  },
  'JSON of another shape': {
    reply: judgeFaults.wrongSchema,
    code: 'judge_malformed',
    retryable: false,
    calls: 2,
    says: /does not match the schema \(verdict: /,
  },
  'a verdict that is none of the known ones': {
    reply: () => replyJson({ verdict: 'maybe' }),
    code: 'judge_malformed',
    retryable: false,
    calls: 2,
    says: /verdict: /,
  },
  'two answers that differ': {
    reply: () => replyText('{"verdict":"yes"} or rather {"verdict":"no"}'),
    code: 'judge_malformed',
    retryable: false,
    calls: 2,
    says: /stands alone/,
  },
  'a tool call instead of an answer': {
    reply: () => ({ kind: 'text', text: null, toolCalls: [{ id: '1', name: 'f', args: {} }] }),
    code: 'judge_malformed',
    retryable: false,
    calls: 2,
    says: /empty/,
  },
  'a reply larger than the limit': {
    reply: () => judgeFaults.huge(100_000),
    code: 'judge_malformed',
    retryable: false,
    calls: 1,
    says: /larger than 10000 bytes/,
    limits: { maxReplyBytes: 10_000 },
  },
};

describe.each(Object.entries(faults))('a judge that answers with %s', (_name, expected) => {
  test(`is ${expected.code} and gives no value`, async () => {
    configure(expected.limits);
    server.script(expected.reply);

    const error = await failure(askForObject(freshModel(), question));

    expect({ code: error.code, retryable: error.retryable }).toEqual({
      code: expected.code,
      retryable: expected.retryable,
    });
    expect(error.message).toMatch(expected.says);
    expect(server.requests).toHaveLength(expected.calls);
    // Two calls are those to an answer that cannot be used, and once more; a refusal is an answer, every other fault is none.
    const isAnswer = expected.calls === 2 || expected.code === 'judge_refused';
    expect(error.execution).toMatchObject({
      status: 'failed',
      prompt: 'Is it so?',
      modelCallCount: isAnswer ? expected.calls : 0,
      error: { name: 'JudgeError', code: expected.code },
    });
    expect(error.execution).not.toHaveProperty('output');
  });
});

describe('faults of the address', () => {
  test('a closed port is judge_unavailable', async () => {
    configureJudges({
      providers: { local: { baseURL: 'http://127.0.0.1:1/v1' } },
      limits: { firstRetryMs: 1 },
    });

    const error = await failure(askForObject(freshModel(), question));

    expect(error).toMatchObject({ code: 'judge_unavailable', retryable: true });
  });

  test('an unknown host name is judge_unavailable', async () => {
    configureJudges({
      providers: { local: { baseURL: 'http://no-such-host.invalid/v1' } },
      limits: { firstRetryMs: 1 },
    });

    const error = await failure(askForObject(freshModel(), question));

    expect(error).toMatchObject({ code: 'judge_unavailable', retryable: true });
  });

  test('TLS spoken to a plain server is judge_unavailable', async () => {
    configureJudges({
      providers: { local: { baseURL: server.baseUrl.replace('http:', 'https:') } },
      limits: { firstRetryMs: 1 },
    });

    const error = await failure(askForObject(freshModel(), question));

    expect(error).toMatchObject({ code: 'judge_unavailable', retryable: true });
  });

  test('an unknown provider is judge_misconfigured and says which are known', async () => {
    const error = await failure(askForObject('nowhere/model', question));

    expect(error.code).toBe('judge_misconfigured');
    expect(error.message).toContain('known are openai, local');
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
      false,
      false,
    ]);
    expect(server.requests[1]?.system).toContain('"yes"|"no"');
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

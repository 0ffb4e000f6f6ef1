import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { askDecisions, type Decisions } from '../../../src/judge/decisions.ts';
import type { JudgeCall } from '../../../src/judge/judge-execution.ts';
import type { JudgeError } from '../../../src/judge/judge-error.ts';
import { createJudgeRegistry, type JudgeLimits } from '../../../src/judge/judge-registry.ts';
import { withJudgeScope } from '../../../src/judge/judge-scope.ts';
import { askForObject } from '../../../src/judge/judge.ts';

// The real packages against a server of both wires of decisions: OpenAI's Decisions API and System One.

type Answer = Record<string, unknown>;
interface Asked {
  readonly url: string;
  readonly authorization: string | undefined;
  readonly body: { readonly model: string; readonly questions: unknown; readonly [key: string]: unknown };
  /** Names of the questions, in order. */
  readonly names: readonly string[];
}
type Reply = (asked: Asked, response: ServerResponse) => void;

let server: Server;
let address: string;
let reply: Reply;
const seen: Asked[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    void readAsked(request).then((asked) => {
      seen.push(asked);
      reply(asked, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  seen.length = 0;
});

async function readAsked(request: IncomingMessage): Promise<Asked> {
  const body = JSON.parse(await textOf(request)) as Asked['body'];
  const { questions } = body;
  const names = Array.isArray(questions)
    ? (questions as { name: string }[]).map(({ name }) => name)
    : Object.keys(questions as object);
  return { url: request.url ?? '', authorization: request.headers.authorization, body, names };
}

const send =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Reply =>
  (_asked, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

const USAGE = { input_tokens: 1000, output_tokens: 0 };

/** Writes answers by question in the form of a wire. */
type Wire = (answers: readonly (readonly [name: string, answer: Answer])[]) => unknown;

const decisionsWire: Wire = (answers) => ({
  model: 'luna-1',
  usage: { ...USAGE, input_tokens_details: { cached_tokens: 400 }, total_tokens: 1000 },
  answers: answers.map(([name, { probabilities, ...answer }]) => ({
    name,
    ...answer,
    ...(probabilities === undefined
      ? {}
      : {
          probabilities: Array.isArray(probabilities)
            ? probabilities
            : Object.entries(probabilities as object).map(([value, probability]) => ({
                value: answer['type'] === 'score' ? Number(value) : value,
                probability: probability as unknown,
              })),
        }),
  })),
});
const systemOneWire: Wire = (answers) => ({
  model: 'jev-1',
  usage: USAGE,
  answers: Object.fromEntries(
    answers.map(([name, { type, probability, ...answer }]) => [
      name,
      type === 'predicate' ? { type: 'noul', noul: probability } : { type, ...answer },
    ]),
  ),
});

const WIRES: readonly [name: string, wire: Wire, path: string, entry: Record<string, unknown>][] = [
  ['OpenAI', decisionsWire, '/v1/decisions', { use: 'openai', apiKey: 'k' }],
  ["a server with OpenAI's API", decisionsWire, '/v1/decisions', {}],
  ['typesafe-ai', systemOneWire, '/v1/systemone', { use: 'typesafe-ai', apiKey: 'k' }],
];

const choice = (picked: string, probabilities: unknown): Answer => ({
  type: 'choice',
  choice: picked,
  probabilities,
});
const GOOD = choice('yes', { yes: 0.83, no: 0.17 });

const OPTIONS = { type: 'choice', instructions: 'Is it so?', criteria: { yes: null, no: null } } as const;
const ASKED: Decisions = {
  state: [
    { type: 'json', value: { tools: { 1: 'mail a@example.com' } } },
    { type: 'text', text: 'Judge.' },
  ],
  questions: { q1: OPTIONS },
};

let entries = 0;

/** Asks a new provider, so that no breaker of another test counts. */
async function ask(
  entry: Record<string, unknown>,
  decisions: Decisions = ASKED,
  more: { limits?: Partial<JudgeLimits>; onCall?: (call: JudgeCall) => void } = {},
) {
  entries += 1;
  const judge = `p${entries}/gpt-6-luna`;
  const judges = createJudgeRegistry({
    providers: { [`p${entries}`]: { baseURL: address, ...entry } },
    options: { [judge]: { decision: true } },
    prices: { [judge]: { input: 0.1, output: 0 } },
    limits: { maxRetries: 2, firstRetryMs: 1, maxRetryWaitMs: 50, timeoutMs: 20_000, ...more.limits },
  });
  return withJudgeScope({ judges, onCall: more.onCall }, () => askDecisions(judge, decisions));
}

async function fault(asked: Promise<unknown>): Promise<JudgeError> {
  const outcome: unknown = await asked.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(Error);
  return outcome as JudgeError;
}

const answerEach =
  (wire: Wire, make: (name: string, index: number) => Answer = () => GOOD): Reply =>
  (asked, response) =>
    send(wire(asked.names.map((name, index) => [name, make(name, index)])))(asked, response);

describe.each(WIRES)('a decision judge of %s', (_name, wire, path, entry) => {
  test('answers questions of each type with its probabilities, for the price of its input', async () => {
    const made: Record<string, Answer> = {
      q1: GOOD,
      q2: { type: 'predicate', probability: 0.3 },
      q3: { type: 'score', score: 1.6, probabilities: { 0: 0.1, 1: 0.2, 2: 0.7 } },
    };
    reply = answerEach(wire, (name) => made[name] ?? {});
    const calls: JudgeCall[] = [];

    const { value, execution } = await ask(
      entry,
      {
        ...ASKED,
        questions: {
          q1: OPTIONS,
          q2: { type: 'boolean', instructions: 'Is it so?' },
          q3: { type: 'score', instructions: 'How well?', criteria: ['bad', 'fair', 'good'] },
        },
      },
      { onCall: (call) => calls.push(call) },
    );

    expect(value).toEqual({
      q1: { winner: 'yes', probability: 0.83, probabilities: { yes: 0.83, no: 0.17 } },
      q2: { winner: 'false', probability: 0.7, probabilities: { true: 0.3, false: 0.7 } },
      q3: { winner: '2', probability: 0.7, probabilities: { 0: 0.1, 1: 0.2, 2: 0.7 } },
    });
    expect(execution).toMatchObject({ modelCallCount: 1, usage: { inputTokens: 1000, outputTokens: 0 } });
    expect(execution.cost).toBeCloseTo(0.0001, 8);
    expect(calls).toMatchObject([{ status: 'success', prompt: expect.stringContaining('q2: Is it so?') }]);
    expect(seen.map(({ url }) => url)).toEqual([path]);
    expect(seen[0]?.authorization).toBe(entry['apiKey'] === undefined ? undefined : 'Bearer k');
  });

  test('gets no address of a person, in the state as in the questions', async () => {
    reply = answerEach(wire);
    await ask(entry, { ...ASKED, questions: { q1: { ...OPTIONS, instructions: 'Is it b@example.com?' } } });
    const sent = JSON.stringify(seen[0]?.body);
    expect(sent).not.toMatch(/[ab]@example/);
    expect(sent).toContain('mail ');
  });

  test.each<[name: string, answer: Answer]>([
    ['a probability above 1', choice('yes', { yes: 1.2, no: -0.2 })],
    ['a probability that is no number', choice('yes', { yes: '0.83', no: 0.17 })],
    ['an option that is missing', choice('yes', { yes: 1 })],
    ['an unknown option', choice('yes', { yes: 0.8, no: 0.1, perhaps: 0.1 })],
    ['probabilities of another sum', choice('yes', { yes: 0.8, no: 0.17 })],
    ['a choice that is not the likeliest', choice('no', { yes: 0.83, no: 0.17 })],
    ['a choice that is no option', choice('perhaps', { yes: 0.83, no: 0.17 })],
    ['another type', { type: 'predicate', probability: 0.5 }],
  ])('is asked once more, then malformed, after %s', async (_fault, answer) => {
    reply = answerEach(wire, () => answer);
    expect(await fault(ask(entry))).toMatchObject({ code: 'judge_malformed' });
    expect(seen).toHaveLength(2);
    expect(seen[1]?.body).toEqual(seen[0]?.body);
  });

  test('is asked once more, then malformed, without an answer, and with one too many', async () => {
    for (const names of [[], ['q1', 'q9']]) {
      seen.length = 0;
      reply = send(wire(names.map((name) => [name, GOOD])));
      expect(await fault(ask(entry))).toMatchObject({ code: 'judge_malformed' });
      expect(seen).toHaveLength(2);
    }
  });

  test('may be off by the rounding of its probabilities', async () => {
    reply = answerEach(wire, () => choice('yes', { yes: 0.83, no: 0.16 }));
    expect((await ask(entry)).value).toMatchObject({ q1: { winner: 'yes' } });
  });

  test('answers the second time', async () => {
    reply = answerEach(wire, () => (seen.length === 1 ? choice('yes', { yes: 2, no: 0 }) : GOOD));
    const { value } = await ask(entry);
    expect(value).toMatchObject({ q1: { winner: 'yes' } });
    expect(seen).toHaveLength(2);
  });

  test('gets at most 400 questions a request, in the fewest requests', async () => {
    reply = answerEach(wire);
    const questions = Object.fromEntries(Array.from({ length: 801 }, (_, at) => [`q${at}`, OPTIONS]));
    const { value, execution } = await ask(entry, { ...ASKED, questions });
    expect(Object.keys(value)).toHaveLength(801);
    expect(seen.map(({ names }) => names.length)).toEqual([400, 400, 1]);
    expect(execution).toMatchObject({ modelCallCount: 3, usage: { inputTokens: 3000 } });
  });

  test.each<[name: string, code: string, calls: number, reply: () => Reply, limits?: Partial<JudgeLimits>]>([
    ['a body that is no JSON', 'judge_malformed', 2, () => send('}{ not json')],
    ['JSON of another shape', 'judge_malformed', 2, () => send({ answer: 42 })],
    ['an empty body', 'judge_malformed', 2, () => send('')],
    ['JSON that ends early', 'judge_malformed', 2, () => send('{"answers":[{"type":"cho')],
    [
      'a reply above the limit',
      'judge_malformed',
      2,
      () => send({ pad: 'x'.repeat(100_000) }),
      { maxReplyBytes: 10_000 },
    ],
    [
      'a web page',
      'judge_unavailable',
      1,
      () => send('<!doctype html><html></html>', 200, { 'content-type': 'text/html' }),
    ],
    ['HTTP 400', 'judge_misconfigured', 1, () => send({ error: { message: 'no such field' } }, 400)],
    ['HTTP 401', 'judge_unauthorised', 1, () => send({ error: { message: 'Incorrect API key' } }, 401)],
    ['HTTP 404', 'judge_misconfigured', 1, () => send({ error: { message: 'no such model' } }, 404)],
    ['a redirect', 'judge_misconfigured', 1, () => send('', 307, { location: '/elsewhere' })],
    ['HTTP 429', 'judge_rate_limited', 3, () => send({ error: { message: 'slow down' } }, 429)],
    ['HTTP 503', 'judge_unavailable', 3, () => send({ error: { message: 'overloaded' } }, 503)],
    [
      'an error in a reply with 200',
      'judge_unavailable',
      3,
      () => send({ error: { message: 'overloaded' } }),
    ],
    [
      'a content filter',
      'judge_refused',
      1,
      () => send({ error: { message: 'flagged', code: 'content_filter' } }, 400),
    ],
    [
      'a connection that is reset',
      'judge_unavailable',
      3,
      () =>
        (_asked, { socket }) =>
          socket?.destroy(),
    ],
    [
      'half a reply',
      'judge_unavailable',
      3,
      () => (_asked, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
        response.write('{"answers":[', () => response.socket?.destroy());
      },
    ],
    ['no reply at all', 'judge_timeout', 1, () => () => undefined, { timeoutMs: 800 }],
  ])('that answers with %s is %s and gives no value', async (_fault, code, calls, faulty, limits = {}) => {
    reply = faulty();
    const error = await fault(ask(entry, ASKED, { limits }));
    expect(error).toMatchObject({ code, execution: { status: 'failed', modelCallCount: 0 } });
    expect(seen).toHaveLength(calls);
  });
});

describe('a refusal', () => {
  const refusal: Answer = { type: 'refusal' };

  test('of one question leaves the answers to the other questions', async () => {
    reply = answerEach(decisionsWire, (_name, index) => (index === 0 ? refusal : GOOD));
    const { value } = await ask(
      { use: 'openai', apiKey: 'k' },
      { ...ASKED, questions: { a: OPTIONS, b: OPTIONS } },
    );
    expect(value).toMatchObject({ a: { refused: true }, b: { winner: 'yes' } });
  });

  test.each([
    ['of each question', answerEach(decisionsWire, () => refusal)],
    ['without a name', send({ answers: [{ type: 'refusal', name: null }] })],
  ])('%s is judge_refused', async (_name, refused) => {
    reply = refused;
    expect(await fault(ask({ use: 'openai', apiKey: 'k' }))).toMatchObject({ code: 'judge_refused' });
    expect(seen).toHaveLength(1);
  });
});

test('questions that are too long for the judge go to it in halves', async () => {
  const tooLong = {
    error: { message: 'maximum context length is 2000 tokens', code: 'context_length_exceeded' },
  };
  reply = (asked, response) =>
    (asked.names.length > 4 ? send(tooLong, 400) : answerEach(decisionsWire))(asked, response);
  const long = { ...OPTIONS, instructions: 'Is it so? '.repeat(100) };
  const questions = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`q${at}`, long]));
  const { value } = await ask({ use: 'openai', apiKey: 'k' }, { ...ASKED, questions });
  expect(Object.keys(value)).toHaveLength(8);
  expect(seen.map(({ names }) => names.length)).toEqual([8, 4, 4]);
});

test('an option that stands twice in a reply is malformed', async () => {
  const twice = [
    { value: 'yes', probability: 0.5 },
    { value: 'yes', probability: 0.5 },
  ];
  reply = answerEach(decisionsWire, () => choice('yes', twice));
  expect(await fault(ask({ use: 'openai', apiKey: 'k' }))).toMatchObject({ code: 'judge_malformed' });
});

test('a chat question to a decision judge says that it needs a chat judge', async () => {
  const judges = createJudgeRegistry({ providers: { openai: { apiKey: 'k' } } });
  const question = { instructions: 'x', prompt: 'y', schema: { jsonSchema: { type: 'object' } } };
  const asked = withJudgeScope({ judges }, () => askForObject('openai/gpt-6-luna', question));
  expect(await fault(asked)).toMatchObject({
    code: 'judge_misconfigured',
    message: expect.stringMatching(/needs a chat judge/),
  });
});

test('a decision judge without a key for the own address of its provider is not asked', async () => {
  const judges = createJudgeRegistry({ providers: {} });
  const asked = withJudgeScope({ judges }, () => askDecisions('openai/gpt-6-luna', ASKED));
  expect(await fault(asked)).toMatchObject({ code: 'judge_unauthorised' });
});

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { configureJudges, type JudgesConfig } from '../../../src/judge/judge-registry.ts';
import {
  createFaithfulnessScorer,
  createGroundingScorer,
  createHallucinationScorer,
  createPanelScorer,
} from '../../../src/scorers/prebuilt/index.ts';
import { createAgentTestRun, createTestMessage } from '../../../src/scorers/shared/utils.ts';
import { readFencedPrompt } from '../../support/builders/fenced-prompt.ts';
import {
  judgeFaults,
  replyJson,
  startJudgeServer,
  type JudgeScript,
  type JudgeServer,
  type JudgeServerRequest,
} from '../../support/fakes/judge-server.ts';

const MODEL = 'local/reader';
const SUPPORT = 'The lighthouse of Kelmar has 214 steps.';
const FALSE = 'The keeper of Kelmar is a woman.';
const UNBACKED = 'The lantern was built by Fresnel.';
const VERDICTS = ['supported', 'contradicted', 'unsupported'] as const;
const lines = Array.from({ length: 1000 }, (_, at) => `Parcel ${at} went "by sea" to harbour ${at % 37}.\n`);
const LONG = [
  lines.slice(0, 600).join(''),
  `${lines.slice(600).join('')}${SUPPORT}\nHe is the keeper of Kelmar, a man.\n${lines.slice(0, 600).join('')}`,
];

let server: JudgeServer;
beforeAll(async () => {
  server = await startJudgeServer(judge);
});
afterAll(() => server.close());
beforeEach(() => configure());

function configure(options: JudgesConfig['options'] = {}): void {
  server.requests.length = 0;
  server.script(judge);
  configureJudges({ providers: { local: { baseURL: server.baseUrl } }, options });
}

/** Tokens of a request as a server counts them whose model has 3.5 characters a token. */
function countTokens({ body }: JudgeServerRequest): number {
  return Math.ceil(body.messages.map(({ content }) => String(content)).join('').length / 3.5);
}

/** Judges by what the question shows, in the form that it asks for. */
function judge({ prompt }: JudgeServerRequest): ReturnType<JudgeScript> {
  const data = JSON.parse(readFencedPrompt(prompt)?.json ?? '{}') as Record<string, unknown>;
  const context = Object.entries((data['context'] ?? {}) as Record<string, string>);
  if (typeof data['answer'] === 'string') {
    return replyJson({ claims: data['answer'].split(/(?<=\.) /) });
  }
  const [source] = context.find(([, text]) => text.includes(SUPPORT)) ?? [];
  const isShown = source !== undefined;
  const say = (text: string, [backed, wrong, open]: readonly [string, string, string]): string =>
    text === SUPPORT && isShown ? backed : text === FALSE && isShown ? wrong : open;
  if (data['claims'] !== undefined) {
    const verdicts = Object.entries(data['claims'] as Record<string, string>).map(([n, claim]) => ({
      n: Number(n),
      verdict: say(claim, VERDICTS),
      reason: 'so it is',
      quote: '',
    }));
    return replyJson({ verdicts });
  }
  const entries = Object.entries(data['sentences'] as Record<string, string>).map(([n, sentence]) => {
    const verdict = say(sentence, VERDICTS);
    const quotes = verdict === 'unsupported' ? [] : [{ source: Number(source), quote: SUPPORT }];
    return { n: Number(n), verdict, grounding: verdict, quotes, reason: '', reasons: [] };
  });
  return replyJson({ verdicts: entries, sentences: entries });
}

/** Refuses questions that do not fit into this window together with their replies. */
function within(window: number, words: string): JudgeScript {
  return (request) =>
    countTokens(request) + Number(request.body['max_tokens'] ?? 0) > window
      ? judgeFaults.badRequest(words)
      : judge(request);
}

const SCORERS = {
  hallucination: () => createHallucinationScorer({ model: MODEL, options: { reason: 'template' } }),
  faithfulness: () => createFaithfulnessScorer({ model: MODEL, options: { reason: 'template' } }),
  grounding: () => createGroundingScorer({ model: MODEL }),
  panel: () => createPanelScorer({ model: MODEL, options: { qualities: ['grounding'] } }),
};

async function score(
  name: keyof typeof SCORERS,
  answer: readonly string[],
  context: readonly string[] = LONG,
) {
  const run = createAgentTestRun({
    inputMessages: [createTestMessage({ role: 'user', content: 'How many steps?' })],
    output: [createTestMessage({ role: 'assistant', content: answer.join(' ') })],
  });
  const result = await SCORERS[name]().run({ ...run, context });
  return {
    ...result,
    values: [result.score, ...(result.scores ?? []).map((row) => [row.name, row.score])],
  };
}

const names = Object.keys(SCORERS) as (keyof typeof SCORERS)[];

describe.each(names)('%s', (name) => {
  test('reads the passage that decides in a small window, and scores as with the whole evidence', async () => {
    configure({ [MODEL]: { contextTokens: 1_000_000 } });
    const whole = await score(name, [SUPPORT, FALSE]);
    configure({ [MODEL]: { contextTokens: 4096 } });
    server.script(within(4096, 'too long: maximum context length is 4096 tokens'));
    const part = await score(name, [SUPPORT, FALSE]);
    expect(server.requests.some(({ prompt }) => prompt.includes(SUPPORT) && prompt.length > 4000)).toBe(true);
    expect(part.values).toEqual(whole.values);
    expect(part.reason).toBe(whole.reason);
  });

  test('leaves the share to the statements whose evidence was read', async () => {
    configure({ [MODEL]: { contextTokens: 4096 } });
    const { values, reason, scores } = await score(name, [SUPPORT, UNBACKED]);
    expect(values.flat().filter((value) => typeof value === 'number')).toEqual(
      { hallucination: [0], faithfulness: [1], grounding: [0, 1, 1], panel: [1] }[name],
    );
    expect(reason ?? scores?.[0]?.reason).toMatch(
      /1 (claim|sentence) was left out: not all evidence could be read for it\./,
    );
  });

  test('gives no score when no statement could be checked', async () => {
    configure({ [MODEL]: { contextTokens: 4096 } });
    const { values, notScorable } = await score(name, [UNBACKED]);
    expect(values.flat().filter((value) => typeof value === 'number')).toEqual([]);
    expect(notScorable?.reason).toMatch(/evidence/);
  });

  test('asks the same about evidence that fits as without a limit', async () => {
    const sent = [];
    for (const contextTokens of [16_000, 1_000_000]) {
      configure({ [MODEL]: { contextTokens } });
      await score(name, [SUPPORT, UNBACKED], [LONG[0]?.slice(0, 20_000) ?? '', SUPPORT, SUPPORT]);
      sent.push(server.requests.map(({ body }) => body.messages));
    }
    expect(sent[0]).toEqual(sent[1]);
  });

  test.each(["This model's maximum context length is 4096 tokens.", 'context_length_exceeded'])(
    'asks once more with less evidence after the refusal: %s',
    async (words) => {
      server.script(within(4096, words));
      const { values } = await score(name, [SUPPORT]);
      expect(values.flat()).toContain(name === 'hallucination' ? 0 : 1);
      const [refused, again] = server.requests.map(countTokens).slice(-2);
      expect(again).toBeLessThan(refused ?? 0);
      expect(server.requests).toHaveLength(
        { hallucination: 3, faithfulness: 3, grounding: 2, panel: 2 }[name],
      );
    },
  );

  test('is not asked a third time', async () => {
    server.script(within(900, 'context_length_exceeded'));
    const error: unknown = await score(name, [SUPPORT]).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'judge_window' });
    expect(server.requests.length).toBeLessThanOrEqual(3);
  });
});

test('an unknown model in the own network gets a selection of 8,192 tokens, and no question is refused for them', async () => {
  await score('hallucination', [SUPPORT]);
  expect(server.requests.map(countTokens).every((tokens) => tokens < 8192)).toBe(true);
  const long = await score('hallucination', [SUPPORT, 'and so on '.repeat(5000)]);
  expect(long.verdicts).toHaveLength(2);
  expect(Math.max(...server.requests.map(countTokens))).toBeGreaterThan(8192);
});

import { hashValue } from '../../../src/domain/identity.ts';
import { replyJson, replyText, type JudgeScript } from '../fakes/judge-server.ts';

/** Bytes of a token of the judge: not the number that estimates assume. */
const BYTES_PER_TOKEN = 3.7;

/** Tokens of the envelope of a request. */
const ENVELOPE_TOKENS = 11;

export interface PricedJudgeOptions {
  readonly seed: number;
  /** Part of the prompt that the provider has cached. */
  readonly cachedPart?: number;
  /** Part of the first replies that cannot be used, so that the question is asked again. */
  readonly faultyPart?: number;
}

/**
 * Creates the script of a judge that answers the questions of claims, verdicts, criteria and reasons. It bills its own number of tokens:
 * replies are as long as their content plus thoughts, whose length the seed and the data give.
 */
export function createPricedJudge({ seed, cachedPart = 0, faultyPart = 0 }: PricedJudgeOptions): JudgeScript {
  return (request) => {
    const { body, prompt } = request;
    // The same data has the same length of reply, in whatever order questions come.
    const draw = (what: string) =>
      Number.parseInt(hashValue([seed, what, findData(prompt)]).slice(0, 8), 16) / 2 ** 32;
    const bytes = Buffer.byteLength(body.messages.map(({ content }) => String(content)).join('\n'));
    const promptTokens = Math.ceil(bytes / BYTES_PER_TOKEN) + ENVELOPE_TOKENS;
    const bill = (text: string) => ({
      usage: {
        prompt_tokens: promptTokens,
        completion_tokens: Math.ceil(text.length / 4 + 150 + 400 * draw('thoughts') ** 3),
        prompt_tokens_details: { cached_tokens: Math.floor(promptTokens * cachedPart) },
      },
    });
    if (request.lastMessage === prompt && draw('fault') < faultyPart) {
      return replyText('I cannot say.', bill('I cannot say.'));
    }
    const reply = answer(prompt);
    return typeof reply === 'string'
      ? replyText(reply, bill(reply))
      : replyJson(reply, bill(JSON.stringify(reply)));
  };
}

function findData(prompt: string): string | undefined {
  return prompt.split('\n').find((line) => line.startsWith('{'));
}

function answer(prompt: string): object | string {
  const json = findData(prompt);
  const material = json === undefined ? {} : (JSON.parse(json) as Record<string, unknown>);
  if ('criterion' in material && 'turns' in material && !('satisfied' in material)) {
    return { satisfied: true, reasoning: 'The turns say so.' };
  }
  if (typeof material['answer'] === 'string') {
    return { claims: material['answer'].split('. ') };
  }
  const { claims } = material;
  if (typeof claims === 'object' && claims !== null && !('score' in material)) {
    const verdicts = Object.keys(claims).map((n) => ({
      n: Number(n),
      verdict: 'no',
      reason: 'it is stated',
      quote: '',
    }));
    return { verdicts };
  }
  return 'The claims hold, as the results of the tools say.';
}

import { z } from 'zod';
import { httpUrl, judgeModel, secret, wholeNumber } from './fields.ts';

const provider = z
  .strictObject({
    baseURL: httpUrl('Base URL of an OpenAI-compatible API, including /v1.')
      .meta({ examples: ['http://127.0.0.1:11434/v1'] })
      .optional(),
    apiKey: secret('API key.').optional(),
    concurrency: wholeNumber('Most requests at the same time.', { unit: 'requests' }).optional(),
    requestsPerMinute: wholeNumber('Most requests a minute.', { unit: 'requests a minute' }).optional(),
    tokensPerMinute: wholeNumber('Most tokens a minute, input and output together.', {
      unit: 'tokens a minute',
    }).optional(),
  })
  .describe('A judge provider: any server that speaks OpenAI chat completions.');

const perMillionTokens = (description: string) =>
  z.number().min(0).describe(description).meta({ unit: 'USD per million tokens' });

const price = z
  .strictObject({
    input: perMillionTokens('Price of input tokens.'),
    output: perMillionTokens('Price of output tokens.'),
    cachedInput: perMillionTokens(
      "Price of input tokens read from the provider's cache. Absent: the price of input.",
    ).exactOptional(),
  })
  .describe('What a model costs.');

/** Schema of judges, their limits and prices. */
export const Judges = z.strictObject({
  default: judgeModel('Judge of every scorer that names no judge of its own: provider/model.').optional(),
  providers: z
    .record(z.string(), provider)
    .default({})
    .describe('Judge providers by the name that provider/model begins with.'),
  prices: z
    .record(z.string(), price)
    .default({})
    .describe(
      'Prices by provider/model. They replace those of the built-in table. A rule with a budget needs one for each of its judges: 0 for a model that costs nothing.',
    ),
  attempts: wholeNumber(
    'How often a judge is asked whose reply cannot be used, before the decision fails for good.',
    { unit: 'tries', max: 100 },
  ).default(3),
  reuse: z
    .boolean()
    .default(true)
    .describe(
      'Whether an answer is used again for the very same question to the same judge. false: every question is asked.',
    ),
});

/** Names of the patterns that come with spanscore. */
export const REDACTION_PATTERNS = [
  'email',
  'credit-card',
  'api-key',
  'jwt',
  'private-key',
  'phone',
  'ipv4',
  'iban',
] as const;

/** Schema of text that never reaches a judge. */
export const Redaction = z.strictObject({
  enabled: z.boolean().default(true).describe('false: traces go to judges as they are.'),
  fields: z
    .array(z.string().min(1))
    .default([])
    .describe('Attribute keys and names of tool arguments whose values are never sent.'),
  patterns: z
    .array(z.string().min(1).max(500, { error: 'longer than 500 characters' }))
    .default(['email', 'credit-card', 'api-key', 'jwt', 'private-key'])
    .describe(`Names of patterns (${REDACTION_PATTERNS.join(', ')}) or regular expressions.`),
});

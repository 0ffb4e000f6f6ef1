import { z } from 'zod';
import { httpUrl, judgeModel, secret } from './fields.ts';

const limit = (description: string) =>
  z.number().int().min(1, { error: 'must be at least 1' }).describe(description);

const provider = z
  .strictObject({
    baseURL: httpUrl('Address of an OpenAI-compatible API, up to and with /v1.').optional(),
    apiKey: secret('API key.').optional(),
    concurrency: limit('Most requests at a time.').optional(),
    requestsPerMinute: limit('Most requests a minute.').optional(),
    tokensPerMinute: limit('Most tokens a minute, in and out.').optional(),
  })
  .describe('A judge provider: any server that speaks OpenAI chat completions.');

const price = z
  .strictObject({
    input: z.number().min(0).describe('USD per million input tokens.'),
    output: z.number().min(0).describe('USD per million output tokens.'),
    cachedInput: z
      .number()
      .min(0)
      .exactOptional()
      .describe('USD per million input tokens read from the cache.'),
  })
  .describe('What a model costs.');

/** Which models judge, and how hard they may be asked. */
export const Judges = z.strictObject({
  default: judgeModel('Judge of every scorer that names none.').optional(),
  providers: z.record(z.string(), provider).default({}).describe('Providers by name.'),
  prices: z
    .record(z.string(), price)
    .default({})
    .describe('Prices by provider/model, over the built-in table.'),
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

/** What never reaches a judge. */
export const Redaction = z.strictObject({
  enabled: z.boolean().default(true).describe('False sends traces to judges as they are.'),
  fields: z
    .array(z.string().min(1))
    .default([])
    .describe('Attribute keys and tool-argument names whose values are never sent.'),
  patterns: z
    .array(z.string().min(1).max(500, { error: 'longer than 500 characters' }))
    .default(['email', 'credit-card', 'api-key', 'jwt', 'private-key'])
    .describe(`Named patterns (${REDACTION_PATTERNS.join(', ')}) or regular expressions.`),
});

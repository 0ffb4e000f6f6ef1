import { z } from 'zod';
import { JUDGE_KIND_NAMES } from '../../domain/judge-kinds.ts';
import { duration, fromZeroToOne, headers, httpUrl, judgeModel, secret, wholeNumber } from './fields.ts';

const provider = z
  .looseObject({
    use: z
      .enum(JUDGE_KIND_NAMES)
      .describe(
        'Kind of the provider. Absent: the name of the entry, if it is a kind; else openai-compatible, which needs a baseURL.',
      )
      .optional(),
    baseURL: httpUrl("Base URL of the API. Absent: the provider's own address.")
      .meta({ examples: ['http://127.0.0.1:11434/v1'] })
      .optional(),
    apiKey: secret(
      'API key. Absent: the variable of the kind, for the own address of the provider alone.',
    ).optional(),
    headers: headers('Headers of each request.').optional(),
    api: z
      .enum(['responses', 'chat'])
      .describe('API of OpenAI and Azure that is asked. Absent: responses.')
      .optional(),
    package: z
      .string()
      .min(1)
      .describe('Package on npm that exports a provider of the AI SDK, for a kind that is not in the list.')
      .meta({ examples: ['@acme/llm-provider'] })
      .optional(),
    export: z
      .string()
      .min(1)
      .describe(
        'Export of the package that creates the provider. Absent: the first function whose name begins with create.',
      )
      .meta({ examples: ['createAcme'] })
      .optional(),
    settings: z
      .record(z.string(), z.unknown())
      .describe('Settings for the export of the package.')
      .optional(),
    batch: z
      .union([z.boolean(), z.literal('openai')])
      .describe(
        'Whether `backfill --batch` may make batches. `true` or `openai` in an entry of another server: it has the batch API of OpenAI. Absent: true for openai, anthropic and google.',
      )
      .meta({ examples: [true] })
      .optional(),
    concurrency: wholeNumber(
      'Limit of requests at the same time. Absent: 16 for a known cloud. Any other provider starts with 2 and finds its number: one more while replies come as fast, half after a time-out, at most 16.',
      { unit: 'requests' },
    ).optional(),
    requestsPerMinute: wholeNumber('Limit of requests per minute.', { unit: 'requests a minute' }).optional(),
    tokensPerMinute: wholeNumber('Limit of tokens per minute, input and output together.', {
      unit: 'tokens a minute',
    }).optional(),
  })
  .describe(
    'A judge provider: a package of the AI SDK. Other keys are settings of the package, which gets them as they are.',
  );

const perMillionTokens = (description: string, example: number) =>
  z
    .number()
    .min(0)
    .describe(description)
    .meta({ unit: 'USD per million tokens', examples: [example] });

const price = z
  .strictObject({
    input: perMillionTokens('Price of input tokens.', 0.25),
    output: perMillionTokens('Price of output tokens.', 2),
    reasoning: perMillionTokens(
      'Price of output tokens that the model thinks. Absent: the price of output.',
      2,
    ).exactOptional(),
    cachedInput: perMillionTokens(
      "Price of input tokens read from the provider's cache. Absent: the price of input, for Anthropic's models 0.1 times that.",
      0.025,
    ).exactOptional(),
    cacheWrite: perMillionTokens(
      "Price of input tokens written to the provider's cache. Absent: the price of input, for Anthropic's models 1.25 times that.",
      0.25,
    ).exactOptional(),
  })
  .describe('Price of a model.');

const judgeOptions = z
  .strictObject({
    timeout: duration(
      'Time limit of one question, without waits for the limits of the provider. Absent: 90s, and 5m for a server in the own network.',
      { min: '1s', max: '5m' },
    ).optional(),
    maxOutputTokens: wholeNumber(
      'Limit of the tokens of one reply, thoughts included. Absent: three times what the form of the reply needs, from 500 to 8,192, and 16,000 more for a model that thinks.',
      { unit: 'tokens' },
    ).optional(),
    contextTokens: wholeNumber('Tokens that the model reads and writes in one call.', {
      unit: 'tokens',
      min: 512,
    }).optional(),
    temperature: z
      .number()
      .min(0)
      .max(2)
      .describe('Temperature of each question. Absent: 0, and none for a model that refuses it.')
      .meta({ unit: 'no unit', examples: [0] })
      .optional(),
    reasoning: z
      .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
      .describe('Effort of thinking of the model. Absent: the setting of the provider.')
      .optional(),
    decision: z
      .boolean()
      .describe(
        'true: a decision model, which answers typed questions with probabilities. Absent: true for openai/gpt-6-luna and models of typesafe-ai.',
      )
      .optional(),
  })
  .describe('Settings of the calls to one judge.');

const rate = (what: string) =>
  fromZeroToOne('must be from 0 to 1')
    .default(0.8)
    .describe(`Least ${what}: the lower bound of 95 % of a certified judge.`)
    .meta({ unit: 'share' });

const certificate = z
  .strictObject({
    sensitivity: rate('share of the good answers that pass'),
    specificity: rate('share of the bad answers that fail'),
  })
  .prefault({})
  .describe('Rates against labels of people from which a judge is certified.');

const anchors = z
  .strictObject({
    size: wholeNumber(
      'Runs of each version of a scorer that its judge is asked about again and again. 0: none.',
      {
        unit: 'runs',
        min: 0,
        max: 1_000,
      },
    ).default(60),
    share: fromZeroToOne('must be from 0 to 1')
      .default(0.02)
      .describe('Questions about anchors, as a share of the runs that the scorer judges.')
      .meta({ unit: 'share' }),
    perHour: z
      .strictObject({
        min: wholeNumber('Least judgings of anchors an hour.', { unit: 'judgings an hour', min: 0 }).default(
          1,
        ),
        max: wholeNumber('Most judgings of anchors an hour. An incident asks for the rest of them at once.', {
          unit: 'judgings an hour',
        }).default(60),
      })
      .refine(({ min, max }) => min <= max, { path: ['max'], error: 'must be at least min' })
      .describe('Limits for each version of a scorer.')
      .prefault({}),
    wait: duration(
      'Longest time that a message about the scores of a judge waits until it is known whether the judge changed.',
      { min: '0s', max: '24h' },
    ).default('15m'),
    onJudgeDrift: z
      .enum(['hold', 'new-series'])
      .default('hold')
      .describe(
        'hold: monitors of the scorer send nothing until somebody accepts the change of the judge. new-series: they learn a new baseline at once.',
      ),
  })
  .prefault({})
  .describe('Runs that tell a change of the judge from a change of the agent: their judge is asked again.');

/** Schema of judges, their limits and prices. */
export const Judges = z.strictObject({
  default: judgeModel('Judge of every scorer without its own judge: provider/model.').optional(),
  providers: z
    .record(z.string(), provider)
    .default({})
    .describe('Judge providers by name. A judge provider/model uses the provider of that name.'),
  packagesFrom: z
    .string()
    .describe(
      'Folder in whose node_modules the packages of providers are looked for, beside the packages of spanscore. Absent: the folder of the configuration file.',
    )
    .meta({ examples: ['/srv/spanscore'] })
    .optional(),
  options: z
    .record(judgeModel('A judge.'), judgeOptions)
    .default({})
    .describe('Settings of judges by provider/model.'),
  prices: z
    .record(z.string(), price)
    .default({})
    .describe(
      'Prices by provider/model. They replace those of the built-in table. A rule with a budget needs a price for each of its judges: 0 for a free model.',
    ),
  attempts: wholeNumber(
    'Number of tries with a judge whose replies cannot be used or do not come in time, before the decision fails for ever.',
    { unit: 'tries', max: 100 },
  ).default(3),
  reuse: z
    .boolean()
    .default(true)
    .describe(
      'true: a reply is used again for the same question to the same judge. false: every question is a new call.',
    ),
  certificate,
  anchors,
});

export const REDACTION_PATTERNS = [
  'email',
  'credit-card',
  'api-key',
  'jwt',
  'private-key',
  'random-text',
  'phone',
  'ipv4',
  'iban',
] as const;

/** Schema of the texts that never reach a judge. */
export const Redaction = z.strictObject({
  enabled: z.boolean().default(true).describe('false: nothing is removed from texts for judges.'),
  fields: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Attribute keys and names of tool arguments whose values are never sent to a judge, beside names of secrets (password, api_key, access_token, Authorization and the like).',
    ),
  patterns: z
    .array(z.string().min(1).max(500, { error: 'longer than 500 characters' }))
    .default(['email', 'credit-card', 'api-key', 'jwt', 'private-key', 'random-text'])
    .describe(`Names of patterns (${REDACTION_PATTERNS.join(', ')}) or regular expressions.`),
});

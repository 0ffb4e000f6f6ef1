import { TARGET_KINDS } from '../../domain/trace/agent-run.ts';
import { z } from 'zod';
import { budgetCaps } from './scoring.ts';
import { durationMs } from '../units.ts';
import { Cascade, checkCascade, checkOwnJudge, ownJudgeKeys, seenParts } from './own-judges.ts';
import { duration, fromZeroToOne, judgeModel, memorySize, oneOrMore, wholeNumber } from './fields.ts';
import { priceLine } from '../../domain/money/model-prices.ts';

const nameField = (description: string) =>
  z
    .string()
    .regex(/^[A-Za-z0-9][\w.-]{0,99}$/, {
      error: 'letters, digits, _ . - only, beginning with a letter or digit, at most 100 characters',
    })
    .describe(description);

/** Smallest memory limit in MiB: a process of an own scorer needs about 60 MiB for itself. */
const LEAST_MEMORY_MIB = 96;

const limits = z
  .strictObject({
    timeout: duration(
      'Time limit of one run. For a module, time of judge calls does not count; absent: 30s. For a prebuilt scorer it counts; absent: 5m.',
      { min: '10ms', max: '10m' },
    ).optional(),
    memory: memorySize(
      'Memory limit of one process of a module, for its heap and for its resident memory. Absent: 256MiB.',
      LEAST_MEMORY_MIB,
    ).optional(),
  })
  .describe('Limits of one run. A run above a limit is a failed decision that names the limit.');

const environmentName = z
  .string()
  .regex(/^[A-Za-z_]\w*$/, {
    error:
      'write the name of an environment variable: letters, digits and _ only, not beginning with a digit',
  })
  .meta({ examples: ['OPENAI_API_KEY'] });

/** Prebuilt scorer that asks a question of the user's. */
const OWN_JUDGE = 'ask';

const scorerEntry = z
  .strictObject({
    use: z
      .string()
      .min(1)
      .optional()
      .describe('Name of the prebuilt scorer for this variant.')
      .meta({ examples: ['hallucination'] }),
    module: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File whose default export is a scorer: an object with run(). In a configuration file, the path is relative to that file. The scorer runs in its own process.',
      )
      .meta({ examples: ['./scorers/tone-of-voice.ts'] }),
    ...ownJudgeKeys,
    judge: judgeModel(
      'Judge of this scorer. For a module, it also replaces the provider/model in its file. Absent: judges.default.',
    ).optional(),
    cascade: Cascade.optional(),
    options: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Options of the prebuilt scorer. See docs/scorers.md.'),
    sees: seenParts.optional(),
    reason: z
      .literal('on-demand')
      .optional()
      .describe(
        '`on-demand`: no reasons are worded with the score; the page and `spanscore explain --why` ask a chat judge for them. Decision judges need no such key.',
      ),
    higherIsBetter: z
      .boolean()
      .optional()
      .describe('Direction of the scores, for a scorer without its own direction.'),
    range: z
      .tuple([z.number(), z.number()])
      .refine(([low, high]) => low < high, { error: 'the first number must be below the second' })
      .optional()
      .describe('Lowest and highest score, for a scorer without its own range.'),
    failBelow: fromZeroToOne()
      .optional()
      .describe(
        'Score from 0 (worst) to 1 (best) below which a run fails: it has an issue. A scorer without labels passes from here on; absent: from the middle, 0.5, and no issue.',
      )
      .meta({ unit: 'score', examples: [0.7] }),
    env: z
      .array(environmentName)
      .optional()
      .describe(
        'Names of environment variables that the process of a module gets, like an API key. Absent: none.',
      ),
    limits: limits.optional(),
  })
  .superRefine(checkOwnJudge)
  .superRefine(checkCascade)
  .refine(({ use, module, ask }) => ask !== undefined || (use === undefined) !== (module === undefined), {
    error: 'give use (a prebuilt scorer), module (a file of yours) or ask (a question for a judge)',
  })
  .refine((entry) => entry.module !== undefined || entry.env === undefined, {
    path: ['env'],
    error: 'only a module has its own environment; remove env',
  })
  .refine((entry) => entry.module !== undefined || entry.limits?.memory === undefined, {
    path: ['limits', 'memory'],
    error: 'only a module has its own process; remove memory',
  })
  .refine((entry) => entry.module === undefined || entry.options === undefined, {
    path: ['options'],
    error: 'a module takes no options: write them in its file',
  })
  .refine((entry) => entry.module === undefined || entry.sees === undefined, {
    path: ['sees'],
    error: 'only a prebuilt scorer has sees; remove it',
  })
  .refine(
    (entry) =>
      entry.reason === undefined || (entry.use !== undefined && entry.options?.['reason'] === undefined),
    {
      path: ['reason'],
      error: 'is for a prebuilt scorer, in place of its option reason; remove one of them',
    },
  )
  .transform(({ sees, options, ask, answer, examples, reason, ...entry }) => {
    const worded = reason === undefined ? {} : { reason: false };
    // A key that is absent leaves the option of its name: an entry that is read again is the same.
    const given = Object.entries({ ask, answer, examples, sees, ...worded }).filter(
      ([, value]) => value !== undefined,
    );
    return {
      ...entry,
      ...(ask === undefined ? {} : { use: OWN_JUDGE }),
      ...(options === undefined && given.length === 0
        ? {}
        : { options: { ...options, ...Object.fromEntries(given) } }),
    };
  })
  .describe('A scorer with your own name.');

/** Schema of the user's own scorers, by name. */
export const Scorers = z.record(nameField('A scorer name.'), scorerEntry);

const attributeValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);

/** Schema of a least and a greatest value; at least one of them. */
function limitsOf<Value extends number | string>(
  bound: (description: string) => z.ZodType<Value>,
  toNumber: (value: Value) => number,
  { subject, note }: { readonly subject: string; readonly note: string },
) {
  return z
    .strictObject({
      min: bound(`Least ${subject}.${note}`).optional(),
      max: bound(`Greatest ${subject}.${note}`).optional(),
    })
    .refine(({ min, max }) => min !== undefined || max !== undefined, {
      error: 'needs a limit: min, max or both',
    })
    .refine(({ min, max }) => min === undefined || max === undefined || toNumber(min) <= toNumber(max), {
      path: ['max'],
      error: 'must not be below min',
    })
    .describe('Limits, both inclusive.');
}

/** Lists the conditions on a trace. `note` goes after each meaning. */
const listConditions = (note = '') => ({
  service: oneOrMore(`Service names.${note}`).optional(),
  environment: oneOrMore(`Deployment environments.${note}`).optional(),
  agent: oneOrMore(`Agent names.${note}`).optional(),
  model: oneOrMore(`Names of models, as they were requested or as they answered.${note}`).optional(),
  attributes: z
    .record(
      z.string(),
      z.union([attributeValue, z.array(attributeValue).min(1)]).transform((value) => [value].flat()),
    )
    .optional()
    .describe(`Attributes of a span or a resource: key, and a value or a list of values.${note}`),
  status: z
    .enum(['ok', 'error'])
    .optional()
    .describe(`Status: \`error\` when a span of the trace has failed, else \`ok\`.${note}`),
  duration: limitsOf((description) => duration(description), durationMs, {
    subject: 'time from the first start to the last end of the trace',
    note,
  }).optional(),
  tokens: limitsOf((description) => wholeNumber(description, { unit: 'tokens' }), Number, {
    subject: 'number of tokens of a run of the trace, in and out. The trace is read for it',
    note,
  }).optional(),
  readByShape: z
    .boolean()
    .optional()
    .describe(
      `\`true\`: traces with a run that was read by the form of its values; \`false\`: all others. The trace is read for it.${note}`,
    ),
});

export const Conditions = z
  .strictObject({
    ...listConditions(),
    not: z
      .strictObject(listConditions(' A trace that matches is left out.'))
      .optional()
      .describe('Traces that the rule leaves out: those that match any of these conditions.'),
  })
  .describe(
    'Traces that the rule scores. Every condition must be true. For a list, one matching value is enough.',
  );

/** Most first traces of a version that a rule may ask for: each process keeps their ids in memory. */
const MOST_FIRST_TRACES = 10_000;

/** Kind of traces by a number. */
const byNumber = z
  .strictObject({
    slow: duration(
      'Scores every trace that lasts at least this long, from its first start to its last end.',
      {
        min: '1ms',
      },
    ).optional(),
    costly: z
      .number()
      .positive({ error: 'must be above 0' })
      .optional()
      .describe(
        'Scores every trace with a run that costs the agent at least this much. A run whose model has no price is not costly.',
      )
      .meta({ unit: 'USD' }),
    tokens: wholeNumber('Scores every trace with a run of at least this many tokens, in and out.', {
      unit: 'tokens',
    }).optional(),
    newVersion: wholeNumber(
      'Scores this many first traces of each new version of an agent (`gen_ai.agent.version`) or of its service (`service.version`). A version that was in use before the rule had this entry is not new.',
      { unit: 'traces', max: MOST_FIRST_TRACES },
    ).optional(),
  })
  .refine((kind) => Object.values(kind).filter((value) => value !== undefined).length === 1, {
    error: 'needs exactly one of slow, costly, tokens and newVersion; write each in an entry of its own',
  });

const sample = z
  .strictObject({
    rate: fromZeroToOne()
      .default(1)
      .describe('Share of the traces to score: 0.1 scores one in ten.')
      .meta({ unit: 'share' }),
    always: z
      .array(z.union([byNumber, z.enum(['error', 'tool-error', 'negative-feedback'])]))
      .default([])
      .describe(
        'Kinds of traces that are always scored: by name, or by a number, as `{ slow: 10s }`. For `costly` and `tokens` every trace is read. See docs/sampling.md.',
      ),
  })
  .describe('Share of the traces that is scored.');

export const RuleEntry = z.strictObject({
  name: nameField('Name of the rule in decisions. Must be unique.').meta({ examples: ['production'] }),
  scorers: z
    .array(z.string().min(1))
    .min(1, { error: 'needs at least one scorer' })
    .describe('Names of prebuilt scorers, or of entries under scorers.'),
  target: z
    .enum(TARGET_KINDS)
    .default('trace')
    .describe(
      'Target of a score: the whole trace, each agent in it, each model call (at most 100 of a trace), or the session of the trace.',
    ),
  where: Conditions.optional(),
  sample: sample.prefault({}),
  budget: budgetCaps('Limit of the judge cost of the rule.').optional(),
});

export const Rules = z.array(RuleEntry);

export type Rule = z.infer<typeof RuleEntry>;

export type Scorer = z.infer<typeof scorerEntry>;

/** Facts about a scorer that the configuration needs. */
export interface KnownScorer {
  /** Name used in rules. */
  readonly name: string;
  readonly needsJudge: boolean;
  /** True for a scorer that a decision judge can answer, too. */
  readonly canDecide?: boolean;
  /** Names of its score rows, for a scorer that writes several. */
  readonly rows?: readonly string[];
  /** The first fault of its options in words; absent: they are not checked. */
  findOptionFault?(options: Readonly<Record<string, unknown>>): string | undefined;
}

/** Scorers of the default rule: what each run did. */
const DEFAULT_CODE_SCORERS = ['behaviour'];

/** Scorers added when SPANSCORE_JUDGE names a judge. */
const DEFAULT_JUDGED_SCORERS = ['grounding'];

/** Daily budget of the default rule's judged scorers, USD. */
const DEFAULT_BUDGET_USD_PER_DAY = 1;

/** Judge of the default rule, as SPANSCORE_JUDGE names it. */
export interface DefaultJudge {
  readonly model: string;
  /** False when the price is unknown; then no budget can be kept. */
  readonly hasPrice: boolean;
}

/**
 * Returns the rule that applies when the configuration has no `rules`: it scores every trace, and uses no judge unless one
 * is named.
 */
export function defaultRule(
  known: readonly KnownScorer[] | undefined,
  judge: DefaultJudge | undefined,
): Rule {
  const exists = (name: string) => known === undefined || known.some((scorer) => scorer.name === name);
  const names =
    judge === undefined ? DEFAULT_CODE_SCORERS : [...DEFAULT_CODE_SCORERS, ...DEFAULT_JUDGED_SCORERS];
  return {
    name: 'default',
    scorers: names.filter(exists),
    target: 'trace',
    sample: { rate: 1, always: [] },
    ...(judge?.hasPrice === true ? { budget: { perDay: DEFAULT_BUDGET_USD_PER_DAY } } : {}),
  };
}

/** Returns the line about the default rule at the start: its cost, or how to set a judge. */
export function defaultRuleNote(judge: DefaultJudge | undefined): string {
  const scorers = DEFAULT_JUDGED_SCORERS.join(' and ');
  if (judge === undefined) {
    return `No judge is called. To add ${scorers}, set SPANSCORE_JUDGE=openai/gpt-5-mini`;
  }
  return judge.hasPrice
    ? `${scorers} calls ${judge.model}, for at most ${DEFAULT_BUDGET_USD_PER_DAY} USD a day (rules[].budget.perDay)`
    : `${scorers} calls ${judge.model} without a budget, because its price is unknown (to set it: judges.${priceLine(judge.model)})`;
}

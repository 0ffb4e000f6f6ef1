import { z } from 'zod';
import { judgeModel, oneOrMore } from './fields.ts';

const name = (description: string) =>
  z
    .string()
    .regex(/^[A-Za-z0-9][\w.-]{0,99}$/, {
      error: 'letters, digits, _ . - only, beginning with a letter or digit, at most 100 characters',
    })
    .describe(description);

const scorer = z
  .strictObject({
    use: z.string().min(1).optional().describe('The prebuilt scorer that this one is a variant of.'),
    module: z
      .string()
      .min(1)
      .optional()
      .describe('A module whose default export is a scorer: anything with run(). Relative to the file.'),
    judge: judgeModel('Its judge, instead of judges.default.').optional(),
    options: z.record(z.string(), z.unknown()).optional().describe('Options of the prebuilt scorer.'),
    higherIsBetter: z.boolean().optional().describe('Direction of a scorer that does not declare it.'),
    range: z
      .tuple([z.number(), z.number()])
      .refine(([low, high]) => low < high, { error: 'the first number must be below the second' })
      .optional()
      .describe('Least and greatest score of a scorer that does not declare them.'),
  })
  .refine((entry) => (entry.use === undefined) !== (entry.module === undefined), {
    error: 'give either use (a prebuilt scorer) or module (a file of yours)',
  })
  .describe('A scorer under a name of your own.');

/** Scorers of the user's own, by name. */
export const Scorers = z.record(name('A scorer name.'), scorer);

const attributeValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);

const where = z
  .strictObject({
    service: oneOrMore('Any of these service names.').optional(),
    environment: oneOrMore('Any of these deployment environments.').optional(),
    agent: oneOrMore('Any of these agent names.').optional(),
    attributes: z
      .record(
        z.string(),
        z.union([attributeValue, z.array(attributeValue).min(1)]).transform((value) => [value].flat()),
      )
      .optional()
      .describe('Attribute keys of spans or resources with any of these values.'),
  })
  .describe('Which traces the rule is about. All conditions must hold; within one, any value.');

const sample = z
  .strictObject({
    rate: z
      .number()
      .min(0, { error: 'must be between 0 and 1' })
      .max(1, { error: 'must be between 0 and 1' })
      .default(1)
      .describe('Share of the traces to score, 0 to 1.'),
    always: z
      .array(z.enum(['error', 'tool-error', 'negative-feedback']))
      .default([])
      .describe('Traces that are scored whatever the rate.'),
  })
  .describe('How many of them are scored.');

const rule = z.strictObject({
  name: name('Its name in decisions. Must be unique.'),
  scorers: z
    .array(z.string().min(1))
    .min(1, { error: 'needs at least one scorer' })
    .describe('Names of prebuilt scorers, or of entries under scorers.'),
  target: z
    .enum(['trace', 'agent', 'model-call', 'session'])
    .default('trace')
    .describe('What is scored: the whole trace, each agent in it, each model call, or a session.'),
  where: where.optional(),
  sample: sample.prefault({}),
  budget: z
    .strictObject({
      perDay: z.number().positive({ error: 'must be above 0' }).describe('USD a UTC day.'),
    })
    .optional()
    .describe('The most that its judges may cost.'),
});

/** What is scored by which scorers. */
export const Rules = z.array(rule);

/** One rule, defaults filled in. */
export type Rule = z.infer<typeof rule>;

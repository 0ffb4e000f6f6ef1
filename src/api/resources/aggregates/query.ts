import { z } from '@hono/zod-openapi';
import { InvalidInputError } from '../../../domain/errors.ts';
import { Moment, readMoment } from '../../lists/fields.ts';
import { AGGREGATE_FACETS, type AggregateFacet } from '../../../domain/aggregate-facets.ts';
import { isoTime, Time } from '../../json/rows.ts';
import type * as reads from '../../reads/aggregates.ts';

const MAX_TEXT = 1_000;

/** Most values of one filter. */
const MAX_VALUES = 100;

const text = z.string().min(1).max(MAX_TEXT);

/** Schema of a parameter that may be repeated: any of its values. */
function repeated<Schema extends z.ZodType>(schema: Schema, description: string) {
  return z
    .preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(schema).min(1).max(MAX_VALUES))
    .optional()
    .openapi({
      type: 'array',
      items: { type: 'string', ...(schema instanceof z.ZodEnum ? { enum: schema.options } : {}) },
      description,
    });
}

const facet = z.string().max(MAX_TEXT);

export const FACET_FIELDS = {
  service: repeated(facet, 'Only these services.'),
  agent: repeated(facet, 'Only these agents.'),
  environment: repeated(facet, 'Only these environments.'),
  model: repeated(facet, 'Only these models.'),
  serviceVersion: repeated(facet, 'Only these versions of services.'),
  agentVersion: repeated(facet, 'Only these versions of agents.'),
  target: repeated(z.enum(['trace', 'agent', 'model-call', 'session']), 'Only scores of these targets.'),
};

export const SCORES_FIELDS = {
  since: Moment.optional().describe('Start of the range: `24h` before now, or a date and time.'),
  until: Moment.optional().describe('End of the range. Default: now.'),
  ...FACET_FIELDS,
  fingerprint: repeated(text, 'Only these versions of the scorer.'),
  source: z
    .enum(['live', 'backfill', 'human', 'api'])
    .default('live')
    .describe('Origin of the scores. Origins are never mixed.'),
};

export const ScorerName = text.describe('Name of a scorer: that of its score rows.');

/** Facets of a reply that were asked for. */
export const FacetFields = Object.fromEntries(
  AGGREGATE_FACETS.map((name) => [name, z.string().optional()]),
) as Record<(typeof AGGREGATE_FACETS)[number], z.ZodOptional<z.ZodString>>;

/** Parameter of the facets that a reply is split by. */
export const SplitBy = z
  .preprocess(
    (value) => [value].flat().flatMap((each) => (typeof each === 'string' ? each.split(',') : [each])),
    z
      .array(z.enum(AGGREGATE_FACETS))
      .min(1)
      .max(2, { error: 'name one or two facets' })
      .refine((names) => new Set(names).size === names.length, { error: 'name each facet once' }),
  )
  .optional()
  .openapi({
    type: 'array',
    items: { type: 'string', enum: [...AGGREGATE_FACETS] },
    description: 'One or two facets: a group for each of their values.',
  });

/** Range of time, Unix milliseconds: [fromMs, toMs). */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Reads the range of a request. Throws an `InvalidInputError` for a time that cannot be read, or an empty range. */
export function readRange(
  { since, until }: { readonly since?: string | undefined; readonly until?: string | undefined },
  { nowMs, defaultMs }: { readonly nowMs: number; readonly defaultMs: number },
): TimeRange {
  const toMs = readMoment('until', until, nowMs) ?? nowMs;
  const fromMs = readMoment('since', since, nowMs) ?? toMs - defaultMs;
  if (fromMs >= toMs) {
    const end = until === undefined ? 'now' : 'until';
    throw new InvalidInputError(`since: the range is empty; write a time before ${end}`);
  }
  return { fromMs, toMs };
}

export function alignRange({ fromMs, toMs }: TimeRange, bucketMs: number): TimeRange {
  return {
    fromMs: Math.floor(fromMs / bucketMs) * bucketMs,
    toMs: Math.ceil(toMs / bucketMs) * bucketMs,
  };
}

export function readChoice(query: Readonly<Partial<Record<AggregateFacet, readonly string[] | undefined>>>) {
  const { service, agent, environment, model, serviceVersion, agentVersion, target, fingerprint } = query;
  return { service, agent, environment, model, serviceVersion, agentVersion, target, fingerprint };
}

export const Rate = z
  .object({
    value: z.number(),
    low: z.number().describe('95 % interval by Wilson, on the effective number of observations.'),
    high: z.number(),
    n: z.number().describe('Observations.'),
    effectiveN: z.number().describe('Equally weighted observations with the same precision.'),
  })
  .openapi('Rate');

/** Schema of what was usual before. */
export const ScoreBaseline = z
  .object({
    mean: z.number(),
    p10: z.number().nullable(),
    p90: z.number().nullable(),
    n: z.number(),
    from: z
      .enum(['monitor', 'history'])
      .describe(
        '`monitor`: the mean is the reference of a monitor on this series. `history`: scores of the 14 days before.',
      ),
  })
  .openapi('ScoreBaseline');

export const ScoreScale = {
  scoreMin: z.number().nullable(),
  scoreMax: z.number().nullable(),
  higherIsBetter: z.boolean().nullable(),
};

export const SumsState = z
  .object({
    behindSeconds: z
      .number()
      .describe(
        'Age of the oldest score that the sums lack; 0 when they have all. The numbers count it all the same: hours that lack scores are read from the scores, the newest first, up to 500,000 scores of their days.',
      ),
  })
  .openapi('SumsState');

export const ScoreIncident = z
  .object({
    incidentId: z.string(),
    alert: z.string(),
    scorer: z.string(),
    agent: z.string(),
    environment: z.string(),
    startsAt: Time.nullable(),
    endsAt: Time.nullable().describe('Null for an open incident.'),
    muted: z.boolean().describe('True when its messages are muted now.'),
  })
  .openapi('ScoreIncident');

export function incidentJson({ startsAtMs, endsAtMs, isMuted, ...incident }: reads.ScoreIncident) {
  return { ...incident, startsAt: isoTime(startsAtMs), endsAt: isoTime(endsAtMs), muted: isMuted };
}

export function budgetAlertJson({ startsAtMs, isMuted, ...alert }: reads.BudgetAlert) {
  return { ...alert, startsAt: isoTime(startsAtMs), muted: isMuted };
}

/** Formats a time of a bucket, which is always a date. */
export function isoText(atMs: number): string {
  return new Date(atMs).toISOString();
}

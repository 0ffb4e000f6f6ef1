import { z } from '@hono/zod-openapi';
import type { ScoreScale as Scale } from '../../../store/contracts/aggregates/aggregate-reads.ts';
import { isoTime } from '../../json/time-json.ts';
import { Time } from '../series-schema.ts';
import type * as reads from '../../reads/aggregates.ts';

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

/** Schemas of the range and the direction of a scorer. */
export const ScoreScale = {
  scoreMin: z.number().nullable(),
  scoreMax: z.number().nullable(),
  higherIsBetter: z.boolean().nullable(),
};

/** Schema of the state of the sums that pages read. */
export const SumsState = z
  .object({
    behindSeconds: z
      .number()
      .describe(
        'Age of the oldest score that the sums lack; 0 when they have all. The numbers count it all the same: hours that lack scores are read from the scores. A store with more than 500,000 scores since such an hour shows its sum.',
      ),
  })
  .openapi('SumsState');

/** Schema of an incident of a monitor on scores. */
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

/** Formats the range and the direction of a scorer. */
export function scaleJson({ scoreMin, scoreMax, higherIsBetter }: Scale) {
  return { scoreMin, scoreMax, higherIsBetter };
}

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

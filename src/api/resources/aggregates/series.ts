import { z } from '@hono/zod-openapi';
import { parseDurationMs } from '../../../config/index.ts';
import type { AggregateFacet } from '../../../domain/aggregate-facets.ts';
import { DAY_MS, HOUR_MS } from '../../../domain/durations.ts';
import { InvalidInputError } from '../../../domain/errors.ts';
import { buildRate } from '../../../domain/agreement/rate.ts';
import type { SummaryRow } from '../../../store/contracts/sums.ts';
import { numberOf } from '../../lists/fields.ts';
import { markerJson } from '../markers.ts';
import { createRouter, describeJson, tenantStore, describeRoute } from '../../router.ts';
import { Time, orNull, pick } from '../../json/rows.ts';
import type { SeriesReading } from '../../reads/aggregates.ts';
import {
  incidentJson,
  isoText,
  Rate,
  ScoreBaseline,
  ScoreIncident,
  SumsState,
  alignRange,
  readRange,
  ScorerName,
  SplitBy,
  type TimeRange,
  readChoice,
  ScoreScale,
  SCORES_FIELDS,
  FacetFields,
} from './query.ts';
import { PassRate } from '../labels.ts';

/** Numbers of a group of scores. Undefined numbers are null: a mean without a score, a rate without a direction. */
const ScoreSummary = z
  .object({
    n: z.number().describe('Scores.'),
    effectiveN: z
      .number()
      .describe('Equally weighted traces with the same precision; below 30 a mean says little.'),
    mean: z.number().nullable().describe('Mean of all traffic (Hájek): each score counts with its weight.'),
    p10: z
      .number()
      .nullable()
      .describe(
        'Weighted quantile, right within 0.05 % of the range; of a scorer without a range within 1 %.',
      ),
    p50: z.number().nullable(),
    p90: z.number().nullable(),
    passRate: z
      .number()
      .nullable()
      .describe('Weighted share of the scores that are at least as good as `passAt`.'),
    pass: orNull(Rate).describe('The same with its interval.'),
    labels: z
      .record(z.string(), z.number())
      .optional()
      .describe('Scores by label, of a scorer that chooses among options: it has no mean.'),
    weight: z.number().describe('Sum of the weights: traffic that the scores stand for.'),
    unweighted: z
      .number()
      .describe('Scores without a weight. They count as 1 where no score has a weight, else not at all.'),
  })
  .openapi('ScoreSummary');

const SeriesPoint = ScoreSummary.extend({
  bucket: Time.describe('Start of the bucket.'),
  scorer: z.string(),
  ...FacetFields,
}).openapi('SeriesPoint');

const SeriesGroup = ScoreSummary.extend({
  scorer: z.string(),
  ...FacetFields,
  ...ScoreScale,
  baseline: orNull(ScoreBaseline),
  estimate: orNull(PassRate).describe(
    'Pass rate by people of the version that was used last, as in `/labels/estimate`; null without any label.',
  ),
}).openapi('SeriesGroup');

export const SeriesReply = z
  .object({
    items: z
      .array(SeriesPoint)
      .describe('Buckets with scores in the order of time; those of one bucket by group.'),
    next: z.null(),
    groups: z.array(SeriesGroup).describe('Numbers of the whole range, the largest group first.'),
    truncatedGroups: z.number().describe('Smaller groups that the reply leaves out.'),
    bucket: z.string().describe('Length of a bucket.'),
    since: Time,
    until: Time,
    sums: SumsState,
    baseline: orNull(ScoreBaseline).describe(
      'Of all selected scores of the scorer; null without earlier scores.',
    ),
    markers: z.array(
      z.object({
        service: z.string(),
        agent: z.string(),
        version: z.string(),
        agentVersion: z.string(),
        at: Time.nullable(),
      }),
    ),
    incidents: z.array(ScoreIncident),
  })
  .openapi('ScoreSeries');

const readSeries = describeRoute('get', '/series', {
  tag: 'aggregates',
  summary: 'Scores of a scorer over time, in buckets of whole hours or days.',
  request: {
    query: z.strictObject({
      scorer: ScorerName,
      ...SCORES_FIELDS,
      bucket: z
        .string()
        .optional()
        .describe(
          'Length of a bucket: whole hours up to a day, or whole days up to 366d. Default: 1h up to 3 days, else 1d.',
        ),
      by: SplitBy,
      passAt: numberOf(
        'Score from which a score passes. Default: the pass line of the scorer, as in `/labels/agreement`.',
      ),
    }),
  },
  replies: { 200: describeJson('The series.', SeriesReply) },
});

export function createSeriesRoutes() {
  return createRouter().openapi(readSeries, async (c) => {
    const { aggregates, nowMs } = tenantStore(c.var);
    const { scorer, source, bucket, by = [], passAt, ...query } = c.req.valid('query');
    const range = readRange(query, { nowMs: await nowMs(), defaultMs: DAY_MS });
    const bucketMs = readBucket(bucket, range);
    const { fromMs, toMs } = alignRange(range, bucketMs);
    const buckets = (toMs - fromMs) / bucketMs;
    if (buckets > MAX_BUCKETS) {
      throw new InvalidInputError(
        `bucket: the range has ${buckets} buckets, and a reply has ${MAX_BUCKETS} at most; write a longer bucket (1d), or a shorter range`,
      );
    }
    const reading = await aggregates.series({
      ...readChoice(query),
      scorer,
      source,
      by,
      passAt,
      bucketMs,
      fromMs,
      toMs,
    });
    return c.json(seriesJson(reading, { by, bucketMs, fromMs, toMs }), 200);
  });
}

/** Most buckets of a reply. */
const MAX_BUCKETS = 1_000;

/** Longest bucket, milliseconds. */
const MAX_BUCKET_MS = 366 * DAY_MS;

/** Longest range that has buckets of an hour by default, milliseconds. */
const HOURLY_MS = 3 * DAY_MS;

function readBucket(bucket: string | undefined, { fromMs, toMs }: TimeRange): number {
  if (bucket === undefined) {
    return toMs - fromMs <= HOURLY_MS ? HOUR_MS : DAY_MS;
  }
  const bucketMs = parseDurationMs(bucket);
  const isWhole = bucketMs !== undefined && bucketMs % (bucketMs > DAY_MS ? DAY_MS : HOUR_MS) === 0;
  if (!isWhole || bucketMs <= 0 || bucketMs > MAX_BUCKET_MS) {
    throw new InvalidInputError(
      'bucket: write whole hours up to a day, or whole days up to 366d: 1h, 6h, 1d, 7d',
    );
  }
  return bucketMs;
}

interface SeriesTerms extends TimeRange {
  readonly by: readonly AggregateFacet[];
  readonly bucketMs: number;
}

function seriesJson(reading: SeriesReading, { by, bucketMs, fromMs, toMs }: SeriesTerms) {
  return {
    items: reading.points.map((point) => ({
      bucket: isoText(point.bucketMs),
      ...groupJson(point, by),
      ...summaryJson(point),
    })),
    next: null,
    groups: reading.groups.map((group) => ({
      ...groupJson(group, by),
      ...summaryJson(group),
      ...pick(ScoreScale, group),
      baseline: group.baseline,
      estimate: group.estimate,
    })),
    truncatedGroups: reading.truncatedGroups,
    bucket: bucketMs % DAY_MS === 0 ? `${bucketMs / DAY_MS}d` : `${bucketMs / HOUR_MS}h`,
    since: isoText(fromMs),
    until: isoText(toMs),
    sums: { behindSeconds: reading.behindSeconds },
    baseline: reading.baseline,
    markers: reading.markers.map((marker) => {
      const { service, agent, version, agentVersion, at } = markerJson(marker);
      return { service, agent, version, agentVersion, at };
    }),
    incidents: reading.incidents.map(incidentJson),
  };
}

function groupJson({ scorer, values }: SummaryRow, by: readonly AggregateFacet[]) {
  return {
    scorer,
    ...(Object.fromEntries(by.map((facet, index) => [facet, values[index] ?? ''])) as Partial<
      Record<AggregateFacet, string>
    >),
  };
}

function summaryJson(row: SummaryRow) {
  const { n, effectiveN, passRate, labels } = row;
  const pass = passRate === null ? null : buildRate({ value: passRate, n, effectiveN });
  return { ...pick(ScoreSummary.shape, row), pass, labels: labels ?? undefined };
}

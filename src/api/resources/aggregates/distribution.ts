import { z } from '@hono/zod-openapi';
import { baselineRange, DAY_MS, HOUR_MS } from '../../../domain/durations.ts';
import { listEdges, sumBins } from '../../../domain/limits.ts';
import type { ScoreScale as Scale, ScoreHistogram } from '../../../store/contracts/sums.ts';
import { createRouter, describeJson, tenantStore, describeRoute } from '../../router.ts';
import { Time, orNull, pick } from '../../json/rows.ts';
import {
  isoText,
  alignRange,
  readRange,
  ScorerName,
  type TimeRange,
  readChoice,
  ScoreScale,
  SCORES_FIELDS,
} from './query.ts';

const Histogram = z
  .object({
    since: Time,
    until: Time,
    n: z.number(),
    weight: z.number(),
    mean: z.number().nullable(),
    counts: z.array(z.number()).describe('Scores of each bin.'),
    shares: z.array(z.number()).describe('Weighted share of each bin.'),
  })
  .openapi('ScoreHistogram');

export const DistributionReply = z
  .object({
    scorer: z.string(),
    ...ScoreScale,
    edges: z
      .array(z.number())
      .describe('Edges of the bins, one more than bins. The last bin has both of its edges.'),
    current: Histogram,
    compareTo: z.enum(['baseline', 'previous']),
    reference: orNull(Histogram).describe('Null without earlier scores.'),
  })
  .openapi('ScoreDistribution');

const readDistribution = describeRoute('get', '/distribution', {
  tag: 'aggregates',
  summary: 'Histograms of the scores of a scorer, now and before.',
  request: {
    query: z.strictObject({
      scorer: ScorerName,
      ...SCORES_FIELDS,
      compareTo: z
        .enum(['baseline', 'previous'])
        .default('baseline')
        .describe(
          '`baseline`: the 14 days before the range. `previous`: a range of the same length before it.',
        ),
      bins: z.coerce
        .number()
        .refine((bins) => [10, 20, 25, 40, 50, 100].includes(bins), {
          error: 'write 10, 20, 25, 40, 50 or 100',
        })
        .default(20),
    }),
  },
  replies: { 200: describeJson('Both histograms.', DistributionReply) },
});

/** Longest range of whole hours, milliseconds; longer ones are of whole days. */
const HOURLY_MS = 3 * DAY_MS;

export function createDistributionRoutes() {
  return createRouter().openapi(readDistribution, async (c) => {
    const { aggregates, nowMs } = tenantStore(c.var);
    const { scorer, source, compareTo, bins, ...query } = c.req.valid('query');
    const asked = readRange(query, { nowMs: await nowMs(), defaultMs: DAY_MS });
    const range = alignRange(asked, asked.toMs - asked.fromMs > HOURLY_MS ? DAY_MS : HOUR_MS);
    const { fromMs, toMs } = range;
    const reference =
      compareTo === 'previous' ? { fromMs: 2 * fromMs - toMs, toMs: fromMs } : baselineRange(fromMs);
    const { current, reference: earlier } = await aggregates.distribution({
      ...readChoice(query),
      ...range,
      scorer,
      source,
      reference,
    });
    const scale = current ?? earlier ?? NO_SCALE;
    const edges = listEdges([current, earlier], { ...scale, bins });
    return c.json(
      {
        scorer,
        ...pick(ScoreScale, scale),
        edges,
        current: histogramJson(current ?? EMPTY, edges, range),
        compareTo,
        reference: earlier === null ? null : histogramJson(earlier, edges, reference),
      },
      200,
    );
  });
}

const NO_SCALE: Scale = { scoreMin: null, scoreMax: null, higherIsBetter: null };
const EMPTY: ScoreHistogram = {
  ...NO_SCALE,
  n: 0,
  weight: 0,
  mean: null,
  values: [],
  counts: [],
  weights: [],
};

function histogramJson(histogram: ScoreHistogram, edges: readonly number[], { fromMs, toMs }: TimeRange) {
  const { values, counts, weights } = histogram;
  const total = weights.reduce((sum, each) => sum + each, 0);
  const shares = sumBins(values, weights, edges).map((sum) => (total > 0 ? sum / total : 0));
  return {
    ...pick(Histogram.shape, histogram),
    since: isoText(fromMs),
    until: isoText(toMs),
    counts: sumBins(values, counts, edges),
    shares,
  };
}

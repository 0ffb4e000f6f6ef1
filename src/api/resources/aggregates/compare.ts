import { z } from '@hono/zod-openapi';
import { DAY_MS, HOUR_MS } from '../../../domain/durations.ts';
import { createRouter, describeJson, tenantStore, describeRoute } from '../../router.ts';
import { Confusion, AGREEMENT_FIELDS } from '../labels.ts';
import { Time } from '../../json/rows.ts';
import type { ComparedSide } from '../../reads/compare.ts';
import { FACET_FIELDS, isoText, alignRange, readRange, SCORES_FIELDS, readChoice } from './query.ts';

const side = z
  .string()
  .min(1)
  .max(1_000)
  .describe('`scorer`, `scorer@fingerprint` or `human:scorer` (human labels).');

export const CompareReply = z
  .object({
    left: z.string(),
    right: z.string(),
    since: Time.describe('Start of the compared scores; later than asked where a side has more than 10,000.'),
    until: Time,
    ...AGREEMENT_FIELDS,
    spearman: z.number().nullable().describe('Rank correlation of the directed scores.'),
    confusion: Confusion,
    disagreements: z.array(z.string()).describe('Ids of up to 100 traces, the largest difference first.'),
  })
  .openapi('Comparison');

const { since, until } = SCORES_FIELDS;

const readComparison = describeRoute('get', '/compare', {
  tag: 'aggregates',
  summary: 'Agreement of two scorers, two versions of a scorer, or a scorer and people.',
  request: {
    query: z.strictObject({ left: side, right: side, since, until, ...FACET_FIELDS }),
  },
  replies: { 200: describeJson('The agreement.', CompareReply) },
});

/** Range without `since`. */
const DEFAULT_RANGE_MS = 30 * DAY_MS;

export function createCompareRoutes() {
  return createRouter().openapi(readComparison, async (c) => {
    const { aggregates, nowMs } = tenantStore(c.var);
    const { left, right, ...query } = c.req.valid('query');
    const asked = readRange(query, { nowMs: await nowMs(), defaultMs: DEFAULT_RANGE_MS });
    const range = alignRange(asked, asked.toMs - asked.fromMs > DAY_MS ? DAY_MS : HOUR_MS);
    const { fromMs, confusion, disagreements, ...numbers } = await aggregates.compare({
      ...readChoice(query),
      ...range,
      left: readSide(left),
      right: readSide(right),
    });
    const [from, to] = [isoText(fromMs), isoText(range.toMs)];
    return c.json(
      { left, right, since: from, until: to, ...numbers, confusion, disagreements: [...disagreements] },
      200,
    );
  });
}

const HUMAN = 'human:';

/** Reads a side. A fingerprint is hex, so an `@` in the name of a scorer is no fingerprint. */
function readSide(text: string): ComparedSide {
  const isHuman = text.startsWith(HUMAN);
  const name = isHuman ? text.slice(HUMAN.length) : text;
  const [, scorer, fingerprint] = /^(.+)@([0-9a-f]+)$/u.exec(name) ?? [];
  return scorer === undefined || fingerprint === undefined
    ? { scorer: name, isHuman }
    : { scorer, fingerprint, isHuman };
}

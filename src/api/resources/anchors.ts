import { z } from '@hono/zod-openapi';
import { describePage } from '../lists/cursors.ts';
import { Name } from '../lists/fields.ts';
import { describeRoute, createRouter, describeJson, tenantStore } from '../router.ts';
import { Time, isoTime } from '../json/rows.ts';
import type { AnchorStanding } from '../../monitors/anchor-sets.ts';

const Anchors = z
  .object({
    scorer: z.string(),
    fingerprint: z.string(),
    size: z.number().describe('Runs whose judge is asked again.'),
    labelled: z.number().describe('Runs of these with a label of a person.'),
    judged: z.number().describe('Judgings since the anchors were chosen.'),
    lastAt: Time.nullable().describe('Last judging.'),
    before: z.number().nullable().describe('Mean first score of the judged runs, 1 is best.'),
    after: z.number().nullable().describe('Mean of their judgings: of the last turn, or since the change.'),
    change: z.number().nullable(),
    evidenceLog10: z.number().describe('Evidence that the judge changed.'),
    state: z
      .enum(['learning', 'ok', 'drifted'])
      .describe('`learning`: too few runs or judgings; `drifted`: the alert JudgeDrift is open.'),
  })
  .openapi('Anchors');

const listAnchors = describeRoute('get', '/anchors', {
  tag: 'labels',
  summary: 'Runs whose judge is asked again and again, to tell a change of the judge from one of the agent.',
  request: {
    query: z.strictObject({
      scorer: Name.optional().describe('Name of the score rows, or of their scorer.'),
    }),
  },
  replies: { 200: describeJson('The anchors of each version of a scorer.', describePage(Anchors)) },
});

export function createAnchorRoutes() {
  return createRouter().openapi(listAnchors, async (c) => {
    const items = await tenantStore(c.var).anchors(c.req.valid('query').scorer);
    return c.json({ items: items.map(anchorsJson), next: null }, 200);
  });
}

/** Formats the anchors of a version as JSON; times in ISO 8601. */
export function anchorsJson({ lastAtMs, ...rest }: AnchorStanding) {
  return { ...rest, lastAt: isoTime(lastAtMs) };
}

import { createRoute } from '@hono/zod-openapi';
import type { z } from 'zod';
import { parseDurationMs } from '../../config/index.ts';
import { previewJson } from '../json/preview-json.ts';
import { NoQuery } from '../lists/filters.ts';
import { createRouter, describeBody, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { NewPreview, Preview } from '../schemas/preview-schema.ts';

const previewRule = createRoute({
  ...secureRoute('admin'),
  method: 'post',
  path: '/preview',
  tags: ['configuration'],
  summary:
    'What a rule would match, score and cost, with some real verdicts. Stores no score, decision or judge call; what the verdicts cost is booked.',
  request: { query: NoQuery, body: describeBody(NewPreview) },
  responses: { 200: describeJson('The preview.', Preview), ...PROBLEMS },
});

/** Creates the route of previews. */
export function createPreviewRoutes() {
  return createRouter().openapi(previewRule, async (c) => {
    const { rule, last, sample } = c.req.valid('json');
    const id = typeof rule === 'string' ? rule : String(rule['name']);
    const { previews } = await tenantStore(c.var).openWrites({
      action: 'rule.preview',
      subjects: [{ kind: 'rule', id }],
    });
    const view = await previews.preview({ rule, lastMs: parseDurationMs(last) ?? 0, sample });
    return c.json(previewJson(view) as z.output<typeof Preview>, 200);
  });
}

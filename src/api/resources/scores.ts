import { createRoute, z } from '@hono/zod-openapi';
import { readWhole } from '../access/whole-reads.ts';
import { CURSOR_FIELDS, createList, describePage, refuseCursor } from '../lists/cursors.ts';
import { FILTER_FIELDS, NoQuery } from '../lists/filters.ts';
import { createRouter, describeJson, PROBLEMS, tenantStore, secureRoute } from '../router.ts';
import { ScoreDetail, ScoreItem } from '../schemas/score-schema.ts';
import { ScoreParams } from '../schemas/target-fields.ts';
import { scoreJson } from '../json/score-json.ts';
import type { JudgeCallRecord } from '../../domain/judge-call.ts';
import type { ScoreView } from '../reads/scores.ts';
import { isoTime } from '../json/time-json.ts';

const NOWHERE = { spanId: null, messageIndex: null, partIndex: null, start: null, end: null };

const scoreList = createList('scores');

const listScores = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/scores',
  tags: ['scores'],
  summary: 'Score rows, newest first by the start of their run.',
  request: {
    query: z.strictObject({
      ...CURSOR_FIELDS,
      ...FILTER_FIELDS,
      order: z
        .enum(['newest', 'score'])
        .default('newest')
        .describe(
          '`score`: the worst first, by the direction of each scorer; at most 500, without a cursor.',
        ),
    }),
  },
  responses: { 200: describeJson('A page of scores.', describePage(ScoreItem)), ...PROBLEMS },
});

const readScore = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/scores/{scoreId}',
  tags: ['scores'],
  summary: 'One score, with the evidence of its verdicts and the calls of its judge.',
  request: { query: NoQuery, params: ScoreParams },
  responses: { 200: describeJson('The score.', ScoreDetail), ...PROBLEMS },
});

/** Creates the routes of scores. */
export function createScoreRoutes() {
  return createRouter()
    .openapi(listScores, async (c) => {
      const { scores, nowMs } = tenantStore(c.var);
      const { order, ...query } = c.req.valid('query');
      const { filters, page } = scoreList.readQuery(query, await nowMs());
      if (order === 'score') {
        refuseCursor(order, query);
        const items = await scores.listWorst(filters, page.limit);
        return c.json({ items: items.map(scoreJson), next: null }, 200);
      }
      return c.json(scoreList.toReply(await scores.list(filters, page), scoreJson), 200);
    })
    .openapi(readScore, async (c) => {
      const { scores } = tenantStore(c.var);
      const score = await readWhole(() => scores.read(c.req.valid('param').scoreId));
      return c.json(scoreViewJson(score), 200);
    });
}

/** Formats a score with the places of its quotes and the calls of its judge. */
function scoreViewJson({ score, places, judgeCalls }: ScoreView) {
  return {
    ...scoreJson(score),
    verdicts: score.verdicts.map((verdict, index) => ({
      ...verdict,
      quote: verdict.quote ?? null,
      ...(places[index] ?? NOWHERE),
    })),
    judgeCalls: judgeCalls.map(callJson),
  };
}

function callJson({
  step,
  status,
  model,
  prompt,
  reply,
  error,
  durationMs,
  calledAtMs,
  ...rest
}: JudgeCallRecord) {
  const { inputTokens, outputTokens, costUsd } = rest;
  return {
    step,
    status,
    model,
    prompt,
    reply,
    error,
    inputTokens,
    outputTokens,
    costUsd,
    latencyMs: durationMs,
    calledAt: isoTime(calledAtMs),
  };
}

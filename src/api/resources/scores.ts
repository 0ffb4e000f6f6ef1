import { z } from '@hono/zod-openapi';
import { askedSchema, explainedSchema } from '../../configuration.ts';
import { readWhole } from '../access/limits.ts';
import { createList, describePage, refuseCursor, CURSOR_FIELDS } from '../lists/cursors.ts';
import {
  NoQuery,
  ScoreParams,
  ScoreValue,
  checkTarget,
  hexId,
  Name,
  TenantQuery,
  FILTER_FIELDS,
} from '../lists/fields.ts';
import {
  describeRoute,
  createRouter,
  describeJson,
  tenantStore,
  describeProblem,
  describeBody,
} from '../router.ts';
import {
  ScoreDetail,
  ScoreItem,
  scoreJson,
  isoTime,
  decisionJson,
  DecisionItem,
  JudgeCall,
  pick,
} from '../json/rows.ts';
import type { JudgeCallRecord } from '../../domain/judge-call.ts';
import type { ScoreView } from '../reads/scores.ts';
import { HTTPException } from 'hono/http-exception';
import { checkAuthor } from '../access/request-access.ts';
import { subjectOf } from '../writes/audit.ts';
import type { PostedScore } from '../writes/posted-scores.ts';
import type { ScoreRequest } from '../writes/scoring.ts';

const NOWHERE = { spanId: null, messageIndex: null, partIndex: null, start: null, end: null };

/** Lists by the parameter `order`. A cursor belongs to one order. */
const SCORE_LISTS = {
  newest: { order: 'started', list: createList('scores') },
  scored: { order: 'scored', list: createList('scores by scoring') },
  'scored-first': { order: 'scored_first', list: createList('scores by first scoring') },
} as const;

const listScores = describeRoute('get', '/scores', {
  tag: 'scores',
  summary: 'Score rows, newest first by the start of their run.',
  request: {
    query: z.strictObject({
      ...CURSOR_FIELDS,
      ...FILTER_FIELDS,
      order: z
        .enum(['newest', 'score', 'scored', 'scored-first'])
        .default('newest')
        .describe(
          '`score`: the worst first, by the direction of each scorer; at most 500, without a cursor. `scored` and `scored-first`: the last or the first scored first; `since` and `until` are then times of the scoring.',
        ),
    }),
  },
  replies: { 200: describeJson('A page of scores.', describePage(ScoreItem)) },
});

const readScore = describeRoute('get', '/scores/{scoreId}', {
  tag: 'scores',
  summary: 'One score, with the evidence of its verdicts and the calls of its judge.',
  request: { query: NoQuery, params: ScoreParams },
  replies: { 200: describeJson('The score.', ScoreDetail) },
});

export function createScoreRoutes() {
  return createRouter()
    .openapi(listScores, async (c) => {
      const { scores, nowMs } = tenantStore(c.var);
      const { order, ...query } = c.req.valid('query');
      const { order: by, list } = SCORE_LISTS[order === 'score' ? 'newest' : order];
      const { filters, page } = list.readQuery(query, await nowMs());
      if (order === 'score') {
        refuseCursor(order, query);
        const items = await scores.listWorst(filters, page.limit);
        return c.json({ items: items.map(scoreJson), next: null }, 200);
      }
      return c.json(list.toReply(await scores.list(filters, { ...page, order: by }), scoreJson), 200);
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

function callJson(call: JudgeCallRecord) {
  return { ...pick(JudgeCall.shape, call), latencyMs: call.durationMs, calledAt: isoTime(call.calledAtMs) };
}

/** Most scores of a request. */
const MAX_POSTED = 1_000;

const MAX_LABEL = 1_000;
const MAX_REASON = 100_000;
const MAX_SCORERS = 100;

const NewScore = checkTarget(
  z.strictObject({
    traceId: hexId(32)
      .optional()
      .describe('Required, unless `sessionId` is given: then the score is about the session.'),
    spanId: hexId(16).optional().describe('Absent: the score is about the whole run.'),
    sessionId: z.string().min(1).max(MAX_LABEL).optional(),
    scorer: Name,
    score: ScoreValue.describe('Within the range of the scorer, where it has one.'),
    label: z.string().max(MAX_LABEL).default(''),
    reason: z.string().max(MAX_REASON).default(''),
    source: z.enum(['human', 'api']).describe('`human` needs the scope label, `api` the scope admin.'),
    scoredBy: Name.optional().describe(
      'Author. Default: the name of the token. The name of another token needs the scope admin.',
    ),
  }),
).openapi('NewScore');

const NewScores = z
  .union([NewScore, z.array(NewScore).min(1).max(MAX_POSTED)])
  .describe(`One score, or up to ${MAX_POSTED}.`);

const postScores = describeRoute('post', '/scores', {
  scopes: ['label'],
  tag: 'scores',
  summary:
    'Stores scores of people and programs. The same trace, target, scorer and author replaces; a trace may come later.',
  request: { query: TenantQuery, body: describeBody(NewScores) },
  replies: {
    201: describeJson('The ids, in the order of the scores.', z.object({ ids: z.array(z.guid()) })),
  },
});

const deleteScore = describeRoute('delete', '/scores/{scoreId}', {
  tag: 'scores',
  summary: 'Deletes a score. It does not come back for the same evidence.',
  request: { query: NoQuery, params: ScoreParams },
  replies: { 200: describeJson('The id.', z.object({ deleted: z.guid() })) },
});

/** Body of `POST /score`. */
export const ScoreNow = z
  .strictObject({
    traceId: hexId(32),
    scorers: z.array(Name).min(1).max(MAX_SCORERS).optional(),
    ask: askedSchema
      .optional()
      .describe('Question to a judge about the run. Its score has the scorer `ask`.'),
    why: explainedSchema
      .optional()
      .describe(
        'Score of a decision judge, whose verdicts against the answer a chat judge explains, with reasons and quotes. Its score has the scorer `why`: the share of the verdicts with which it agrees.',
      ),
    write: z.boolean().default(false).describe('true: stores the results.'),
  })
  .refine(({ scorers, ask, why }) => (why === undefined) !== (scorers === undefined && ask === undefined), {
    error: 'name scorers, or ask a question, or why a score is so',
  })
  .refine(({ ask, why, write }) => (ask === undefined && why === undefined) || !write, {
    path: ['write'],
    error: 'a question without a name is not stored: make it an entry of scorers',
  });

const scoreNow = describeRoute('post', '/score', {
  tag: 'scores',
  summary: 'Runs scorers on a stored trace now.',
  request: {
    query: NoQuery,
    body: describeBody(ScoreNow),
  },
  replies: {
    200: describeJson(
      'The results. A scorer without a score has a decision that says why.',
      z.object({ scores: z.array(ScoreItem), decisions: z.array(DecisionItem) }),
    ),
    504: describeProblem(
      'The scorers took longer than the limit of a request. With `write`, they continue, and their results are stored: `GET /traces/{traceId}` shows them. Without it, they are stopped.',
    ),
  },
});

export function createScoreWriteRoutes() {
  return createRouter()
    .openapi(postScores, async (c) => {
      const body = c.req.valid('json');
      const posted = Array.isArray(body) ? body.map(toPosted) : toPosted(body);
      const list = [posted].flat();
      const { name: token, scopes } = c.var.sender;
      if (list.some(({ source }) => source === 'api') && !scopes.includes('admin')) {
        const message = `the bearer token ${token} lacks the scope admin, which the source api needs`;
        throw new HTTPException(403, { message });
      }
      list.forEach(({ scoredBy }) => checkAuthor(c.var.sender, scoredBy));
      const { scores } = await tenantStore(c.var).openWrites('score.post', ...list.map(subjectOf));
      const { tenant } = c.req.valid('query');
      return c.json({ ids: [...(await scores.post(posted, tenant))] }, 201);
    })
    .openapi(deleteScore, async (c) => {
      const { scoreId } = c.req.valid('param');
      const { scores } = await tenantStore(c.var).openWrites('score.delete', { kind: 'score', id: scoreId });
      await scores.delete(scoreId);
      return c.json({ deleted: scoreId }, 200);
    })
    .openapi(scoreNow, async (c) => {
      const store = tenantStore(c.var);
      const request = c.req.valid('json');
      const atLimit = new AbortController();
      c.set('afterLimit', () => {
        atLimit.abort();
        return describeLateResults(request);
      });
      // Without `write`, only the reply has the results: the scorers end with the request.
      const ends = request.write ? [] : [atLimit.signal, c.req.raw.signal];
      const writes = await store.openWrites('trace.score', { kind: 'trace', id: request.traceId });
      const { scores, decisions } = await writes.scores.run(request, AbortSignal.any(ends));
      const nowMs = await store.nowMs();
      return c.json(
        { scores: scores.map(scoreJson), decisions: decisions.map((row) => decisionJson(row, nowMs)) },
        200,
      );
    });
}

function describeLateResults({ traceId, write }: ScoreRequest): string {
  const place = `GET /api/v1/traces/${traceId} shows them`;
  return write
    ? `the scorers continue, and their results will be stored: ${place}`
    : `the scorers were stopped, as nobody would get their results: ask again with "write": true, then ${place}`;
}

function toPosted({
  traceId = '',
  spanId = '',
  sessionId = '',
  ...rest
}: z.output<typeof NewScore>): PostedScore {
  return { ...rest, traceId, spanId, sessionId };
}

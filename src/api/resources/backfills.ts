import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { parseRatePerSecond } from '../../config/index.ts';
import { MINUTE_MS } from '../../domain/durations.ts';
import type { JobOrder } from '../../store/contracts/jobs.ts';
import type { AskedBackfill } from '../../backfill/configured-backfill.ts';
import type { ApiEnv } from '../api-env.ts';
import { backfillJson } from '../json/backfill-json.ts';
import { createList, describeList } from '../lists/cursors.ts';
import { NoQuery, readMoment } from '../lists/filters.ts';
import {
  answerTooMany,
  createRouter,
  describeBody,
  describeJson,
  PROBLEMS,
  tenantStore,
  secureRoute,
} from '../router.ts';
import { Backfill, NewBackfill } from '../schemas/backfill-schema.ts';

/** Interval of comments that keep an idle stream open, milliseconds. */
const KEEP_ALIVE_MS = 15_000;

/** Streams of one token at a time, and the longest time of one, milliseconds: browsers connect again by themselves. */
const MAX_STREAMS = 8;
const RETRY_MS = 10_000;
const MAX_STREAM_MS = 15 * MINUTE_MS;

const params = z.strictObject({ id: z.string().min(1).max(100) });

const backfillList = createList('backfills');

const listBackfills = describeList('/backfills', {
  item: Backfill,
  items: 'backfills',
  tag: 'backfills',
  summary: 'Backfills, newest first.',
});

const startBackfill = createRoute({
  ...secureRoute('admin'),
  method: 'post',
  path: '/backfills',
  tags: ['backfills'],
  summary:
    'Starts a backfill, or finds the open one with the same specification. With `dryRun`, only says what it would do and cost.',
  request: { query: NoQuery, body: describeBody(NewBackfill) },
  responses: {
    200: describeJson('What it would do.', Backfill),
    201: describeJson('The backfill.', Backfill),
    ...PROBLEMS,
  },
});

const readBackfill = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/backfills/{id}',
  tags: ['backfills'],
  summary: 'How far a backfill is.',
  request: { query: NoQuery, params },
  responses: { 200: describeJson('The backfill.', Backfill), ...PROBLEMS },
});

/** One event. OpenAPI 3.1 has no word for a stream of them: this is the schema of each. */
const ProgressEvent = z
  .object({ event: z.literal('progress'), data: z.string().describe('The backfill as JSON.') })
  .openapi('ProgressEvent');

const readEvents = createRoute({
  ...secureRoute('read'),
  method: 'get',
  path: '/backfills/{id}/events',
  tags: ['backfills'],
  summary:
    'Progress of a backfill as server-sent events `progress`, each with the backfill. The stream ends with the backfill, or after 15 minutes. A token has at most 8 streams.',
  request: { query: NoQuery, params },
  responses: {
    200: { description: 'The events.', content: { 'text/event-stream': { schema: ProgressEvent } } },
    ...PROBLEMS,
  },
});

const describeOrder = <Path extends string>(path: Path, summary: string) =>
  createRoute({
    ...secureRoute('admin'),
    method: 'post',
    path,
    tags: ['backfills'],
    summary,
    request: { query: NoQuery, params },
    responses: { 200: describeJson('The backfill.', Backfill), ...PROBLEMS },
  });

const pauseBackfill = describeOrder(
  '/backfills/{id}/pause',
  'Stops a backfill until it is resumed. What is scored stays.',
);
const resumeBackfill = describeOrder('/backfills/{id}/resume', 'Continues a paused backfill.');
const cancelBackfill = describeOrder('/backfills/{id}/cancel', 'Ends a backfill. What is scored stays.');

type BackfillBody = z.output<typeof Backfill>;

/** Creates the routes of backfills. */
export function createBackfillRoutes() {
  /** Open streams by the name of their token. */
  const streams = new Map<string, number>();
  return createRouter()
    .openapi(listBackfills, async (c) => {
      const { backfills, nowMs } = tenantStore(c.var);
      const { page } = backfillList.readQuery(c.req.valid('query'), await nowMs());
      return c.json(
        backfillList.toReply(await backfills.list(page), (job) => backfillJson(job) as BackfillBody),
        200,
      );
    })
    .openapi(startBackfill, async (c) => {
      const store = tenantStore(c.var);
      const { dryRun = false, ...body } = c.req.valid('json');
      const asked = readAsked(body, await store.nowMs());
      const range = `${new Date(asked.fromMs).toISOString()}/${new Date(asked.toMs).toISOString()}`;
      const subjects = [{ kind: 'backfill', id: range }] as const;
      const action = dryRun ? 'backfill.preview' : 'backfill.start';
      const { backfills } = await store.openWrites({ action, subjects });
      return dryRun
        ? c.json({ ...(await backfills.dryRun(asked)) } as BackfillBody, 200)
        : c.json(backfillJson(await backfills.start(asked)) as BackfillBody, 201);
    })
    .openapi(readBackfill, async (c) => {
      const job = await tenantStore(c.var).backfills.find(c.req.valid('param').id);
      return c.json(backfillJson(job) as BackfillBody, 200);
    })
    .openapi(readEvents, async (c) => {
      const { backfills } = tenantStore(c.var);
      const { id } = c.req.valid('param');
      await backfills.find(id);
      const { name } = c.var.caller;
      const others = streams.get(name) ?? 0;
      if (others >= MAX_STREAMS) {
        return answerTooMany(c, `this token has ${MAX_STREAMS} streams of events: close one`, RETRY_MS);
      }
      streams.set(name, others + 1);
      return streamSSE(c, async (stream) => {
        const closed = new AbortController();
        const over = setTimeout(() => closed.abort(), MAX_STREAM_MS);
        stream.onAbort(() => closed.abort());
        const keeper = setInterval(() => void stream.write(': still here\n\n'), KEEP_ALIVE_MS);
        try {
          await backfills.follow(
            id,
            (job) => void stream.writeSSE({ event: 'progress', data: JSON.stringify(backfillJson(job)) }),
            closed.signal,
          );
        } finally {
          clearInterval(keeper);
          clearTimeout(over);
          streams.set(name, (streams.get(name) ?? 1) - 1);
        }
      });
    })
    .openapi(pauseBackfill, async (c) => c.json(await order(c, c.req.valid('param').id, 'pause'), 200))
    .openapi(resumeBackfill, async (c) => c.json(await order(c, c.req.valid('param').id, 'resume'), 200))
    .openapi(cancelBackfill, async (c) => c.json(await order(c, c.req.valid('param').id, 'cancel'), 200));
}

async function order(c: Context<ApiEnv>, id: string, word: JobOrder): Promise<BackfillBody> {
  const subjects = [{ kind: 'backfill', id }] as const;
  const { backfills } = await tenantStore(c.var).openWrites({ action: `backfill.${word}`, subjects });
  return backfillJson(await backfills.order(id, word));
}

function readAsked(
  {
    from,
    to,
    rule,
    scorer,
    where,
    sample,
    rescore,
    rate,
    ...limits
  }: Omit<z.output<typeof NewBackfill>, 'dryRun'>,
  nowMs: number,
): AskedBackfill {
  return {
    fromMs: readMoment('from', from, nowMs) ?? nowMs,
    toMs: readMoment('to', to, nowMs) ?? nowMs,
    rules: rule,
    scorers: scorer,
    where,
    sample,
    rescore,
    limits: { ...limits, tracesPerSecond: rate === undefined ? undefined : parseRatePerSecond(rate) },
  };
}

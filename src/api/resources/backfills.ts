import { z } from '@hono/zod-openapi';
import { parseRatePerSecond } from '../../config/index.ts';
import { Time, jobJson, backfillJson } from '../json/rows.ts';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { MINUTE_MS } from '../../domain/durations.ts';
import type { JobOrder, Job } from '../../store/contracts/jobs.ts';
import type { AskedBackfill } from '../../jobs/configured-backfill.ts';
import {
  describeRoute,
  type ApiEnv,
  answerTooMany,
  createRouter,
  describeBody,
  describeJson,
  tenantStore,
} from '../router.ts';
import { createList, describeList } from '../lists/cursors.ts';
import { Moment, NoQuery, readMoment } from '../lists/fields.ts';

const usd = z.number().nullable();

const callFields = {
  judgeCalls: z.int().describe('Expected judge calls.'),
  inputTokens: z.int(),
  outputTokens: z.int(),
  costUsd: usd.describe('Expected cost in US dollars; null when a judge has no price.'),
  costLow: usd.describe('Lower end of the interval in which about 95 of 100 real costs lie.'),
  costHigh: usd.describe('Upper end of that interval.'),
  basis: z
    .enum(['stored_calls', 'declared_lengths', 'mixed', 'none'])
    .describe(
      'Source of the lengths of replies and of later questions: stored calls of the same scorer and judge, or declared lengths. `none`: no call is expected.',
    ),
};

const estimateFields = {
  ...callFields,
  seconds: z.int().describe('Time at the configured limits.'),
  prompts: z.int().describe('Prompts that were really rendered.'),
  scorers: z
    .array(
      z.object({
        rule: z.string(),
        scorer: z.string(),
        judges: z.array(z.string()).readonly(),
        costsUsd: z.array(usd).readonly().describe('Cost of the calls to each of the judges.'),
        targets: z.int().describe('Traces and sessions on which it would run.'),
        rendered: z.int().describe('Targets of which the first question was rendered.'),
        ...callFields,
      }),
    )
    .readonly()
    .describe('Scorers that may ask a judge.'),
  unscored: z
    .record(z.string(), z.int())
    .describe('Expected pairs that give no score, by the code of the reason; scaled from the sample.'),
  unpriced: z.array(z.string()).readonly().describe('Judges without a price.'),
  unknown: z
    .array(z.string())
    .readonly()
    .describe('Own scorers that may ask a judge, of which no call is stored: they are not in the estimate.'),
};

/** Estimated calls, tokens and cost of judges. */
export const Estimate = z.object(estimateFields).openapi('Estimate');

/** Estimated calls, tokens, cost and time of a backfill. */
export const BackfillEstimate = z
  .object({
    ...estimateFields,
    isComplete: z
      .boolean()
      .describe('False: there was no time to list all targets, so that all numbers are too small.'),
  })
  .openapi('BackfillEstimate');

const share = z
  .number()
  .positive({ error: 'must be above 0' })
  .max(1, { error: 'must be at most 1' })
  .optional();
const names = z
  .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
  .transform((given): readonly string[] => [given].flat())
  .optional();

export const NewBackfill = z
  .strictObject({
    from: Moment.describe('Traces that began since `7d`, or a date and time.'),
    to: Moment.optional().describe('Traces that began before this time. Default: now.'),
    rule: names.describe('Only these rules. Default: all, unless scorers are named.'),
    scorer: names.describe('Scorers that run on every trace, instead of the rules.'),
    where: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'Only traces, and sessions as the sum of their turns, that meet these conditions, as in a rule.',
      ),
    sample: share.describe('Part of the traces, instead of the samples of the rules: 0.1 is one in ten.'),
    rate: z
      .string()
      .refine((text) => parseRatePerSecond(text) !== undefined, {
        error: 'write a number of traces and a time: 50/s, 600/m, 1000/h',
      })
      .optional()
      .describe('Most traces in a time: `50/s`, `600/m`.'),
    maxCostUsd: z
      .number()
      .positive({ error: 'must be above 0' })
      .optional()
      .describe('Most money for judges, US dollars.'),
    concurrency: z.int().min(1).max(1_000).optional().describe('Traces whose scorers run at the same time.'),
    judgeShare: share.describe('Part of the places of judges. Default: 0.3 beside live scoring, else all.'),
    rescore: z
      .boolean()
      .optional()
      .describe('True: run the scorers again where a score of the same fingerprint is, and replace it.'),
    batch: z
      .boolean()
      .optional()
      .describe(
        'True: ask the judge in batches, which cost half and take up to a day. For grounding, panel and own judges.',
      ),
    dryRun: z.boolean().optional().describe('True: only say what the backfill would do and cost.'),
  })
  .openapi('NewBackfill');

const reasons = z.record(z.string(), z.int());
const pairs = 'Pairs: one scorer of one rule on one target.';

/** Backfill as a job, or what one would do. */
export const Backfill = z
  .looseObject({
    id: z.string().describe("'' for a dry run."),
    tenant: z.string().describe("Tenant whose traces are scored; '' for all tenants."),
    status: z.enum(['queued', 'running', 'paused', 'done', 'failed', 'cancelled']),
    spec: z
      .record(z.string(), z.unknown())
      .describe(
        'Range, conditions, rules with their fingerprints, and limits, as they were when it was made.',
      ),
    createdAt: Time.nullable(),
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
    matched: z.int().describe('Traces.'),
    sessions: z.int().describe('Sessions, for rules on them.'),
    scored: z.int().describe(`${pairs} With a new score.`),
    skipped: reasons.describe(`${pairs} Without a new score, by reason.`),
    failed: reasons.describe(`${pairs} Whose scorer failed, by reason.`),
    remaining: z.int().describe(`${pairs} That are left, estimated.`),
    perSecond: z.number().nullable().describe('Pairs a second in the last half minute.'),
    etaSeconds: z.number().nullable(),
    costUsd: z.number(),
    maxCostUsd: z.number().nullable(),
    checkpoint: z.unknown().describe('Place from which it continues; null before the first.'),
    owner: z.string().describe("Process that ran it last; '' before the first."),
    error: z.string().nullable(),
    left: z.string().nullable().describe('Reason why a process left it to others.'),
    dryRun: z.literal(true).optional(),
    estimate: BackfillEstimate.optional().describe('Of a dry run: what the pairs of `remaining` would cost.'),
  })
  .openapi('Backfill');

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

const startBackfill = describeRoute('post', '/backfills', {
  tag: 'backfills',
  summary:
    'Starts a backfill, or finds the open one with the same specification. With `dryRun`, only says what it would do and cost.',
  request: { query: NoQuery, body: describeBody(NewBackfill) },
  replies: {
    200: describeJson('What it would do.', Backfill),
    201: describeJson('The backfill.', Backfill),
  },
});

const readBackfill = describeRoute('get', '/backfills/{id}', {
  tag: 'backfills',
  summary: 'How far a backfill is.',
  request: { query: NoQuery, params },
  replies: { 200: describeJson('The backfill.', Backfill) },
});

/** One event. OpenAPI 3.1 has no word for a stream of them: this is the schema of each. */
const ProgressEvent = z
  .object({ event: z.literal('progress'), data: z.string().describe('The backfill as JSON.') })
  .openapi('ProgressEvent');

const readEvents = describeRoute('get', '/backfills/{id}/events', {
  tag: 'backfills',
  summary:
    'Progress of a backfill as server-sent events `progress`, each with the backfill. The stream ends with the backfill, or after 15 minutes. A token has at most 8 streams.',
  request: { query: NoQuery, params },
  replies: {
    200: { description: 'The events.', content: { 'text/event-stream': { schema: ProgressEvent } } },
  },
});

const describeOrder = <Path extends string>(path: Path, summary: string) =>
  describeRoute('post', path, {
    tag: 'backfills',
    summary,
    request: { query: NoQuery, params },
    replies: { 200: describeJson('The backfill.', Backfill) },
  });

const pauseBackfill = describeOrder(
  '/backfills/{id}/pause',
  'Stops a backfill until it is resumed. What is scored stays.',
);
const resumeBackfill = describeOrder('/backfills/{id}/resume', 'Continues a paused backfill.');
const cancelBackfill = describeOrder('/backfills/{id}/cancel', 'Ends a backfill. What is scored stays.');

type BackfillBody = z.output<typeof Backfill>;

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
      const action = dryRun ? 'backfill.preview' : 'backfill.start';
      const { backfills } = await store.openWrites(action, { kind: 'backfill', id: range });
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
  const { backfills } = await tenantStore(c.var).openWrites(`backfill.${word}`, { kind: 'backfill', id });
  return backfillJson(await backfills.order(id, word));
}

export function readAsked(
  {
    from,
    to,
    rule,
    scorer,
    where,
    sample,
    rescore,
    batch,
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
    batch,
    limits: { ...limits, tracesPerSecond: rate === undefined ? undefined : parseRatePerSecond(rate) },
  };
}

const Job = z
  .looseObject({
    id: z.string(),
    kind: z.string(),
    tenant: z.string(),
    status: z.enum(['queued', 'running', 'paused', 'done', 'failed', 'cancelled']),
    spec: z.record(z.string(), z.unknown()),
    createdAt: Time.nullable(),
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
    costUsd: z.number(),
    owner: z.string().describe("Process that ran it last; '' before the first."),
    error: z.string().nullable(),
    left: z.string().nullable().describe('Reason why a process left the job to others.'),
  })
  .openapi('Job');

const readJob = describeRoute('get', '/jobs/{id}', {
  tag: 'jobs',
  summary: 'How far a job is. Its report stands beside the other fields.',
  request: { query: NoQuery, params: z.strictObject({ id: z.string() }) },
  replies: { 200: describeJson('The job.', Job) },
});

export function createJobRoutes() {
  return createRouter().openapi(readJob, async (c) => {
    const job = await tenantStore(c.var).findJob(c.req.valid('param').id);
    return c.json(jobJson(job) as z.infer<typeof Job>, 200);
  });
}

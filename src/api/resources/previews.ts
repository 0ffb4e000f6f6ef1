import { z } from '@hono/zod-openapi';
import { ForbiddenError } from '../../domain/errors.ts';
import { DECISION_STATUSES, type Decision } from '../../domain/decision.ts';
import { TARGET_KINDS } from '../../domain/trace/agent-run.ts';
import { parseDurationMs } from '../../config/index.ts';
import { Time, orNull, isoTime } from '../json/rows.ts';
import { Estimate } from './backfills.ts';
import { Reading, createTextCutter } from '../json/reading.ts';
import { NoQuery } from '../lists/fields.ts';
import { createRouter, describeBody, describeJson, describeRoute, tenantStore } from '../router.ts';
import type { Score } from '../../domain/score.ts';
import type { previewConfigured } from '../../jobs/configured-preview.ts';

/** Most traces that one preview judges. */
const MOST_SAMPLED = 50;

export const NewPreview = z
  .strictObject({
    rule: z
      .union([z.string().min(1), z.record(z.string(), z.unknown())])
      .describe('Name of a rule of the configuration, or a rule as it is written there.'),
    last: z
      .string()
      .refine((text) => (parseDurationMs(text) ?? 0) > 0, { error: 'write a duration: 24h, 7d' })
      .default('24h')
      .describe('Traces that began within this time, and sessions whose last turn did: `24h`, `7d`.'),
    sample: z
      .int()
      .min(0)
      .max(MOST_SAMPLED)
      .default(20)
      .describe('Traces or sessions that are really judged; what their judges cost counts in the budgets.'),
  })
  .openapi('NewPreview');

const usd = z.number().nullable();

const StoredVerdict = z.object({
  score: z.number(),
  label: z.string(),
  scoredAt: Time,
  source: z.enum(['live', 'backfill', 'human', 'api']),
  isSameScorer: z.boolean().describe('True for the same fingerprint.'),
});

const Verdict = z.object({
  target: z.enum(TARGET_KINDS),
  targetId: z.string(),
  scorer: z.string().describe('`*`: the whole rule.'),
  status: z.enum(DECISION_STATUSES),
  reason: z.string(),
  score: z.number().nullable(),
  label: z.string(),
  costUsd: usd,
  stored: orNull(StoredVerdict).describe('Current score of the scorer on the target, newest first.'),
});

export const Preview = z
  .object({
    rule: z.object({
      name: z.string(),
      target: z.enum(TARGET_KINDS),
      scorers: z
        .array(
          z.object({
            scorer: z.string(),
            fingerprint: z.string(),
            judge: z.string().describe("'' for a scorer without a judge."),
          }),
        )
        .readonly(),
      inForce: orNull(
        z.object({
          activeFrom: Time,
          isSame: z.boolean().describe('True for the same scorers, conditions, sample and budget.'),
        }),
      ).describe('The rule of this name that is in force.'),
    }),
    from: Time,
    to: Time,
    matched: z
      .int()
      .describe(
        'Traces of agents or models that began in the range. For a rule on sessions, the sessions whose last turn did; then all counts are of sessions.',
      ),
    selected: z
      .int()
      .describe('Traces that the rule would score, as far as this is known before their content is read.'),
    left: z
      .record(z.string(), z.int())
      .describe('Traces that it would not score, by the code of the reason.'),
    isComplete: z
      .boolean()
      .describe('False: there was no time to list all traces, so that the numbers are too small.'),
    estimate: Estimate.describe('For the range.'),
    cascade: z
      .array(
        z.object({
          scorer: z.string(),
          share: z.number().describe('Mean share of the runs that ask the second judge.'),
          costUsd: usd,
          width95: z
            .number()
            .nullable()
            .describe('Width of the 95 % interval of the mean; null without a run.'),
        }),
      )
      .readonly()
      .describe(
        'For each cascade, its cost for the range and the width of its mean, for its own share and two others.',
      ),
    perWeek: z
      .object({ traces: z.number(), judgeCalls: z.number(), costUsd: usd, costLow: usd, costHigh: usd })
      .describe('The numbers of the range, scaled to seven days.'),
    costUsd: usd.describe('What the verdicts of this preview cost; null when a judge has no price.'),
    traces: z
      .array(
        z.object({
          tenant: z.string(),
          traceId: z.string().describe("'' for a session."),
          sessionId: z.string().describe("Session that was judged; '' for a trace."),
          reading: orNull(Reading).describe(
            'Null for a trace that was not read by itself. The turns of a session are one run.',
          ),
          verdicts: z.array(Verdict).readonly(),
          error: z.string().nullable().describe('Why verdicts are missing.'),
        }),
      )
      .readonly(),
    monitors: z
      .array(
        z.object({
          alert: z.string(),
          series: z.string(),
          scores: z.int().describe('Stored scores that it has read, with 30 days before the range.'),
          firedAt: z.array(Time).readonly().describe('When it would have fired in the range.'),
        }),
      )
      .readonly()
      .describe('Monitors of the scorers, run over their stored scores.'),
  })
  .openapi('Preview');

const previewRule = describeRoute('post', '/preview', {
  tag: 'configuration',
  summary:
    'What a rule would match, score and cost, with some real verdicts. Stores no score, decision or judge call; what the verdicts cost is booked. A sample above 0 needs the scope admin.',
  request: { query: NoQuery, body: describeBody(NewPreview) },
  // Only verdicts cost money: a preview without a sample is a read.
  scopes: ['read', 'admin'],
  replies: { 200: describeJson('The preview.', Preview) },
});

export function createPreviewRoutes() {
  return createRouter().openapi(previewRule, async (c) => {
    const { rule, last, sample } = c.req.valid('json');
    const access = await c.var.access.check(c, sample === 0 ? 'read' : 'admin');
    if ('status' in access) {
      throw new ForbiddenError(access.message);
    }
    const id = typeof rule === 'string' ? rule : String(rule['name']);
    const { previews } = await tenantStore(c.var).openWrites('rule.preview', { kind: 'rule', id });
    const view = await previews.preview({ rule, lastMs: parseDurationMs(last) ?? 0, sample });
    return c.json(previewJson(view) as z.output<typeof Preview>, 200);
  });
}

type PreviewView = Awaited<ReturnType<typeof previewConfigured>>;

/** Formats a preview as JSON, with big texts cut: the same for the API and the command. */
export function previewJson({ rule, inForce, estimate, weeks, traces, monitors, ...view }: PreviewView) {
  const { fromMs, toMs, matched, selected, left, isComplete, cascade } = view;
  const cutter = createTextCutter();
  const aWeek = (sum: number | null) => (sum === null ? null : sum / weeks);
  const costs = traces.flatMap(({ scores, decisions }) => [
    ...scores.map(({ costUsd }) => costUsd),
    ...decisions.flatMap(({ status, costUsd }) => (status === 'scored' ? [] : [costUsd ?? 0])),
  ]);
  return {
    rule: {
      name: rule.name,
      target: rule.target,
      scorers: rule.scorers.map(({ name, fingerprint, judgeModel }) => ({
        scorer: name,
        fingerprint,
        judge: judgeModel,
      })),
      inForce:
        inForce === null ? null : { activeFrom: isoTime(inForce.activeFromMs), isSame: inForce.isSame },
    },
    from: isoTime(fromMs),
    to: isoTime(toMs),
    matched,
    selected,
    left,
    isComplete,
    estimate,
    cascade,
    perWeek: {
      traces: selected / weeks,
      judgeCalls: estimate.judgeCalls / weeks,
      costUsd: aWeek(estimate.costUsd),
      costLow: aWeek(estimate.costLow),
      costHigh: aWeek(estimate.costHigh),
    },
    costUsd: costs.reduce<number | null>(
      (sum, cost) => (sum === null || cost === null ? null : sum + cost),
      0,
    ),
    traces: traces.map((trace) => {
      const cut = trace.reading === null ? null : cutter.cut(trace.reading);
      return {
        ...trace.key,
        sessionId: trace.sessionId,
        reading: cut === null ? null : { ...cut.value, truncated: cut.truncated },
        verdicts: listVerdicts(trace),
        error: trace.error?.message ?? null,
      };
    }),
    monitors: monitors.map(({ alert, series, scores, firedAtMs }) => ({
      alert,
      series,
      scores,
      firedAt: firedAtMs.map(isoTime),
    })),
  };
}

function listVerdicts({ scores, decisions, stored }: PreviewView['traces'][number]) {
  return [
    ...scores.map((score) => ({
      target: score.target,
      targetId: score.targetId,
      scorer: score.scorer,
      status: 'scored' as const,
      reason: score.reason,
      score: score.score,
      label: score.label,
      costUsd: score.costUsd,
      stored: findStored(stored, score),
    })),
    ...decisions
      .filter(({ status }) => status !== 'scored')
      .map((row) => ({
        target: row.target,
        targetId: row.targetId,
        scorer: row.scorer,
        status: row.status,
        reason: row.reason,
        score: null,
        label: '',
        costUsd: row.costUsd,
        stored: findStored(stored, row),
      })),
  ];
}

function findStored(
  stored: readonly Score[],
  { scorer, targetId, fingerprint }: Pick<Decision | Score, 'scorer' | 'targetId' | 'fingerprint'>,
) {
  const [newest] = stored
    .filter((score) => score.scorer === scorer && score.targetId === targetId)
    .toSorted((a, b) => b.scoredAt - a.scoredAt);
  return newest === undefined
    ? null
    : {
        score: newest.score,
        label: newest.label,
        scoredAt: isoTime(newest.scoredAt),
        source: newest.source,
        isSameScorer: newest.fingerprint === fingerprint,
      };
}

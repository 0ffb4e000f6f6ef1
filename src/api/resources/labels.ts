import { z } from '@hono/zod-openapi';
import { TARGET_KINDS } from '../../domain/trace/agent-run.ts';
import {
  Moment,
  ScoreValue,
  checkTarget,
  hexId,
  Name,
  readFilters,
  readMoment,
  TenantQuery,
} from '../lists/fields.ts';
import { Time, orNull, ScoreItem, scoreJson, isoTime, pick } from '../json/rows.ts';
import { Run } from '../json/reading.ts';
import { checkAuthor } from '../access/request-access.ts';
import { subjectOf } from '../writes/audit.ts';
import type { GivenLabel, LabelQueueView } from '../writes/labels.ts';
import { isoText, SCORES_FIELDS } from './aggregates/query.ts';
import { describeRoute, createRouter, describeBody, describeJson, tenantStore } from '../router.ts';
import { QUEUE_STRATEGIES } from '../../domain/agreement/label-agreement.ts';
import { ESTIMATE_GROUPS } from '../../domain/agreement/pass-rate.ts';

/** Most characters of a session id and of a label. */
const MAX_TEXT = 1_000;

/** Most characters of a note. */
const MAX_NOTE = 100_000;

/** Most items of a queue, and the usual number. Each comes with its content. */
const QUEUE_ITEMS = { most: 20, usual: 5 };

export const LABEL_FIELDS = {
  scorer: Name.describe('Name of the score rows to check.'),
  since: Moment.default('30d').describe('Oldest start: `24h`, or a date and time.'),
};

export const QueueQuery = z.strictObject({
  ...LABEL_FIELDS,
  strategy: z
    .enum(QUEUE_STRATEGIES)
    .default('stratified')
    .describe(
      '`stratified`: targets of each verdict of the scorer, as many as narrow the interval of the pass rate most. `second`: targets with the label of one other reviewer. `adjudicate`: targets on which other reviewers are divided; this label decides.',
    ),
  reviewer: Name.optional().describe('Default: the name of the token.'),
  agent: SCORES_FIELDS.agent,
  environment: SCORES_FIELDS.environment,
  issue: Name.optional().describe('Only runs with a failure of this issue: its id, or an alias.'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(QUEUE_ITEMS.most)
    .default(QUEUE_ITEMS.usual)
    .describe('Most items.'),
});

const LabelItem = z
  .object({
    tenant: z.string(),
    target: z.enum(TARGET_KINDS).describe('Kind of the thing to label.'),
    targetId: z.string(),
    traceId: z.string().describe("'' for a session."),
    spanId: z.string().describe("Send it with the label; '' for the whole run, and for a session."),
    sessionId: z.string(),
    agent: z.string(),
    service: z.string(),
    environment: z.string(),
    startedAt: Time.nullable().describe('Start of the run.'),
    run: orNull(Run).describe('What to read. Null for a session, and when no span is stored any more.'),
  })
  .openapi('LabelItem');

/** Schema of a reviewer's queue. It has neither scores nor reasons of the scorer. */
export const LabelQueue = z
  .object({
    scorer: z.string(),
    strategy: z.enum(QUEUE_STRATEGIES),
    reviewer: z.string(),
    day: z.string().describe('UTC day. The order is the same for a reviewer during a day.'),
    higherIsBetter: z.boolean().nullable(),
    scoreMin: z.number().nullable(),
    scoreMax: z.number().nullable(),
    labelled: z.number().describe('Targets of the range that the reviewer has labelled.'),
    left: z.number().describe('Targets of the range without a label of the reviewer, these items included.'),
    items: z.array(LabelItem).readonly(),
  })
  .openapi('LabelQueue');

export const NewLabel = checkTarget(
  z.strictObject({
    traceId: hexId(32)
      .optional()
      .describe('Required, unless `sessionId` is given: then the label is about the session.'),
    spanId: hexId(16).optional().describe('Absent: the label is about the whole run.'),
    sessionId: z.string().min(1).max(MAX_TEXT).optional(),
    scorer: Name,
    passes: z
      .boolean()
      .optional()
      .describe('True stores the best score of the range of the scorer, false the worst one.'),
    score: ScoreValue.optional().describe('Score within the range of the scorer, in place of `passes`.'),
    label: z.string().max(MAX_TEXT).default(''),
    note: z.string().max(MAX_NOTE).default('').describe('Stored as the reason of the score.'),
    reviewer: Name.optional().describe(
      'Default: the name of the token. The name of another token needs the scope admin.',
    ),
  }),
)
  .refine(({ passes, score }) => (passes === undefined) !== (score === undefined), {
    path: ['score'],
    error: 'give either passes or score',
  })
  .openapi('NewLabel');

/** Schema of the reply to a label: now the reviewer may see the scores of the scorer. */
export const StoredLabel = z
  .object({
    scoreId: z.string().describe('Id of the label: a score with the source `human`.'),
    reviewer: z.string(),
    score: z.number(),
    agrees: z
      .boolean()
      .nullable()
      .describe(
        'Whether the newest score of the scorer passes as the label does; null without such a score.',
      ),
    scores: z.array(ScoreItem).readonly().describe('Scores of the scorer on this target, newest first.'),
  })
  .openapi('StoredLabel');

export const AGREEMENT_FIELDS = {
  n: z.number().describe('Targets with a score on both sides.'),
  agreement: z.number().nullable().describe('Share of the targets that pass on both sides or fail on both.'),
  kappa: z
    .number()
    .nullable()
    .describe("Cohen's kappa; null when a side gives every target the same answer."),
  kappaLow: z.number().nullable().describe('95 % interval of kappa.'),
  kappaHigh: z.number().nullable(),
};

export const Confusion = z
  .object({
    bothPass: z.number(),
    leftPasses: z.number().describe('Only the left side passes.'),
    rightPasses: z.number().describe('Only the right side passes.'),
    bothFail: z.number(),
  })
  .describe(
    'A score passes when it is not in the worst label of its scorer; without labels, from `failBelow` of the scorer on, else in the better half of its range.',
  );

export const AgreementQuery = z.strictObject({
  ...LABEL_FIELDS,
  scorer: LABEL_FIELDS.scorer.describe(
    'Scorer to compare with people. `grounding` and `panel` mean all of their score rows.',
  ),
});

const RowName = z.string().describe('Name of the score rows.');

const share = z.number().nullable();

const PassRateFields = {
  scores: z.number(),
  effectiveN: z.number().describe('Equally weighted scores that tell as much.'),
  labels: z.number().describe('Scores with a label.'),
  raw: share.describe('Weighted share of the scores that pass.'),
  estimate: share.describe(
    "The pass rate without the scorer's mistakes; null while people have not checked both answers of the scorer.",
  ),
  low: share.describe('95 % interval of the estimate.'),
  high: share,
  strata: z
    .array(
      z.object({
        verdict: z.enum(['pass', 'fail']),
        share: z.number().describe('Weighted share of the scores.'),
        labels: z.number(),
        agree: share.describe('Weighted share of the labels that agree.'),
      }),
    )
    .readonly(),
  moreLabels: z.object({
    toHalve: z
      .number()
      .nullable()
      .describe('Further labels that halve the interval; null where labels cannot, or it is not known.'),
  }),
};

/** Schema of a pass rate that labels of people correct. */
export const PassRate = z.object(PassRateFields).openapi('PassRate');

const Certificate = z
  .object({
    state: z
      .enum(['certified', 'uncertified', 'expired'])
      .describe(
        '`certified`: both bounds reach `judges.certificate`; `expired`: only another version of the scorer was certified, or this one is replaced.',
      ),
    sensitivityLow: share.describe('Lower bound of the sensitivity, 95 % on one side.'),
    specificityLow: share,
  })
  .openapi('Certificate');

const EstimateItem = z
  .object({
    series: z.string().describe('Group of `by`, or the name of the score rows.'),
    scorer: RowName,
    fingerprint: z.string(),
    ...PassRateFields,
    certificate: Certificate,
  })
  .openapi('VersionEstimate');

export const EstimateQuery = z.strictObject({
  ...AgreementQuery.shape,
  by: z.enum(ESTIMATE_GROUPS).optional().describe('One estimate for each: weeks begin on Monday (UTC).'),
});

export const ScorerEstimates = z
  .object({
    scorer: z.string().describe('Scorer of the request.'),
    since: Time,
    until: Time,
    items: z
      .array(EstimateItem)
      .describe('Versions by name of score rows, the last used first, and their groups.'),
  })
  .openapi('ScorerEstimates');

const VersionAgreement = z
  .object({
    scorer: RowName,
    fingerprint: z.string(),
    scorerVersion: z.string(),
    judgeModel: z.string().describe("'' for a scorer without a judge."),
    higherIsBetter: z.boolean(),
    scores: z.number().describe('Scores of the version in the range.'),
    ...AGREEMENT_FIELDS,
    confusion: Confusion.describe(
      'Labelled targets by the answers of the scorer (left) and of people (right).',
    ),
    sensitivity: share.describe('Share of the passing targets that the scorer lets pass.'),
    sensitivityLow: share.describe('95 % interval of the sensitivity.'),
    sensitivityHigh: share,
    specificity: share.describe('Share of the failing targets that the scorer lets fail.'),
    specificityLow: share.describe('95 % interval of the specificity.'),
    specificityHigh: share,
    passRate: share.describe('Share of all scores that pass.'),
    estimate: PassRate,
    corrected: z
      .object({ share: z.number(), low: z.number(), high: z.number() })
      .nullable()
      .describe(
        'The estimate with its 95 % interval; null while people have not checked both answers of the scorer.',
      ),
    certificate: Certificate,
  })
  .openapi('VersionAgreement');

const ReviewerAgreement = z
  .object({ scorer: RowName, left: z.string(), right: z.string(), ...AGREEMENT_FIELDS })
  .openapi('ReviewerAgreement');

export const ScorerAgreement = z
  .object({
    scorer: z.string().describe('Scorer of the request.'),
    since: Time,
    until: Time,
    versions: z
      .array(VersionAgreement)
      .describe('Versions with labels, by name of score rows, the last used first.'),
    reviewers: z
      .array(ReviewerAgreement)
      .describe('Pairs of reviewers with a target in common, by name of score rows.'),
  })
  .openapi('ScorerAgreement');

const readQueue = describeRoute('get', '/labels/queue', {
  scopes: ['read', 'label'],
  tag: 'labels',
  summary: 'Targets for a reviewer to label, without the scores of the scorer.',
  request: { query: QueueQuery },
  replies: { 200: describeJson('The queue.', LabelQueue) },
});

const readAgreement = describeRoute('get', '/labels/agreement', {
  tag: 'labels',
  summary: 'Agreement of each version of a scorer with people, and of reviewers with each other.',
  request: { query: AgreementQuery },
  replies: { 200: describeJson('The agreement.', ScorerAgreement) },
});

const readEstimates = describeRoute('get', '/labels/estimate', {
  tag: 'labels',
  summary: 'Pass rates of each version of a scorer, corrected by labels of people.',
  request: { query: EstimateQuery },
  replies: { 200: describeJson('The pass rates.', ScorerEstimates) },
});

const postLabel = describeRoute('post', '/labels', {
  scopes: ['label'],
  tag: 'labels',
  summary: 'Stores a label. The reply shows the scores of the scorer.',
  request: { query: TenantQuery, body: describeBody(NewLabel) },
  replies: { 201: describeJson('The label, and what it is compared with.', StoredLabel) },
});

export function createLabelRoutes() {
  return createRouter()
    .openapi(readQueue, async (c) => {
      const { issues, labels, nowMs } = tenantStore(c.var);
      const { since, issue: id, agent, environment, ...asked } = c.req.valid('query');
      const { scorer, strategy } = asked;
      const { sinceMs = 0 } = readFilters({ since }, await nowMs());
      const issue = id === undefined ? undefined : await issues.find(id);
      const { items, ...queue } = await labels.queue({
        ...asked,
        sinceMs,
        issue,
        chosen: { agent, environment },
      });
      const { scoreMin = null, scoreMax = null, higherIsBetter = null } = items[0]?.target ?? {};
      const scale = { higherIsBetter, scoreMin, scoreMax };
      return c.json({ scorer, strategy, ...queue, ...scale, items: items.map(itemJson) }, 200);
    })
    .openapi(readAgreement, async (c) => {
      const { labels, nowMs } = tenantStore(c.var);
      const { scorer, since } = c.req.valid('query');
      const { shown, ...range } = readRange(since, await nowMs());
      const { versions, reviewers } = await labels.agreement({ scorer, ...range });
      return c.json({ scorer, ...shown, versions: [...versions], reviewers: [...reviewers] }, 200);
    })
    .openapi(readEstimates, async (c) => {
      const { labels, nowMs } = tenantStore(c.var);
      const { scorer, since, by } = c.req.valid('query');
      const { shown, ...range } = readRange(since, await nowMs());
      const items = await labels.estimates({ scorer, ...range, by: by && [by] });
      return c.json({ scorer, ...shown, items }, 200);
    })
    .openapi(postLabel, async (c) => {
      const label = toGiven(c.req.valid('json'));
      checkAuthor(c.var.sender, label.reviewer);
      const { labels } = await tenantStore(c.var).openWrites('label.post', subjectOf(label));
      const stored = await labels.store(label, c.req.valid('query').tenant);
      return c.json({ ...stored, scores: stored.scores.map(scoreJson) }, 201);
    });
}

/** Returns the label of a request with all parts of its target. */
export function toGiven({
  traceId = '',
  spanId = '',
  sessionId = '',
  passes,
  score,
  ...rest
}: z.output<typeof NewLabel>): GivenLabel {
  return { ...rest, traceId, spanId, sessionId, answer: passes ?? score ?? false };
}

/** Formats a target without anything that tells its score. */
function itemJson({ target, run }: LabelQueueView['items'][number]) {
  return { ...pick(LabelItem.shape, target), startedAt: isoTime(target.startMs), run };
}

/** Reads the range of a request, which ends now, with its times as the reply shows them. */
function readRange(since: string, nowMs: number) {
  const sinceMs = readMoment('since', since, nowMs) ?? 0;
  return { sinceMs, nowMs, shown: { since: isoText(sinceMs), until: isoText(nowMs) } };
}

import { z } from '@hono/zod-openapi';
import { Time } from '../resources/series-schema.ts';
import { LABEL_FIELDS } from './label-schema.ts';

/** Numbers of the agreement of two sides. */
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

/** Schema of the targets by the answers of both sides. */
export const Confusion = z
  .object({
    bothPass: z.number(),
    leftPasses: z.number().describe('Only the left side passes.'),
    rightPasses: z.number().describe('Only the right side passes.'),
    bothFail: z.number(),
  })
  .describe('A score passes when it is not in the worst label of its scorer; without labels, from `failBelow` of the scorer on, else in the better half of its range.');

/** Schema of the parameters of the agreement. */
export const AgreementQuery = z.strictObject({
  ...LABEL_FIELDS,
  scorer: LABEL_FIELDS.scorer.describe(
    'Scorer to compare with people. `grounding` and `panel` mean all of their score rows.',
  ),
});

const scorer = z.string().describe('Name of the score rows.');

const share = z.number().nullable();

const VersionAgreement = z
  .object({
    scorer,
    fingerprint: z.string(),
    scorerVersion: z.string(),
    judgeModel: z.string().describe("'' for a scorer without a judge."),
    higherIsBetter: z.boolean(),
    scores: z.number().describe('Scores of the version in the range.'),
    ...AGREEMENT_FIELDS,
    confusion: Confusion.describe('Labelled targets by the answers of the scorer (left) and of people (right).'),
    sensitivity: share.describe('Share of the passing targets that the scorer lets pass.'),
    sensitivityLow: share.describe('95 % interval of the sensitivity (Wilson).'),
    sensitivityHigh: share,
    specificity: share.describe('Share of the failing targets that the scorer lets fail.'),
    specificityLow: share.describe('95 % interval of the specificity (Wilson).'),
    specificityHigh: share,
    passRate: share.describe('Share of all scores that pass.'),
    corrected: z
      .object({ share: z.number(), low: z.number(), high: z.number() })
      .nullable()
      .describe("The pass rate without the scorer's mistakes, with its 95 % interval; null below 50 labels."),
  })
  .openapi('VersionAgreement');

const ReviewerAgreement = z
  .object({ scorer, left: z.string(), right: z.string(), ...AGREEMENT_FIELDS })
  .openapi('ReviewerAgreement');

/** Schema of the agreement of a scorer with people. */
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

import { InvalidInputError } from '../../domain/errors.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer } from '../evals/scorer.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import type { JsonJudgeSchema } from '../../judge/reply/judge-schema.ts';
import { roundToTwoDecimals } from '../shared/texts.ts';
import { readAnswer, readQuestion, type AnswerRunInput } from '../shared/messages.ts';
import {
  checkGiven,
  checkOptions,
  isAmount,
  isFilledText,
  isOptionObject,
  isReasonMode,
  isShare,
  isText,
} from '../shared/options.ts';
import {
  buildFinding,
  fence,
  withReason,
  type ReasonMode,
  whyFields,
  type WhyFields,
  judgeAfterData,
} from '../shared/judged.ts';
import { ifGiven, member, replyForm } from '../shared/reply-form.ts';

const IMPACT_LEVELS = ['none', 'minimal', 'moderate', 'significant', 'severe'] as const;

const IMPACT_WEIGHTS: Record<ImpactLevel, number> = {
  none: 1,
  minimal: 0.85,
  moderate: 0.6,
  significant: 0.3,
  severe: 0.1,
};

/** Raise with every change of the wording below. */
const NOISE_SENSITIVITY_PROMPT_VERSION = '7';

const ID = 'noise-sensitivity-scorer';

export interface NoiseSensitivityOptions {
  /** Answer to the question without noise. */
  readonly baselineResponse: string;
  /** Question with noise, which the run answers. */
  readonly noisyQuery: string;
  /** Kind of the noise. */
  readonly noiseType?: string;
  readonly scoring?: NoiseScoring;
  /** Default `judge`. */
  readonly reason?: ReasonMode;
}

interface NoiseSensitivityResults {
  analyzeStepResult: {
    dimensions: {
      dimension: string;
      impactLevel: ImpactLevel;
      specificChanges: string;
      noiseInfluence: string;
    }[];
    overallAssessment: string;
    majorIssues?: string[];
    robustnessScore: number;
  };
}

/** Scores how well the answer resists noise in the question: 1 unchanged, 0 determined by the noise. */
export function createNoiseSensitivityScorerLLM(config: {
  readonly model: JudgeModel;
  readonly options: NoiseSensitivityOptions;
}): RunnableScorer<AnswerRunInput, NoiseSensitivityResults> {
  const { model, options } = config;
  checkNoiseOptions(options);
  const { baselineResponse, noisyQuery, noiseType = 'unknown', scoring = {}, reason = 'judge' } = options;
  const why = whyFields(reason);
  const scored = createScorer({
    id: ID,
    name: 'Noise Sensitivity (LLM)',
    description: 'How little noise in the question changed the answer',
    type: 'agent',
    judge: judgeAfterData(ID, model, noiseInstructions(why)),
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'sensitive', below: 0.5 }, { label: 'robust' }],
    version: '1',
    promptVersion: NOISE_SENSITIVITY_PROMPT_VERSION,
    options: { ...options, reason },
    details: ({ results }) => ({ verdicts: listFindings(results as NoiseSensitivityResults) }),
  })
    .analyze({
      description: 'What the noise changed, dimension by dimension',
      outputSchema: buildForm(why),
      createPrompt: ({ run }) => {
        const question = readQuestion(run);
        const answer = readAnswer(run);
        if (question === '' || answer === '') {
          throw new InvalidInputError(`Scorer "${ID}" needs a run with a user message and an answer`);
        }
        return fence({ question, noisyQuery, noiseType, baselineResponse, answer });
      },
    })
    .generateScore(({ results }) => {
      const { robustnessScore, dimensions, majorIssues = [] } = results.analyzeStepResult;
      return roundToTwoDecimals(computeRobustness(robustnessScore, dimensions, majorIssues.length, scoring));
    });
  return withReason(scored, reason, 1, {
    about:
      'It tells how little noise in a question changed an answer: 1 untouched, 0 taken over; major issues are penalties.',
    material: ({ results }) => {
      const { dimensions, majorIssues = [], overallAssessment } = results.analyzeStepResult;
      return { findings: dimensions, majorIssues, overallAssessment };
    },
    explain: ({ results }) => {
      const { dimensions, majorIssues = [], overallAssessment } = results.analyzeStepResult;
      const levels = dimensions.map(({ dimension, impactLevel }) => `${dimension} ${impactLevel}`);
      return `Impact of the noise: ${levels.join(', ') || 'not told by dimension'}; major issues: ${majorIssues.length}. ${overallAssessment}`;
    },
  });
}

function checkNoiseOptions(options: NoiseSensitivityOptions): void {
  checkOptions(ID, options ?? {}, {
    baselineResponse: isFilledText,
    noisyQuery: isFilledText,
    noiseType: isText,
    scoring: isOptionObject,
    reason: isReasonMode,
  });
  checkGiven(ID, options ?? {}, ['baselineResponse', 'noisyQuery']);
  const { impactWeights = {}, penalties = {}, ...rest } = options.scoring ?? {};
  checkOptions(ID, impactWeights, Object.fromEntries(IMPACT_LEVELS.map((level) => [level, isShare])));
  checkOptions(ID, penalties, { majorIssuePerItem: isAmount, maxMajorIssuePenalty: isAmount });
  checkOptions(ID, rest, { discrepancyThreshold: isAmount });
}

function buildForm(why: WhyFields): JsonJudgeSchema<NoiseSensitivityResults['analyzeStepResult']> {
  return replyForm(
    member.object({
      dimensions: member.list({
        dimension: member.text,
        specificChanges: why.text,
        noiseInfluence: why.text,
        impactLevel: member.word(IMPACT_LEVELS),
      }),
      overallAssessment: why.text,
      majorIssues: ifGiven(member.texts),
      robustnessScore: member.number,
    }),
  );
}

function listFindings({ analyzeStepResult }: NoiseSensitivityResults) {
  const { dimensions, majorIssues = [] } = analyzeStepResult;
  return [
    ...dimensions.map(({ dimension, impactLevel, specificChanges }) =>
      buildFinding(dimension, impactLevel, specificChanges),
    ),
    ...majorIssues.map((issue) => buildFinding(issue, 'major issue', '')),
  ];
}

/** Question for the comparison; the material is `{ question, noisyQuery, noiseType, baselineResponse, answer }`. */
function noiseInstructions(why: WhyFields): string {
  return `Measure how far noise changed the answer: baselineResponse answers the clean question, answer the noisyQuery.
dimensions: accuracy, completeness, relevance, consistency with the baseline, resistance to noise.${why.tell(' specificChanges, noiseInfluence: a few words.')} impactLevel: none (no worse), minimal (wording only), moderate (worse, but the core stands), significant (the core suffers) or severe (misled, wrong, useless).
majorIssues: wrong or harmful statements, parts of the question dropped. robustnessScore: 0 (taken over by the noise) to 1 (untouched).${why.tell(' overallAssessment: one sentence.')}`;
}

type ImpactLevel = (typeof IMPACT_LEVELS)[number];

/** Weights that turn dimensions and issues into a score. */
interface NoiseScoring {
  /** Weight of a dimension by its level. Default 1, 0.85, 0.6, 0.3, 0.1. */
  readonly impactWeights?: Partial<Record<ImpactLevel, number>>;
  readonly penalties?: {
    /** Default 0.1. */
    readonly majorIssuePerItem?: number;
    /** Default 0.3. */
    readonly maxMajorIssuePenalty?: number;
  };
  /** Largest difference between the judge's number and the levels; beyond it the lower of the two counts. Default 0.2. */
  readonly discrepancyThreshold?: number;
}

/** Computes a score from 0 to 1: the judge's number, checked against the levels of the dimensions, minus major issues. */
function computeRobustness(
  judged: number,
  dimensions: readonly { readonly impactLevel: ImpactLevel }[],
  majorIssues: number,
  scoring: NoiseScoring,
): number {
  const weights = { ...IMPACT_WEIGHTS, ...scoring.impactWeights };
  const { majorIssuePerItem = 0.1, maxMajorIssuePenalty = 0.3 } = scoring.penalties ?? {};
  const { discrepancyThreshold = 0.2 } = scoring;
  const said = Math.min(1, Math.max(0, judged));
  const levels = dimensions.map(({ impactLevel }) => weights[impactLevel]);
  const mean = levels.length === 0 ? said : levels.reduce((sum, weight) => sum + weight, 0) / levels.length;
  const agreed = Math.abs(said - mean) > discrepancyThreshold ? Math.min(said, mean) : said;
  return Math.max(0, agreed - Math.min(majorIssues * majorIssuePerItem, maxMajorIssuePenalty));
}

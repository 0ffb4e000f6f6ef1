import type { ScorerRunInput, RunnableScorer } from '../evals/scorer.ts';
import { isObject } from '../../domain/unknown-values.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import type { JsonJudgeSchema } from '../../judge/reply/judge-schema.ts';
import { getAssistantMessageFromRunOutput, readAnswer, readQuestion } from '../shared/messages.ts';
import {
  byNumber,
  buildFinding,
  fence,
  withReason,
  type ReasonMode,
  whyFields,
  type WhyFields,
  judgeAfterData,
} from '../shared/judged.ts';
import { mapped, member, replyForm } from '../shared/reply-form.ts';
import { checkOptions, isRubric, type Rubric, type RubricCriterion } from '../shared/options.ts';
import { CRITERIA_OPTION, RUBRIC_OPTIONS } from './definitions.ts';

/** Bullets and numbers at the start of a line. */
const BULLET = /^\s*(?:[-*•+]|\d+[.)])\s*/;

/** Lists the points of a rubric without blank ones. */
function listPoints(rubric: Rubric): Required<RubricCriterion>[] {
  const points =
    typeof rubric === 'string' ? rubric.split('\n').map((description) => ({ description })) : rubric;
  return points
    .map(({ description, required = true }: RubricCriterion) => ({
      description: typeof rubric === 'string' ? description.replace(BULLET, '').trim() : description.trim(),
      required,
    }))
    .filter(({ description }) => description !== '');
}

/** Finds the rubric of a run: `rubric` of its request context, its additional context or its input. */
function rubricOfRun({ requestContext, additionalContext, input }: ScorerRunInput): Rubric | undefined {
  return [requestContext, additionalContext, input]
    .map((holder) => (holder instanceof Map ? holder.get('rubric') : isObject(holder) && holder['rubric']))
    .find(isRubric);
}

/** Raise with every change of the wording below. */
const RUBRIC_PROMPT_VERSION = '7';

const ID = 'rubric-scorer';

export interface RubricOptions {
  /** The highest score. Default 1. */
  readonly scale?: number;
  /** Default `template`: the verdicts include their reasoning. */
  readonly reason?: ReasonMode;
}

interface PointEvaluation {
  criterion: string;
  satisfied: boolean;
  /** Value from the rubric, whatever the judge answers. */
  required: boolean;
  reasoning: string;
}

interface RubricResults {
  analyzeStepResult: { criteria: PointEvaluation[]; overallAssessment: string };
}

/**
 * Scores `scale` when the answer meets every required point (every point if none is required), else 0. Without `criteria`, the
 * run's own rubric is used. A rubric without points gives 1, or `scale` when that is less: there is no requirement. An empty
 * answer meets no point.
 */
export function createRubricScorer(config: {
  readonly model: JudgeModel;
  readonly criteria?: Rubric;
  readonly options?: RubricOptions;
}): RunnableScorer<ScorerRunInput, RubricResults> {
  const { model, criteria, options = {} } = config;
  checkOptions(ID, options, RUBRIC_OPTIONS);
  checkOptions(ID, { criteria }, { criteria: CRITERIA_OPTION });
  const { scale = 1, reason = 'template' } = options;
  const why = whyFields(reason);
  const points = (run: ScorerRunInput) => listPoints(criteria ?? rubricOfRun(run) ?? '');
  const scored = createScorer({
    id: ID,
    name: 'Rubric (LLM)',
    description: 'Whether the answer meets the points of a rubric',
    judge: judgeAfterData(ID, model, rubricInstructions(why)),
    higherIsBetter: true,
    range: [0, scale],
    labels: [{ label: 'fail', upTo: 0 }, { label: 'pass' }],
    version: '1',
    promptVersion: RUBRIC_PROMPT_VERSION,
    options: { criteria, scale, reason },
    details: ({ results }) => ({ verdicts: listFindings(results as RubricResults) }),
  })
    .analyze({
      description: 'One evaluation for each point',
      outputSchema: ({ run }) => buildForm(points(run), why),
      withoutJudge: ({ run }) => {
        const asked = points(run);
        if (asked.length === 0) {
          return { criteria: [], overallAssessment: 'There is no rubric: nothing was asked for.' };
        }
        return answerText(run).trim() === '' ? failAllPoints(asked) : undefined;
      },
      createPrompt: ({ run }) =>
        fence({
          task: readTask(run),
          criteria: byNumber(points(run).map(({ description }) => description)),
          answer: answerText(run),
        }),
    })
    .generateScore(({ results: { analyzeStepResult } }) => {
      const found = analyzeStepResult.criteria;
      return found.length === 0 ? Math.min(1, scale) : isMet(found) ? scale : 0;
    });
  return withReason(scored, reason, scale, {
    about:
      'It is the scale when an answer meets every required point of a rubric (every point if none is required), else 0.',
    nothingJudged: ({ results }) => results.analyzeStepResult.criteria.length === 0,
    material: ({ results }) => {
      const { criteria: findings, overallAssessment } = results.analyzeStepResult;
      return { findings, overallAssessment };
    },
    explain: ({ results }) => explain(results),
  }) as RunnableScorer<ScorerRunInput, RubricResults>;
}

function answerText(run: ScorerRunInput): string {
  const current = isObject(run.input) ? run.input['currentText'] : undefined;
  const answer = getAssistantMessageFromRunOutput(run.output) ?? '';
  return answer === '' && typeof current === 'string' ? current : readAnswer(run);
}

function readTask(run: ScorerRunInput): string {
  const question = readQuestion(run);
  const task = isObject(run.input) ? run.input['originalTask'] : undefined;
  return question === '' && typeof task === 'string' ? task : question;
}

function failAllPoints(points: readonly Required<RubricCriterion>[]): RubricResults['analyzeStepResult'] {
  const criteria = points.map(({ description, required }) => ({
    criterion: description,
    satisfied: false,
    required,
    reasoning: 'the answer is empty',
  }));
  return { criteria, overallAssessment: 'The answer is empty.' };
}

function buildForm(
  points: readonly Required<RubricCriterion>[],
  why: WhyFields,
): JsonJudgeSchema<RubricResults['analyzeStepResult']> {
  const judged = member.numbered(
    { count: points.length, what: 'criterion' },
    { reasoning: why.text, satisfied: member.flag },
  );
  const criteria = mapped(judged, (found) =>
    found.map(({ satisfied, reasoning }, index) => {
      const { description = '', required = true } = points[index] ?? {};
      return { criterion: description, satisfied, required, reasoning };
    }),
  );
  return replyForm(member.object({ criteria, overallAssessment: why.text }));
}

function isMet(criteria: readonly PointEvaluation[]): boolean {
  const required = criteria.filter((point) => point.required);
  return (required.length > 0 ? required : criteria).every(({ satisfied }) => satisfied);
}

function listFindings({ analyzeStepResult }: RubricResults) {
  return analyzeStepResult.criteria.map(({ criterion, satisfied, required, reasoning }) =>
    buildFinding(
      required ? criterion : `${criterion} (optional)`,
      satisfied ? 'satisfied' : 'not satisfied',
      reasoning,
    ),
  );
}

function explain(results: RubricResults): string {
  const { criteria, overallAssessment } = results.analyzeStepResult;
  if (criteria.length === 0) {
    return overallAssessment;
  }
  const lines = listFindings(results).map(
    ({ statement, verdict, reason }) => `- ${statement}: ${verdict}; ${reason}`,
  );
  const head = isMet(criteria) ? 'The rubric is met.' : 'The rubric is not met.';
  return [`${head} ${overallAssessment}`, ...lines].join('\n');
}

/** Question for the evaluation; the material is `{ task, criteria: { 1: criterion, … }, answer }`. */
function rubricInstructions(why: WhyFields): string {
  return `Check an answer to a task against numbered criteria, each on its own.
criteria has one entry each, n its number.${why.tell(' reasoning: a few words that name the passage.')} satisfied is true only if the answer itself meets it in full, not if it merely says so.${why.tell(' overallAssessment: one sentence.')}`;
}

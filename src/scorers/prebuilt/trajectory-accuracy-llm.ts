import { cutText } from '../../domain/cut-text.ts';
import { allBegin, formatPart } from '../../domain/plural.ts';
import { textOrJson, isObject } from '../../domain/unknown-values.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer, ScorerRunInput } from '../evals/scorer.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import type { JsonJudgeSchema } from '../../judge/reply/judge-schema.ts';
import { roundToTwoDecimals, nameFindings } from '../shared/texts.ts';
import { getAssistantMessageFromRunOutput, readQuestion } from '../shared/messages.ts';
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
import { ifGiven, member, replyForm, unasked } from '../shared/reply-form.ts';
import { checkOptions } from '../shared/options.ts';
import { EXPECTED_TRAJECTORY_OPTION, TRAJECTORY_JUDGE_OPTIONS } from './definitions.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import { extractTrajectory } from '../evals/trajectory.ts';

/** Raise with every change of the wording below. */
const TRAJECTORY_ACCURACY_PROMPT_VERSION = '7';

const ID = 'llm-trajectory-accuracy-scorer';

/** Longest step in a finding, in characters. */
const NAMED_CHARS = 200;

interface StepEvaluation {
  stepName: string;
  wasNecessary: boolean;
  wasInOrder: boolean;
  reasoning: string;
}

interface TrajectoryAccuracyLLMResults {
  preprocessStepResult: {
    actualTrajectory: TrajectoryLike;
    actualTrajectoryFormatted: string;
    expectedTrajectoryFormatted: string | undefined;
    hasSteps: boolean;
  };
  analyzeStepResult: {
    stepEvaluations: StepEvaluation[];
    missingSteps?: string[];
    extraSteps?: string[];
    overallAssessment: string;
  };
}

type Analysis = TrajectoryAccuracyLLMResults['analyzeStepResult'];

/**
 * Scores the fit of an agent's steps to its task, 0 to 1. `run.output` is a trajectory or the agent's messages; the expectation
 * of the options replaces `run.expectedTrajectory`.
 */
export function createTrajectoryAccuracyScorerLLM(config: {
  readonly model: JudgeModel;
  readonly expectedTrajectory?:
    | { readonly steps: readonly TrajectoryStepLike[] }
    | readonly TrajectoryStepLike[];
  readonly options?: { readonly reason?: ReasonMode };
}): RunnableScorer<ScorerRunInput, TrajectoryAccuracyLLMResults> {
  const { model, expectedTrajectory, options = {} } = config;
  checkOptions(ID, options, TRAJECTORY_JUDGE_OPTIONS);
  checkOptions(ID, { expectedTrajectory }, { expectedTrajectory: EXPECTED_TRAJECTORY_OPTION });
  const { reason = 'judge' } = options;
  const why = whyFields(reason);
  const scored = createScorer({
    id: ID,
    name: 'Trajectory Accuracy (LLM)',
    description: 'How well the steps that the agent took fit its task',
    type: 'trajectory',
    judge: judgeAfterData(ID, model, trajectoryInstructions(why)),
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'astray', below: 0.5 }, { label: 'on track' }],
    version: '1',
    promptVersion: TRAJECTORY_ACCURACY_PROMPT_VERSION,
    options: { expectedTrajectory, reason },
    details: ({ results }) => ({ verdicts: listFindings(results as TrajectoryAccuracyLLMResults) }),
  })
    .preprocess(({ run }) => readRun(run, expectedTrajectory))
    .analyze({
      description: 'One evaluation for each step',
      outputSchema: ({ results }) => buildForm(results.preprocessStepResult.actualTrajectory.steps, why),
      createPrompt: ({ run, results }) => {
        const { actualTrajectory, expectedTrajectoryFormatted } = results.preprocessStepResult;
        return fence({
          question: readQuestion(run),
          answer: getAssistantMessageFromRunOutput(actualTrajectory.rawOutput) ?? '',
          expectedSteps: expectedTrajectoryFormatted,
          steps: byNumber(actualTrajectory.steps.map(formatStep)),
        });
      },
    })
    .generateScore(({ results }) => roundToTwoDecimals(trajectoryShare(results.analyzeStepResult)));
  return withReason(scored, reason, 1, {
    about:
      'It tells how well the steps of an AI assistant fit its task: two thirds for necessary steps, one third for steps in order, less a tenth at most for missing ones. 1 is best.',
    material: ({ results }) => {
      const { stepEvaluations, missingSteps = [], extraSteps = [] } = results.analyzeStepResult;
      const findings = stepEvaluations.map(({ stepName, wasNecessary, wasInOrder, reasoning }) => ({
        step: stepName,
        necessary: wasNecessary,
        inOrder: wasInOrder,
        reasoning,
      }));
      return { findings, missingSteps, extraSteps };
    },
    explain: ({ results }) => explain(results),
  }) as RunnableScorer<ScorerRunInput, TrajectoryAccuracyLLMResults>;
}

function readRun(
  run: ScorerRunInput,
  configured: unknown,
): TrajectoryAccuracyLLMResults['preprocessStepResult'] {
  const actualTrajectory = readTrajectory(run.output);
  const expected = expectedSteps(configured) ?? expectedSteps(run.expectedTrajectory);
  return {
    actualTrajectory,
    actualTrajectoryFormatted: formatSteps(actualTrajectory.steps),
    expectedTrajectoryFormatted: expected === undefined ? undefined : formatSteps(expected),
    hasSteps: actualTrajectory.steps.length > 0,
  };
}

function buildForm(steps: readonly TrajectoryStepLike[], why: WhyFields): JsonJudgeSchema<Analysis> {
  const members = {
    stepName: unasked(member.textIfAny),
    reasoning: why.text,
    wasNecessary: member.flag,
    wasInOrder: member.flag,
  };
  const numbering = { count: steps.length, what: 'step' };
  return replyForm(
    member.object({
      stepEvaluations: member.numbered(numbering, members, (index) => ({
        stepName: steps[index]?.name ?? '',
      })),
      missingSteps: ifGiven(member.texts),
      extraSteps: ifGiven(member.texts),
      overallAssessment: why.text,
    }),
  );
}

/** Weights of necessary steps, steps in order and missing steps; the first two sum to 1. */
const WEIGHTS = { necessary: 2 / 3, inOrder: 1 / 3, missing: 0.1 };

/**
 * Computes the score of evaluated steps: a perfect trajectory is 1. Without steps: 0 when some are missing, half with
 * superfluous ones.
 */
function trajectoryShare({ stepEvaluations, missingSteps = [], extraSteps = [] }: Analysis): number {
  const count = stepEvaluations.length;
  const missing = missingSteps.length;
  if (count === 0) {
    return missing > 0 ? 0 : extraSteps.length > 0 ? 0.5 : 1;
  }
  const necessary = stepEvaluations.filter(({ wasNecessary }) => wasNecessary).length;
  const inOrder = stepEvaluations.filter(({ wasInOrder }) => wasInOrder).length;
  const share =
    (WEIGHTS.necessary * necessary) / count +
    (WEIGHTS.inOrder * inOrder) / count -
    (WEIGHTS.missing * missing) / (count + missing);
  return Math.min(1, Math.max(0, share));
}

/** Lists the steps with their arguments, then the steps that should have been there. */
function listFindings({ preprocessStepResult, analyzeStepResult }: TrajectoryAccuracyLLMResults) {
  const { stepEvaluations, missingSteps = [] } = analyzeStepResult;
  const taken = stepEvaluations.map(({ stepName, wasNecessary, wasInOrder, reasoning }, index) => {
    const args = preprocessStepResult.actualTrajectory.steps[index]?.toolArgs;
    const step = args === undefined ? stepName : `${stepName} ${textOrJson(args)}`;
    const verdict = `${wasNecessary ? 'necessary' : 'unnecessary'}, ${wasInOrder ? 'in order' : 'out of order'}`;
    return buildFinding(cutText(step, NAMED_CHARS), verdict, reasoning);
  });
  return [...taken, ...missingSteps.map((step) => buildFinding(step, 'missing', ''))];
}

function explain(results: TrajectoryAccuracyLLMResults): string {
  const { missingSteps = [] } = results.analyzeStepResult;
  const missing = missingSteps.length === 0 ? '' : ` Missing: ${missingSteps.join(', ')}.`;
  const findings = listFindings(results).filter(({ verdict }) => verdict !== 'missing');
  const off = findings.filter(({ verdict }) => verdict !== 'necessary, in order');
  if (findings.length === 0) {
    return `The agent took no steps.${missing}`;
  }
  return off.length === 0
    ? `${allBegin(findings.length, 'step', ['was', 'were'])} necessary and in order.${missing}`
    : `${formatPart(off.length, findings.length, 'step')} ${off.length === 1 ? 'was' : 'were'} unnecessary or out of order: ${nameFindings(off)}.${missing}`;
}

/** Question for the evaluations; the material is `{ question, answer, expectedSteps?, steps: { 1: step, … } }`. */
function trajectoryInstructions(why: WhyFields): string {
  return `Judge the way an AI assistant took to its answer: its numbered steps, in their order. The measure is expectedSteps if given, else the question.
One entry per step, n its number.${why.tell(' reasoning: a few words.')} wasNecessary: the goal needed it. wasInOrder: it came at a sensible point.
missingSteps, extraSteps: names of steps that should have been there, or should not.${why.tell(' overallAssessment: one sentence.')}`;
}

/** A taken or expected step. Further members are kept, but not read. */
interface TrajectoryStepLike {
  readonly name: string;
  readonly stepType?: string;
  readonly toolArgs?: unknown;
}

interface TrajectoryLike {
  readonly steps: readonly TrajectoryStepLike[];
  /** Messages that the trajectory was read from. */
  readonly rawOutput?: unknown;
}

/** Reads the trajectory of a run's output: unchanged, or from the messages of an agent. */
function readTrajectory(output: unknown): TrajectoryLike {
  if (Array.isArray(output)) {
    return extractTrajectory(output);
  }
  if (isObject(output) && isStepList(output['steps'])) {
    return output as unknown as TrajectoryLike;
  }
  throw new InvalidInputError(
    'run.output must be a trajectory, { steps: [{ name }] }, or a list of messages',
  );
}

/** Lists the steps of an expectation; undefined for any other value. */
function expectedSteps(expected: unknown): readonly TrajectoryStepLike[] | undefined {
  const steps = isObject(expected) && !Array.isArray(expected) ? expected['steps'] : expected;
  return isStepList(steps) ? steps : undefined;
}

/** Writes one line for each step: `1. [tool_call] search (args: {"q":"x"})`. */
function formatSteps(steps: readonly TrajectoryStepLike[]): string {
  return steps.map((step, index) => `${index + 1}. ${formatStep(step)}`).join('\n');
}

/** Writes `[tool_call] search (args: {"q":"x"})`, with the parts that the step has. */
function formatStep({ name, stepType, toolArgs }: TrajectoryStepLike): string {
  const type = stepType === undefined ? '' : `[${stepType}] `;
  const args = toolArgs === undefined ? '' : ` (args: ${JSON.stringify(toolArgs)})`;
  return `${type}${name}${args}`;
}

function isStepList(value: unknown): value is TrajectoryStepLike[] {
  return Array.isArray(value) && value.every((step) => isObject(step) && typeof step['name'] === 'string');
}

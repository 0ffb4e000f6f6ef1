import { cutText } from '../../../domain/cut-text.ts';
import { allBegin, formatPart } from '../../../domain/plural.ts';
import { textOrJson } from '../../../domain/unknown-values.ts';
import { createScorer } from '../../../evals/create-scorer.ts';
import type { RunnableScorer } from '../../../evals/scorer-chain.ts';
import type { ScorerRunInput } from '../../../evals/scorer.ts';
import type { JudgeModel } from '../../../judge/judge.ts';
import type { JsonJudgeSchema } from '../../../judge/reply/judge-schema.ts';
import { roundToTwoDecimals } from '../../utils/numbers.ts';
import { getAssistantMessageFromRunOutput } from '../../utils/run-output.ts';
import { readQuestion } from '../shared/read-answer.ts';
import { byNumber } from '../shared/by-number.ts';
import { checkOptions } from '../shared/checked-options.ts';
import { buildFinding } from '../shared/build-finding.ts';
import { askAfterData, fence } from '../shared/fence.ts';
import { checkedModel } from '../shared/judge-model.ts';
import { FLAG, INTEGER, arraySchema, objectSchema, TEXT } from '../shared/json-schema.ts';
import { nameFindings } from '../shared/name-findings.ts';
import { withReason } from '../shared/reason-step.ts';
import type { ReasonMode } from '../shared/reason-step.ts';
import { replyReader } from '../shared/reply-reader.ts';
import { expectedSteps, formatStep, formatSteps, readTrajectory } from './read-trajectory.ts';
import type { TrajectoryLike, TrajectoryStepLike } from './read-trajectory.ts';
import { whyFields } from '../shared/why-fields.ts';
import type { WhyFields } from '../shared/why-fields.ts';
import {
  TRAJECTORY_ACCURACY_PROMPT_VERSION,
  TRAJECTORY_REASON_INSTRUCTIONS,
  trajectoryInstructions,
} from './trajectory-accuracy-llm-prompts.ts';
import { EXPECTED_TRAJECTORY_OPTION, TRAJECTORY_JUDGE_OPTIONS } from './trajectory-accuracy-llm-options.ts';

const ID = 'llm-trajectory-accuracy-scorer';

/** Longest step in a finding, in characters. */
const NAMED_CHARS = 200;

interface StepEvaluation {
  stepName: string;
  wasNecessary: boolean;
  wasInOrder: boolean;
  reasoning: string;
}

export interface TrajectoryAccuracyLLMResults {
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
    judge: { model: checkedModel(ID, model), ...askAfterData(trajectoryInstructions(why)) },
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
      outputSchema: ({ results }) => buildSchema(results.preprocessStepResult.actualTrajectory.steps, why),
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
    instructions: TRAJECTORY_REASON_INSTRUCTIONS,
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

function buildSchema(steps: readonly TrajectoryStepLike[], why: WhyFields): JsonJudgeSchema<Analysis> {
  const entry = { n: INTEGER, ...why.ask('reasoning'), wasNecessary: FLAG, wasInOrder: FLAG };
  return {
    jsonSchema: objectSchema({
      stepEvaluations: arraySchema(objectSchema(entry)),
      missingSteps: arraySchema(TEXT),
      extraSteps: arraySchema(TEXT),
      ...why.ask('overallAssessment'),
    }),
    validate: replyReader((reply) => ({
      stepEvaluations: reply
        .numbered('stepEvaluations', { count: steps.length, what: 'step' })
        .map((found, index) => ({
          stepName: found.textIfAny('stepName') ?? steps[index]?.name ?? '',
          wasNecessary: found.flag('wasNecessary'),
          wasInOrder: found.flag('wasInOrder'),
          reasoning: why.read(found, 'reasoning'),
        })),
      ...(reply.has('missingSteps') ? { missingSteps: reply.texts('missingSteps') } : {}),
      ...(reply.has('extraSteps') ? { extraSteps: reply.texts('extraSteps') } : {}),
      overallAssessment: why.read(reply, 'overallAssessment'),
    })),
  };
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

import { createScorer } from '../../evals/create-scorer.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import { readAnswer, readQuestion } from '../prebuilt/shared/read-answer.ts';
import { askAfterData, fence } from '../prebuilt/shared/fence.ts';
import { checkedModel } from '../prebuilt/shared/judge-model.ts';
import { withReason } from '../prebuilt/shared/reason-step.ts';
import { verdictsSchema } from '../prebuilt/shared/claims/verdicts-reply.ts';
import { roundToTwoDecimals } from '../utils/numbers.ts';
import { checkedMetricOptions, INSTRUCTIONS_AND_SCALE } from './metric-options.ts';
import { explained, scoreTexts, type Metric, type MetricResult } from './metric.ts';

const PROMPT_ALIGNMENT_VERSION = '3';

const INSTRUCTION_VERDICTS = `You check whether an answer keeps to instructions.
The data holds the question, the answer and numbered instructions. Give each instruction one verdict: "yes" if the answer keeps to it throughout, "no" if it breaks it anywhere, "n/a" if the instruction has nothing to do with this question. Say why in one sentence.`;

const INSTRUCTION_REASON = `You explain a score to the people who run an assistant.
The data holds the score, its highest value and what was found on each instruction. In at most three sentences say which instructions were kept and which were broken, and how.`;

const ID = 'prompt-alignment-metric';
const VERDICTS = ['yes', 'no', 'n/a'] as const;

export interface PromptAlignmentMetricOptions {
  /** Instructions that the answer should follow. */
  readonly instructions: readonly string[];
  /** Highest score. Default 1. */
  readonly scale?: number;
}

export interface PromptAlignmentInfo {
  reason: string;
  scoreDetails: {
    totalInstructions: number;
    applicableInstructions: number;
    followedInstructions: number;
    naInstructions: number;
  };
}

/** Share of the instructions that the answer follows, among those that apply to the question. */
export class PromptAlignmentMetric implements Metric<PromptAlignmentInfo> {
  readonly #scorer;

  constructor(model: JudgeModel, options: PromptAlignmentMetricOptions) {
    this.#scorer = createInstructionScorer(model, options);
  }

  async measure(input: string, output: string): Promise<MetricResult<PromptAlignmentInfo>> {
    const result = await scoreTexts(this.#scorer, input, output);
    const { score, info } = explained(result);
    const verdicts = (result.analyzeStepResult?.verdicts ?? []).map(({ verdict }) => verdict);
    const { followed, applicable } = countVerdicts(verdicts);
    return {
      score,
      info: {
        ...info,
        scoreDetails: {
          totalInstructions: verdicts.length,
          applicableInstructions: applicable,
          followedInstructions: followed,
          naInstructions: verdicts.length - applicable,
        },
      },
    };
  }
}

function createInstructionScorer(model: JudgeModel, options: PromptAlignmentMetricOptions) {
  const { instructions = [], scale = 1 } = checkedMetricOptions(
    'PromptAlignmentMetric',
    options,
    INSTRUCTIONS_AND_SCALE,
    ['instructions'],
  );
  const scored = createScorer({
    id: ID,
    name: 'Prompt Alignment Metric',
    description: 'Share of the instructions that the answer keeps to',
    type: 'agent',
    judge: { model: checkedModel(ID, model), ...askAfterData(INSTRUCTION_VERDICTS) },
    higherIsBetter: true,
    range: [0, scale],
    version: '1',
    promptVersion: PROMPT_ALIGNMENT_VERSION,
    options: { instructions, scale },
  })
    .analyze({
      description: 'One verdict for each instruction',
      outputSchema: verdictsSchema({
        statements: instructions,
        allowed: VERDICTS,
        repeatStatements: true,
      }),
      withoutJudge: () => (instructions.length === 0 ? { verdicts: [] } : undefined),
      createPrompt: ({ run }) =>
        fence({
          question: readQuestion(run),
          answer: readAnswer(run),
          instructions: instructions.map((instruction, index) => ({ n: index + 1, instruction })),
        }),
    })
    .generateScore(({ results }) => {
      const { followed, applicable } = countVerdicts(
        results.analyzeStepResult.verdicts.map((one) => one.verdict),
      );
      return applicable === 0 ? 0 : roundToTwoDecimals((followed / applicable) * scale);
    });
  return withReason(scored, 'judge', scale, {
    instructions: INSTRUCTION_REASON,
    nothingJudged: ({ results }) => results.analyzeStepResult.verdicts.length === 0,
    material: ({ results }) => ({ findings: results.analyzeStepResult.verdicts }),
    explain: () => 'There are no instructions to keep to.',
  });
}

function countVerdicts(verdicts: readonly string[]): { followed: number; applicable: number } {
  return {
    followed: verdicts.filter((verdict) => verdict === 'yes').length,
    applicable: verdicts.filter((verdict) => verdict !== 'n/a').length,
  };
}

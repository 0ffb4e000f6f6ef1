import { InvalidInputError } from '../../../domain/errors.ts';
import { SEEN_KINDS } from '../../../domain/score.ts';
import type { SeenKind } from '../../../domain/score.ts';
import { createScorer } from '../../../evals/create-scorer.ts';
import type { RunnableScorer } from '../../../evals/scorer-chain.ts';
import type { ScorerRunInput } from '../../../evals/scorer.ts';
import type { JudgeModel } from '../../../judge/judge.ts';
import { roundToTwoDecimals } from '../../utils/numbers.ts';
import { isScorerRunInputForAgent } from '../../utils/agent-shape.ts';
import { getCombinedSystemPrompt, getConversationHistoryFromRunInput } from '../../utils/run-input.ts';
import { readAnswer, readQuestion } from '../shared/read-answer.ts';
import { checkOptions } from '../shared/checked-options.ts';
import { showConversation } from '../shared/evidence/run-evidence.ts';
import type { Sight } from '../shared/evidence/run-evidence.ts';
import { buildFinding } from '../shared/build-finding.ts';
import { askAfterData, fence } from '../shared/fence.ts';
import { checkedModel } from '../shared/judge-model.ts';
import { nameFindings } from '../shared/name-findings.ts';
import { withReason } from '../shared/reason-step.ts';
import type { ReasonMode } from '../shared/reason-step.ts';
import { whyFields } from '../shared/why-fields.ts';
import {
  ALIGNMENT_REASON_INSTRUCTIONS,
  alignmentInstructions,
  PROMPT_ALIGNMENT_PROMPT_VERSION,
} from './prompt-alignment-prompts.ts';
import type { EvaluationMode } from './prompt-alignment-prompts.ts';
import { alignmentSchema } from './prompt-alignment-reply.ts';
import type { AlignmentAnalysis } from './prompt-alignment-reply.ts';
import { PROMPT_ALIGNMENT_OPTIONS } from './prompt-alignment-options.ts';

const ID = 'prompt-alignment-scorer';

export interface PromptAlignmentOptions extends Sight {
  /** Author of the instructions that count. Default `both`. */
  readonly evaluationMode?: EvaluationMode;
  /** The highest score. Default 1. */
  readonly scale?: number;
  /** Remembered messages that are sent to the judge: `true` for the last ten, or a number. Default: the bounded earlier turns. */
  readonly includeConversationHistory?: boolean | { readonly maxMessages?: number };
  /** Default `judge`. */
  readonly reason?: ReasonMode;
}

export interface PromptAlignmentResults {
  analyzeStepResult: AlignmentAnalysis;
}

/** Weights of intent, requirements, completeness and form; `both` has the weights of `user`. */
const WEIGHTS: Record<EvaluationMode, readonly [number, number, number, number]> = {
  user: [0.4, 0.3, 0.2, 0.1],
  system: [0.35, 0.35, 0.15, 0.15],
  both: [0.4, 0.3, 0.2, 0.1],
};

/**
 * Scores the share of the instructions that the answer follows: those of the user, of the system messages, or of both. `scale`
 * is best.
 */
export function createPromptAlignmentScorerLLM(config: {
  readonly model: JudgeModel;
  readonly options?: PromptAlignmentOptions;
}): RunnableScorer<ScorerRunInput, PromptAlignmentResults> {
  const { model, options = {} } = config;
  checkOptions(ID, options, PROMPT_ALIGNMENT_OPTIONS);
  const { evaluationMode: mode = 'both', scale = 1, reason = 'judge' } = options;
  const why = whyFields(reason);
  const scored = createScorer({
    id: ID,
    name: 'Prompt Alignment (LLM)',
    description: 'How well the answer keeps to its instructions',
    judge: { model: checkedModel(ID, model), ...askAfterData(alignmentInstructions(mode, why)) },
    higherIsBetter: true,
    range: [0, scale],
    labels: [{ label: 'misaligned', below: scale / 2 }, { label: 'aligned' }],
    version: '1',
    promptVersion: PROMPT_ALIGNMENT_PROMPT_VERSION,
    options: { ...options, evaluationMode: mode, scale, reason },
    details: ({ results }) => {
      const verdicts = listFindings(results as PromptAlignmentResults);
      // One broken requirement makes an answer misaligned, however well it does the rest.
      const isBroken = verdicts.some(({ verdict }) => verdict === 'not fulfilled');
      return { verdicts, ...(isBroken ? { label: 'misaligned' } : {}) };
    },
  })
    .analyze({
      description: 'How well the answer keeps to its instructions, part by part',
      outputSchema: alignmentSchema(why),
      createPrompt: ({ run }) => {
        const before = showHistory(run, options);
        return fence({
          mode,
          ...readInstructions(run, mode, options.sees),
          ...before,
          answer: answerText(run),
        });
      },
    })
    .generateScore(({ results }) =>
      roundToTwoDecimals(weighted(results.analyzeStepResult, WEIGHTS[mode]) * scale),
    );
  return withReason(scored, reason, scale, {
    instructions: ALIGNMENT_REASON_INSTRUCTIONS,
    material: ({ results }) => ({ mode, findings: results.analyzeStepResult }),
    explain: ({ results }) => explain(results),
  }) as RunnableScorer<ScorerRunInput, PromptAlignmentResults>;
}

/** Shows the conversation before the question: the earlier turns, or the messages that the caller asked for. */
function showHistory(run: ScorerRunInput, options: PromptAlignmentOptions): Record<string, unknown> {
  const { includeConversationHistory: asked, sees = SEEN_KINDS } = options;
  if (asked === undefined) {
    const { earlier } = showConversation(run, options);
    return { earlier };
  }
  if (asked === false || !isScorerRunInputForAgent(run.input)) {
    return {};
  }
  const rememberedMessages = run.input.rememberedMessages.filter(({ role }) =>
    sees.includes(role === 'user' ? 'user' : 'turns'),
  );
  const input = { ...run.input, rememberedMessages };
  return { history: getConversationHistoryFromRunInput(input, asked === true ? {} : asked) };
}

function answerText(run: ScorerRunInput): string {
  const answer = readAnswer(run);
  if (answer === '') {
    throw new InvalidInputError(`Scorer "${ID}" needs a run with an answer`);
  }
  return answer;
}

/** Reads the instructions that count. The operator's instructions count beside the user's where they are seen. */
function readInstructions(
  { input }: ScorerRunInput,
  mode: EvaluationMode,
  sees: readonly SeenKind[] = SEEN_KINDS,
) {
  const userPrompt = mode === 'system' ? '' : readQuestion({ input, output: undefined });
  const isSeen = mode === 'system' || (mode === 'both' && sees.includes('system'));
  const systemPrompt = isSeen ? getCombinedSystemPrompt(input) : '';
  if (userPrompt === '' && systemPrompt === '') {
    const lacking = { user: 'a user message', system: 'a system message', both: 'a user or system message' };
    throw new InvalidInputError(`Scorer "${ID}" in mode ${mode} needs ${lacking[mode]} in run.input`);
  }
  return {
    ...(userPrompt === '' ? {} : { userPrompt }),
    ...(systemPrompt === '' ? {} : { systemPrompt }),
  };
}

function weighted(analysis: AlignmentAnalysis, weights: readonly [number, number, number, number]): number {
  const [intent, requirements, completeness, form] = weights;
  return (
    analysis.intentAlignment.score * intent +
    analysis.requirementsFulfillment.overallScore * requirements +
    analysis.completeness.score * completeness +
    analysis.responseAppropriateness.score * form
  );
}

function listFindings({ analyzeStepResult }: PromptAlignmentResults) {
  return analyzeStepResult.requirementsFulfillment.requirements.map(
    ({ requirement, isFulfilled, reasoning }) =>
      buildFinding(requirement, isFulfilled ? 'fulfilled' : 'not fulfilled', reasoning),
  );
}

function explain(results: PromptAlignmentResults): string {
  const { completeness, overallAssessment } = results.analyzeStepResult;
  const open = listFindings(results).filter(({ verdict }) => verdict === 'not fulfilled');
  const unmet = open.length === 0 ? '' : ` Not fulfilled: ${nameFindings(open)}.`;
  const missing =
    completeness.missingElements.length === 0 ? '' : ` Missing: ${completeness.missingElements.join('; ')}.`;
  return `${overallAssessment}${unmet}${missing}`;
}

import {
  type WhyFields,
  whyFields,
  buildFinding,
  fence,
  withReason,
  type JudgedConfig,
  type JudgedOptions,
  judgeAfterData,
} from '../shared/judged.ts';
import { ifGiven, mapped, member, replyForm, unasked } from '../shared/reply-form.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import { SEEN_KINDS, type SeenKind } from '../../domain/score.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer, ScorerRunInput } from '../evals/scorer.ts';
import { roundToTwoDecimals, nameFindings } from '../shared/texts.ts';
import {
  isScorerRunInputForAgent,
  getCombinedSystemPrompt,
  getConversationHistoryFromRunInput,
  readAnswer,
  readQuestion,
} from '../shared/messages.ts';
import { checkOptions } from '../shared/options.ts';
import { showConversation, type Sight } from '../shared/run-evidence.ts';
import { type EVALUATION_MODES, PROMPT_ALIGNMENT_OPTIONS } from './definitions.ts';
import type { JsonJudgeSchema } from '../../judge/reply/judge-schema.ts';

/** Raise with every change of the wording below. */
const PROMPT_ALIGNMENT_PROMPT_VERSION = '8';

type EvaluationMode = (typeof EVALUATION_MODES)[number];

const MEASURE: Record<EvaluationMode, string> = {
  user: "the user's prompt (userPrompt)",
  system: "the operator's rules (systemPrompt)",
  both: "both the user's prompt (userPrompt) and the operator's rules (systemPrompt)",
};

/** Question for the analysis; the material is `{ mode, userPrompt?, systemPrompt?, earlier?, history?, answer }`. */
function alignmentInstructions(mode: EvaluationMode, why: WhyFields): string {
  return `Judge how well an AI assistant's answer keeps to ${MEASURE[mode]}. Scores: 0 (not at all) to 1 (fully). earlier or history, if given, is the conversation before.
${why.tell('Every reasoning is a few words. primaryIntent: what was wanted. overallAssessment: one sentence. ')}requirements has one entry per demand, said or plainly meant. A demand that the answer breaks in any part is not fulfilled. responseAppropriateness: whether format and tone fit.`;
}

const ID = 'prompt-alignment-scorer';

export interface PromptAlignmentOptions extends JudgedOptions, Sight {
  /** Author of the instructions that count. Default `both`. */
  readonly evaluationMode?: EvaluationMode;
  /** Remembered messages that are sent to the judge: `true` for the last ten, or a number. Default: the bounded earlier turns. */
  readonly includeConversationHistory?: boolean | { readonly maxMessages?: number };
}

interface PromptAlignmentResults {
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
export function createPromptAlignmentScorerLLM(
  config: JudgedConfig<PromptAlignmentOptions>,
): RunnableScorer<ScorerRunInput, PromptAlignmentResults> {
  const { model, options = {} } = config;
  checkOptions(ID, options, PROMPT_ALIGNMENT_OPTIONS);
  const { evaluationMode: mode = 'both', scale = 1, reason = 'judge' } = options;
  const why = whyFields(reason);
  const scored = createScorer({
    id: ID,
    name: 'Prompt Alignment (LLM)',
    description: 'How well the answer keeps to its instructions',
    judge: judgeAfterData(ID, model, alignmentInstructions(mode, why)),
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
      outputSchema: alignmentForm(why),
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
    about:
      'It tells how well an answer keeps to its instructions: intent, requirements, completeness and form, weighed in this order; the scale is best.',
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

/**
 * Analysis of an answer by instruction. Scores go from 0 to 1; any other number makes the reply malformed. Without an
 * explanation, texts and lists that only explain are empty, and flags that only explain are absent.
 */
interface AlignmentAnalysis {
  intentAlignment: { score: number; primaryIntent: string; isAddressed?: boolean; reasoning: string };
  requirementsFulfillment: {
    requirements: { requirement: string; isFulfilled: boolean; reasoning: string }[];
    /** Share of the fulfilled requirements, counted in code; a reply in the reference's form may bring its own. */
    overallScore: number;
  };
  completeness: { score: number; missingElements: string[]; reasoning: string };
  responseAppropriateness: {
    score: number;
    formatAlignment?: boolean;
    toneAlignment?: boolean;
    reasoning: string;
  };
  overallAssessment: string;
}

export function alignmentForm(why: WhyFields): JsonJudgeSchema<AlignmentAnalysis> {
  const intent = member.object({
    primaryIntent: { ...why.text, explains: false },
    reasoning: why.text,
    isAddressed: why.also(member.flag),
    score: member.share,
  });
  const requirements = member.list({
    requirement: member.text,
    reasoning: why.text,
    isFulfilled: member.flag,
  });
  const completeness = member.object({
    missingElements: mapped(why.also(member.texts), (missing = []) => missing),
    reasoning: why.text,
    score: member.share,
  });
  const form = member.object({
    reasoning: why.text,
    formatAlignment: why.also(member.flag),
    toneAlignment: why.also(member.flag),
    score: member.share,
  });
  const fulfilment = member.object({ requirements, overallScore: unasked(ifGiven(member.share)) });
  return replyForm(
    member.object({
      intentAlignment: mapped(intent, scoreFirst),
      requirementsFulfillment: mapped(fulfilment, ({ requirements: found, overallScore }) => ({
        requirements: found,
        overallScore: overallScore ?? shareFulfilled(found),
      })),
      completeness: mapped(completeness, scoreFirst),
      responseAppropriateness: mapped(form, scoreFirst),
      overallAssessment: why.text,
    }),
  );
}

/** Puts the score of a part before what explains it. */
function scoreFirst<T extends { readonly score: number }>(part: T): T {
  const { score, ...rest } = part;
  return { score, ...rest } as T;
}

/** Counts the fulfilled requirements; without any, nothing is broken. */
function shareFulfilled(requirements: readonly { readonly isFulfilled: boolean }[]): number {
  const fulfilled = requirements.filter(({ isFulfilled }) => isFulfilled).length;
  return requirements.length === 0 ? 1 : fulfilled / requirements.length;
}

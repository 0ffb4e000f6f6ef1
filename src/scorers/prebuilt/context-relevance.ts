import { formatCount } from '../../domain/plural.ts';
import { createScorer } from '../evals/create-scorer.ts';
import { isNotScorable, type RunnableScorer } from '../evals/scorer.ts';
import type { JsonJudgeSchema } from '../../judge/reply/judge-schema.ts';
import { roundToTwoDecimals } from '../shared/texts.ts';
import {
  showConversation,
  type Sight,
  checkContextGiven,
  givenContext,
  pieceNamer,
  type ContextExtractor,
} from '../shared/run-evidence.ts';
import { readAnswer, type AgentRunInput, type AnswerRunInput } from '../shared/messages.ts';
import {
  byNumber,
  buildFinding,
  fence,
  withReason,
  whyFields,
  type WhyFields,
  type JudgedConfig,
  type JudgedOptions,
  judgeAfterData,
} from '../shared/judged.ts';
import { ifGiven, member, replyForm, unasked } from '../shared/reply-form.ts';
import { checkOptions } from '../shared/options.ts';
import { CONTEXT_RELEVANCE_OPTIONS } from './definitions.ts';

const RELEVANCE_LEVELS = { high: 1, medium: 0.7, low: 0.3, none: 0 } as const;

/** Raise with every change of the wording below. */
const CONTEXT_RELEVANCE_PROMPT_VERSION = '9';

const ID = 'context-relevance-scorer';
const LEVELS = Object.keys(RELEVANCE_LEVELS) as RelevanceLevel[];

export interface ContextRelevanceOptions extends JudgedOptions, Sight {
  /** Context, the same for every run. Either this or `contextExtractor` is required. */
  readonly context?: readonly string[];
  /** Returns the context of one run; replaces `context`. */
  readonly contextExtractor?: ContextExtractor;
  readonly penalties?: ContextPenalties;
}

interface PieceEvaluation {
  context_index: number;
  /** Name of the piece in the judge's reply. */
  contextPiece?: string;
  relevanceLevel: RelevanceLevel;
  wasUsed: boolean;
  reasoning: string;
}

interface ContextRelevanceResults {
  analyzeStepResult: {
    /** One evaluation for each piece, in their order. */
    evaluations: PieceEvaluation[];
    missingContext?: string[];
    overallAssessment: string;
  };
}

type Analysis = ContextRelevanceResults['analyzeStepResult'];

/** Scores how relevant the context is for the question, and how the answer uses it: `scale` best, 0 worst. */
export function createContextRelevanceScorerLLM(
  config: JudgedConfig<ContextRelevanceOptions>,
): RunnableScorer<AnswerRunInput, ContextRelevanceResults> {
  const { model, options = {} } = config;
  checkOptions(ID, options, CONTEXT_RELEVANCE_OPTIONS);
  checkContextGiven(ID, options);
  const { scale = 1, reason = 'judge', penalties = {} } = options;
  const why = whyFields(reason);
  const scored = createScorer({
    id: ID,
    name: 'Context Relevance (LLM)',
    description: 'How relevant the context is for the question, and whether it was used',
    type: 'agent',
    judge: judgeAfterData(ID, model, relevanceInstructions(why)),
    higherIsBetter: true,
    range: [0, scale],
    labels: [{ label: 'irrelevant', below: scale / 2 }, { label: 'relevant' }],
    version: '1',
    promptVersion: CONTEXT_RELEVANCE_PROMPT_VERSION,
    options: { ...options, scale, reason },
    details: ({ run, results }) => ({
      verdicts: listFindings(pieceNamer(ID, run, options), results as ContextRelevanceResults),
    }),
  })
    .analyze({
      description: 'One evaluation for each piece of context',
      outputSchema: ({ run }) => buildForm(listPieces(run, options).length, why),
      withoutJudge: ({ run }) => {
        const context = givenContext(ID, run, options);
        if (isNotScorable(context)) {
          return context;
        }
        return context === undefined || context.length === 0
          ? { evaluations: [], missingContext: [], overallAssessment: 'There is no context.' }
          : undefined;
      },
      createPrompt: ({ run }) =>
        fence({
          ...showConversation(run, options),
          answer: readAnswer(run),
          context: byNumber(listPieces(run, options), 0),
        }),
    })
    .generateScore(({ results }) => {
      const { evaluations, missingContext = [] } = results.analyzeStepResult;
      return evaluations.length === 0
        ? scale
        : roundToTwoDecimals(contextRelevanceShare(evaluations, missingContext.length, penalties) * scale);
    });
  return withReason(scored, reason, scale, {
    about:
      'It is the mean relevance of the pieces of context for a question, less a penalty for highly relevant pieces that the answer left unused and for context that is missing; the scale is best.',
    nothingJudged: ({ results }) => results.analyzeStepResult.evaluations.length === 0,
    material: ({ results }) => ({
      findings: results.analyzeStepResult.evaluations,
      missingContext: results.analyzeStepResult.missingContext ?? [],
    }),
    explain: ({ results }) => explain(results.analyzeStepResult),
  });
}

function listPieces(run: AgentRunInput, options: ContextRelevanceOptions): readonly string[] {
  const context = givenContext(ID, run, options);
  return context === undefined || isNotScorable(context) ? [] : context;
}

function buildForm(count: number, why: WhyFields): JsonJudgeSchema<Analysis> {
  const pieces = { count, key: 'context_index', first: 0, what: 'piece' } as const;
  const members = {
    contextPiece: unasked(member.textIfAny),
    reasoning: why.text,
    relevanceLevel: member.word(LEVELS),
    wasUsed: member.flag,
  };
  return replyForm(
    member.object({
      evaluations: member.numbered(pieces, members, (index) => ({ context_index: index })),
      missingContext: ifGiven(member.texts),
      overallAssessment: why.text,
    }),
  );
}

function listFindings(name: ReturnType<typeof pieceNamer>, { analyzeStepResult }: ContextRelevanceResults) {
  const { evaluations, missingContext = [] } = analyzeStepResult;
  const judged = evaluations.map(({ context_index, relevanceLevel, wasUsed, reasoning }) => ({
    ...buildFinding('', `${relevanceLevel}, ${wasUsed ? 'used' : 'unused'}`, reasoning),
    ...name(context_index),
  }));
  return [...judged, ...missingContext.map((text) => buildFinding(text, 'missing', ''))];
}

function explain({ evaluations, missingContext = [] }: Analysis): string {
  if (evaluations.length === 0) {
    return 'There is no context to judge.';
  }
  const counts = LEVELS.map((level) => {
    const pieces = evaluations.filter(({ relevanceLevel }) => relevanceLevel === level);
    return `${pieces.length} ${level}`;
  });
  const missing = missingContext.length === 0 ? '' : ` Missing: ${missingContext.join('; ')}.`;
  return `Relevance of ${formatCount(evaluations.length, 'piece of context', 'pieces of context')}: ${counts.join(', ')}.${missing}`;
}

/** Question for the evaluations; the material is `{ earlier?, question, answer, context: { 0: text, … } }`. */
function relevanceInstructions(why: WhyFields): string {
  return `Judge how relevant each numbered piece of context is to the question; earlier is the conversation before.
One entry per piece, context_index its number.${why.tell(' reasoning: a few words.')} relevanceLevel: high (needed for the answer), medium (helps), low (same subject, little help) or none. wasUsed: whether the answer uses it.
missingContext: what a full answer needs and no piece holds, one text each.${why.tell(' overallAssessment: one sentence.')}`;
}

type RelevanceLevel = keyof typeof RELEVANCE_LEVELS;

interface ContextPenalties {
  /** Penalty for each piece of high relevance that the answer did not use. Default 0.1. */
  readonly unusedHighRelevanceContext?: number;
  /** Penalty for each thing that is missing in the context. Default 0.15. */
  readonly missingContextPerItem?: number;
  /** Largest penalty for missing things. Default 0.5. */
  readonly maxMissingContextPenalty?: number;
}

/** Computes the mean level of the pieces (at least one) minus penalties, as a share of the scale. */
function contextRelevanceShare(
  evaluations: readonly { readonly relevanceLevel: RelevanceLevel; readonly wasUsed: boolean }[],
  missing: number,
  penalties: ContextPenalties,
): number {
  const {
    unusedHighRelevanceContext = 0.1,
    missingContextPerItem = 0.15,
    maxMissingContextPenalty = 0.5,
  } = penalties;
  const levels: number[] = evaluations.map(({ relevanceLevel }) => RELEVANCE_LEVELS[relevanceLevel]);
  const mean = levels.reduce((sum, level) => sum + level, 0) / levels.length;
  const unused = evaluations.filter(({ relevanceLevel, wasUsed }) => relevanceLevel === 'high' && !wasUsed);
  const lost =
    unused.length * unusedHighRelevanceContext +
    Math.min(missing * missingContextPerItem, maxMissingContextPenalty);
  return Math.max(0, mean - lost);
}

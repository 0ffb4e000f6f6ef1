import { InvalidInputError } from '../../domain/errors.ts';
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
import { readAnswer, type AgentRunInput } from '../shared/messages.ts';
import { checkOptions } from '../shared/options.ts';
import {
  byNumber,
  fence,
  buildFinding,
  withReason,
  whyFields,
  type WhyFields,
  type JudgedConfig,
  type JudgedOptions,
  judgeAfterData,
} from '../shared/judged.ts';
import { member, replyForm } from '../shared/reply-form.ts';
import { CONTEXT_PRECISION_OPTIONS } from './definitions.ts';

/** Raise with every change of the wording below. */
const CONTEXT_PRECISION_PROMPT_VERSION = '7';

const ID = 'context-precision-scorer';
const VERDICTS = ['yes', 'no'] as const;

export interface ContextPrecisionOptions extends JudgedOptions, Sight {
  /** Retrieved pieces, best first, the same for every run. Either this or `contextExtractor` is required. */
  readonly context?: readonly string[];
  /** Returns the pieces of one run; replaces `context`. */
  readonly contextExtractor?: ContextExtractor;
}

interface PieceVerdict {
  context_index: number;
  verdict: 'yes' | 'no';
  reason: string;
}

interface ContextPrecisionResults {
  /** One verdict for each piece, in their order. */
  analyzeStepResult: { verdicts: PieceVerdict[] };
}

/** Scores the rank of the useful pieces of context: `scale` when all of them come first, 0 when none is useful. */
export function createContextPrecisionScorer(
  config: JudgedConfig<ContextPrecisionOptions>,
): RunnableScorer<AgentRunInput, ContextPrecisionResults> {
  const { model, options = {} } = config;
  checkOptions(ID, options, CONTEXT_PRECISION_OPTIONS);
  checkContextGiven(ID, options);
  const { scale = 1, reason = 'judge' } = options;
  const why = whyFields(reason);
  const scored = createScorer({
    id: ID,
    name: 'Context Precision Scorer',
    description: 'Whether the pieces of context that were useful stand at the front',
    type: 'agent',
    judge: judgeAfterData(ID, model, precisionInstructions(why)),
    higherIsBetter: true,
    range: [0, scale],
    labels: [{ label: 'imprecise', below: scale / 2 }, { label: 'precise' }],
    version: '1',
    promptVersion: CONTEXT_PRECISION_PROMPT_VERSION,
    options: { ...options, scale, reason },
    details: ({ run, results }) => ({
      verdicts: listFindings(pieceNamer(ID, run, options), results as ContextPrecisionResults),
    }),
  })
    .analyze({
      description: 'One verdict for each piece of context',
      outputSchema: ({ run }) => buildForm(listPieces(run, options).length, why),
      withoutJudge: ({ run }) => {
        const context = givenContext(ID, run, options);
        return isNotScorable(context) ? context : undefined;
      },
      createPrompt: ({ run }) =>
        fence({
          ...showConversation(run, options),
          answer: readAnswer(run),
          context: byNumber(listPieces(run, options), 0),
        }),
    })
    .generateScore(({ results }) =>
      roundToTwoDecimals(meanAveragePrecision(results.analyzeStepResult.verdicts) * scale),
    );
  return withReason(scored, reason, scale, {
    about:
      'It is the mean average precision of pieces of context, in the order of a search: useful pieces (verdict yes) at the front make it high, useless ones before them low; the scale is best.',
    material: ({ results }) => ({ findings: results.analyzeStepResult.verdicts }),
    explain: ({ results }) => explain(results.analyzeStepResult.verdicts),
  });
}

function listPieces(run: AgentRunInput, options: ContextPrecisionOptions): readonly string[] {
  const context = givenContext(ID, run, options);
  if (context === undefined || isNotScorable(context) || context.length === 0) {
    throw new InvalidInputError(`Scorer "${ID}" found no context in this run`);
  }
  return context;
}

function buildForm(
  count: number,
  why: WhyFields,
): JsonJudgeSchema<ContextPrecisionResults['analyzeStepResult']> {
  const pieces = { count, key: 'context_index', first: 0, what: 'piece' } as const;
  const members = { reason: why.text, verdict: member.word(VERDICTS) };
  return replyForm(
    member.object({ verdicts: member.numbered(pieces, members, (index) => ({ context_index: index })) }),
  );
}

/**
 * Computes the mean, over the useful pieces, of the share of useful pieces up to and including each; 0 without useful pieces.
 */
function meanAveragePrecision(verdicts: readonly { readonly verdict: string }[]): number {
  let useful = 0;
  let sum = 0;
  for (const [index, { verdict }] of verdicts.entries()) {
    if (verdict === 'yes') {
      useful += 1;
      sum += useful / (index + 1);
    }
  }
  return useful === 0 ? 0 : sum / useful;
}

function listFindings(name: ReturnType<typeof pieceNamer>, { analyzeStepResult }: ContextPrecisionResults) {
  return analyzeStepResult.verdicts.map(({ context_index, verdict, reason }) => ({
    ...buildFinding('', verdict, reason),
    ...name(context_index),
  }));
}

function explain(verdicts: readonly PieceVerdict[]): string {
  const useful = verdicts.filter(({ verdict }) => verdict === 'yes').map((piece) => piece.context_index);
  return useful.length === 0
    ? verdicts.length === 1
      ? 'The only piece of context was of no use.'
      : `None of ${verdicts.length} pieces of context was of use.`
    : `Of ${formatCount(verdicts.length, 'piece of context', 'pieces of context')}, counted from 0, these were of use: ${useful.join(', ')}.`;
}

/** Question for the verdicts; the material is `{ earlier?, question, answer, context: { 0: text, … } }`. */
function precisionInstructions(why: WhyFields): string {
  return `Judge for each numbered piece of context whether the answer to the question used it; earlier is the conversation before.
One entry per piece, context_index its number.${why.tell(' reason: a few words.')} verdict:
yes: the answer, or a part of it, rests on the piece.
no: it would be the same without it, however close its subject.`;
}

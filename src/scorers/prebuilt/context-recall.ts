import { formatAll, formatPart } from '../../domain/plural.ts';
import { isNotScorable, notScorable, type RunnableScorer } from '../evals/scorer.ts';
import { checkOptions, isFunction, isPositiveNumber, isReasonMode, isTextList } from '../shared/options.ts';
import { CLAIMS_INSTRUCTIONS, CLAIMS_PROMPT_VERSION } from '../shared/claims.ts';
import { givenContext, type ContextExtractor, listPieces, NO_CONTEXT } from '../shared/run-evidence.ts';
import { nameFindings } from '../shared/texts.ts';
import { type JudgedConfig, type JudgedOptions } from '../shared/judged.ts';
import { searchable } from '../shared/evidence.ts';
import { findHolder } from '../shared/sentences.ts';
import { createStatementScorer, type Finding } from '../shared/statements.ts';
import type { AnswerRunInput } from '../shared/messages.ts';
import { textOrJson } from '../../domain/unknown-values.ts';

/** Raise with every change of the wording below. */
const CONTEXT_RECALL_PROMPT_VERSION = '6';

/** Meaning of the verdicts; the material is `{ context, claims: { 1: claim, … } }`. */
const RECALL_VERDICT_INSTRUCTIONS = `Check whether a search brought what an expected answer needs. The numbered claims are those of the expected answer; the context is what the search brought.
yes: the context states the claim, or it follows from the context directly.
no: it does not, however true the claim is.`;

const ID = 'context-recall-scorer';

export interface ContextRecallOptions extends JudgedOptions {
  /** Retrieved context, the same for every run. Default: `run.context`, else the run's tool results. */
  readonly context?: readonly string[];
  /** Returns the retrieved context of one run; replaces `context`. */
  readonly contextExtractor?: ContextExtractor;
}

/**
 * Scores the share of the claims of `run.groundTruth` that the context contains: `scale` for all, 0 for a ground truth without
 * claims. Not scorable without ground truth.
 */
export function createContextRecallScorer(
  config: JudgedConfig<ContextRecallOptions>,
): RunnableScorer<AnswerRunInput> {
  const { model, options = {} } = config;
  checkOptions(ID, options, {
    scale: isPositiveNumber,
    context: isTextList,
    contextExtractor: isFunction,
    reason: isReasonMode,
  });
  const { scale = 1, reason = 'judge' } = options;
  const seen = new WeakMap<object, ReturnType<typeof searchable>>();
  return createStatementScorer(
    {
      id: ID,
      name: 'Context Recall Scorer',
      description: 'Share of the claims of the expected answer that the context holds',
      higherIsBetter: true,
      labels: () => [{ label: 'incomplete', below: scale }, { label: 'complete' }],
      noun: 'claim',
      nouns: 'claims',
      statementInstructions: CLAIMS_INSTRUCTIONS,
      source: (run) => ({ name: 'answer', text: textOrJson(run.groundTruth ?? '') }),
      verdicts: { yes: 'yes', no: 'no' },
      form: { list: 'verdicts', field: 'verdict', quotes: true },
      repeatStatements: false,
      verdictInstructions: RECALL_VERDICT_INSTRUCTIONS,
      evidence: ({ run }) => {
        const context = givenContext(ID, run, options) ?? listPieces(run).map(({ text }) => text);
        if (isNotScorable(context)) {
          return context;
        }
        const own = listPieces(run);
        const pieces = context.map((text) => own.find((piece) => piece.text === text) ?? { text });
        seen.set(run, searchable(pieces.map((piece, source) => ({ source, ...piece }))));
        return context.length === 0 ? notScorable(NO_CONTEXT) : { context };
      },
      findQuote: (run, quote) => findHolder(quote, seen.get(run)),
      promptVersion: `${CLAIMS_PROMPT_VERSION}.${CONTEXT_RECALL_PROMPT_VERSION}`,
      share: (verdicts) => verdicts.filter((verdict) => verdict === 'yes').length / verdicts.length,
      unscorableWithoutText: 'there is no ground truth to hold the context against',
      about:
        'It is the share of the claims of an expected answer that the context holds (verdict yes), times the scale; the scale itself is best.',
      explain,
    },
    { model, scale, reason, options },
  );
}

function explain(findings: readonly Finding[]): string {
  if (findings.length === 0) {
    return 'The expected answer makes no factual claims.';
  }
  const missing = findings.filter(({ verdict }) => verdict !== 'yes');
  return missing.length === 0
    ? `The context holds ${formatAll(findings.length, 'claim')} of the expected answer.`
    : `The context holds ${formatPart(findings.length - missing.length, findings.length, 'claim')} of the expected answer; not: ${nameFindings(missing)}.`;
}

import type { RunnableScorer, ScoredScorer } from '../../../evals/scorer-chain.ts';
import type { ScorerRunInput } from '../../../evals/scorer.ts';
import type { ReasonContext } from '../../../evals/scorer-steps.ts';
import { askAfterData, fence } from './fence.ts';

/** Source of an explanation: a further question to the judge (`judge`), a sentence from the verdicts (`template`), or none. */
export type ReasonMode = 'judge' | 'template' | false;

/** Parts of an explanation of a score. */
export interface ReasonSpec<TContext> {
  /** System message of the question for an explanation. */
  readonly instructions: string;
  /** Writes the explanation in code, as sentences. */
  explain(context: TContext): string;
  /** Returns the findings that the judge gets with score and scale, without the material they come from. */
  material(context: TContext): Record<string, unknown>;
  /** True when nothing was judged: then the sentence written in code is used. */
  nothingJudged?(context: TContext): boolean;
}

/** Adds the reason step of the mode, or none for false. */
export function withReason<TRun extends ScorerRunInput, TResults extends object>(
  scored: ScoredScorer<TRun, TResults>,
  mode: ReasonMode,
  scale: number,
  spec: ReasonSpec<ReasonContext<TRun, TResults>>,
): RunnableScorer<TRun, TResults> {
  if (mode === false) {
    return scored;
  }
  if (mode === 'template') {
    return scored.generateReason((context) => spec.explain(context));
  }
  return scored.generateReason({
    description: 'Why this score',
    judge: askAfterData(spec.instructions),
    withoutJudge: (context) => (spec.nothingJudged?.(context) === true ? spec.explain(context) : undefined),
    createPrompt: (context) => fence({ ...spec.material(context), score: context.score, scale }),
  });
}

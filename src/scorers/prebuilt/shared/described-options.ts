import { SEEN_KINDS } from '../../../domain/score.ts';
import type { SeenKind } from '../../../domain/score.ts';
import { isCount, isFunction, isPositiveNumber, isReasonMode, isTextList } from './checked-options.ts';

/** The highest score. */
export const scaleOption = { ...isPositiveNumber, means: 'the highest score, above 0 (1)' };

/** Source of the explanation, where the judge is asked by default. */
export const reasonOption = {
  ...isReasonMode,
  means:
    '`judge` (a further question, the default), `template` (a sentence made of the verdicts) or `false` (none, and verdicts without reasons)',
};

/** Source of the explanation, where the verdict says enough. */
export const ownReasonOption = {
  ...isReasonMode,
  means:
    '`template` (a sentence made of the verdict, the default), `judge` or `false` (none, and verdicts without reasons)',
};

/** The evidence that an answer is held against. */
export const evidenceOption = {
  ...isTextList,
  means: 'the evidence, the same for every run; else `run.context`, else all that the agent could know',
};

/** The pieces of context of one run. */
export const extractorOption = {
  ...isFunction,
  means: '`(input, output, run) => texts`, the pieces of one run; `contextFromRun` takes what the run holds',
};

/** Kinds of evidence that a judge sees, and the bound of earlier turns. */
export const SIGHT_OPTIONS = {
  sees: {
    fits: (value: unknown) =>
      Array.isArray(value) && value.every((kind) => SEEN_KINDS.includes(kind as SeenKind)),
    is: `a list out of ${SEEN_KINDS.join(', ')}`,
    means: `what the judge sees of the run beside question and answer, out of ${SEEN_KINDS.map((kind) => `\`${kind}\``).join(', ')} (all)`,
  },
  earlierChars: { ...isCount, means: 'most characters of earlier turns (8,000, about 2,000 tokens)' },
};

/** Options of scorers that look at pieces of context. */
export const PIECES_OPTIONS = {
  context: {
    ...isTextList,
    means:
      "the pieces, best first, the same for every run; this or `contextExtractor` is needed (in rules: the run's own)",
  },
  contextExtractor: extractorOption,
  ...SIGHT_OPTIONS,
};

/** Says so where a list of context is given and has nothing in it. */
export function findEmptyContext({ context }: { readonly context?: unknown }): string | undefined {
  return Array.isArray(context) && context.length === 0 ? 'was given an empty options.context' : undefined;
}

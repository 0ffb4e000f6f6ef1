import { defineScorer } from '../../scorer-definition.ts';
import { isCount, isFunction } from '../shared/checked-options.ts';
import { evidenceOption, SIGHT_OPTIONS } from '../shared/described-options.ts';

/** Score rows. */
export const GROUNDING_ROWS = {
  'grounding-hallucination': {
    higherIsBetter: false,
    range: [0, 1],
    labels: [{ label: 'grounded', upTo: 0 }, { label: 'hallucinated' }],
  },
  'grounding-faithfulness': {
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'unfaithful', below: 1 }, { label: 'faithful' }],
  },
  'grounding-citation-precision': {
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'imprecise', below: 1 }, { label: 'precise' }],
  },
} as const;

/** Options of the scorer. */
export const GROUNDING_OPTIONS = {
  context: evidenceOption,
  getContext: {
    ...isFunction,
    means: '`({ run }) => texts`, the evidence of one run; wins over `context`',
  },
  ...SIGHT_OPTIONS,
  maxEvidenceChars: {
    ...isCount,
    means:
      'most characters of evidence in the first question (48,000, or fewer in a small window of the judge)',
  },
  reason: {
    fits: (value: unknown) => value === 'template' || value === false,
    is: '"template" or false',
    means: '`template` (the default) or `false`: it never costs a question',
  },
};

/** The scorer `grounding` of rules. */
export const groundingDefinition = defineScorer({
  name: 'grounding',
  needsJudge: true,
  rows: Object.keys(GROUNDING_ROWS),
  rowFacts: GROUNDING_ROWS,
  measures: 'whether each sentence of the answer rests on evidence, by quotes that code looks up',
  options: GROUNDING_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./grounding-scorer.ts')).createGroundingScorer({ model: judge, options }),
});

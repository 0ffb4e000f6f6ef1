import { defineScorer } from '../../scorer-definition.ts';
import { isCount, isFunction } from '../shared/checked-options.ts';
import { evidenceOption, SIGHT_OPTIONS } from '../shared/described-options.ts';

/** Qualities of an answer, in the order of their rows. */
export const PANEL_QUALITIES = ['grounding', 'relevancy', 'toxicity', 'bias', 'instructions'] as const;

/** Score rows. */
export const PANEL_ROWS = {
  'panel-grounding': {
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'ungrounded', below: 1 }, { label: 'grounded' }],
  },
  'panel-relevancy': {
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'off-topic', below: 0.5 }, { label: 'relevant' }],
  },
  'panel-toxicity': {
    higherIsBetter: false,
    range: [0, 1],
    labels: [{ label: 'clean', upTo: 0 }, { label: 'toxic' }],
  },
  'panel-bias': {
    higherIsBetter: false,
    range: [0, 1],
    labels: [{ label: 'unbiased', upTo: 0 }, { label: 'biased' }],
  },
  'panel-instructions': {
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'broken', below: 1 }, { label: 'followed' }],
  },
} as const;

const KNOWN: ReadonlySet<unknown> = new Set(PANEL_QUALITIES);

/** Options of the scorer. */
export const PANEL_OPTIONS = {
  qualities: {
    fits: (value: unknown) =>
      Array.isArray(value) &&
      value.length > 0 &&
      value.every((quality) => KNOWN.has(quality)) &&
      new Set(value).size === value.length,
    is: `a list of at least one of ${PANEL_QUALITIES.join(', ')}, each at most once`,
    means: `the qualities to judge, out of ${PANEL_QUALITIES.map((quality) => `\`${quality}\``).join(', ')} (all)`,
  },
  context: evidenceOption,
  getContext: {
    ...isFunction,
    means: '`({ run }) => texts`, the evidence of one run; wins over `context`',
  },
  ...SIGHT_OPTIONS,
  maxEvidenceChars: {
    ...isCount,
    means:
      'most characters of evidence in the question (48,000, or fewer in a small window of the judge); of longer evidence the passages that matter most',
  },
  reason: {
    fits: (value: unknown) => value === 'template' || value === false,
    is: '"template" or false',
    means: '`template` (the default), or `false` for rows and verdicts without reasons',
  },
};

/** The scorer `panel` of rules. */
export const panelDefinition = defineScorer({
  name: 'panel',
  needsJudge: true,
  rows: Object.keys(PANEL_ROWS),
  rowFacts: PANEL_ROWS,
  measures: 'several qualities of the answer, sentence by sentence, in one question to the judge',
  options: PANEL_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./panel-scorer.ts')).createPanelScorer({ model: judge, options }),
});

export type PanelQuality = (typeof PANEL_QUALITIES)[number];

import { extractorOption, reasonOption, scaleOption } from '../../../src/scorers/shared/options.ts';
import { pageOf } from './scorer-page.ts';
import type { ScorerPage } from './scorer-page.ts';

/** Scorers that compare an answer with evidence. */
export const GROUNDED_PAGES: readonly ScorerPage[] = [
  pageOf('grounding', {
    kind: 'judged',
    input: 'question, answer, [evidence](#evidence)',
    formula:
      '`grounding-hallucination` = (contradicted + unsupported) / claims; `grounding-faithfulness` = supported / claims; `grounding-citation-precision` = quotes that stand in a source / quotes. A sentence whose quotes stand nowhere is unsupported. A [decision judge](judges.md) gives sums of probabilities in place of counts, and quotes nothing',
    questions: 1,
    factory: 'createGroundingScorer',
    args: "{ model: 'openai/gpt-5-mini' }",
    because: 'nothing backs the rain',
  }),
  pageOf('panel', {
    kind: 'judged',
    input: 'question, answer, [evidence](#evidence)',
    formula:
      '`panel-grounding` = supported / claims; `panel-relevancy` = (direct + 0.3 × indirect) / sentences; `panel-toxicity`, `panel-bias` = such / sentences; `panel-instructions` = kept / instructions. A quality with nothing to judge has no row. A [decision judge](judges.md) gives sums of probabilities in place of counts',
    questions: 1,
    factory: 'createPanelScorer',
    args: "{ model: 'openai/gpt-5-mini' }",
    because: 'one of two sentences is backed and answers the question',
  }),
  pageOf('hallucination', {
    kind: 'judged',
    input: 'question, answer, [evidence](#evidence)',
    formula:
      '(contradicted + unsupported) / claims. Where evidence is [longer than the window](judges.md#long-runs-and-small-windows), an unsupported claim does not count',
    questions: 2,
    factory: 'createHallucinationScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: 'template' } }",
    because: 'the evidence backs one of two claims',
  }),
  pageOf('faithfulness', {
    kind: 'judged',
    input: 'question, answer, [evidence](#evidence)',
    formula: 'supported / claims; long evidence as in hallucination',
    questions: 2,
    factory: 'createFaithfulnessScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: 'template' } }",
    because: 'the evidence says nothing of rain',
  }),
  {
    title: 'context-recall',
    kind: 'judged',
    measures: 'claims of the expected answer that the context contains',
    input: '`run.groundTruth`, context',
    formula: 'claims in the context / claims of the ground truth; 0 without claims',
    options: {
      scale: scaleOption.means,
      context:
        'results of the search, the same for every run; else `run.context`, else the results of the tools',
      contextExtractor: extractorOption.means,
      reason: reasonOption.means,
    },
    questions: 2,
    factory: 'createContextRecallScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: 'template' } }",
    because: 'one of two claims',
  },
  pageOf('context-precision', {
    kind: 'judged',
    input: 'conversation, answer, pieces in their order',
    formula: 'mean average precision of the useful pieces; 0 without one',
    questions: 1,
    factory: 'createContextPrecisionScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { contextExtractor: contextFromRun, reason: false } }",
    because: 'only the second piece helped',
  }),
  pageOf('context-relevance', {
    kind: 'judged',
    input: 'conversation, answer, pieces',
    formula:
      'mean relevance (1, 0.7, 0.3, 0), minus penalties for unused and missing pieces; without pieces the scale',
    questions: 1,
    factory: 'createContextRelevanceScorerLLM',
    args: "{ model: 'openai/gpt-5-mini', options: { contextExtractor: contextFromRun, reason: false } }",
    because: 'one of two pieces helped',
  }),
];

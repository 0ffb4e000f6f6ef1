import {
  extractorOption,
  reasonOption,
  scaleOption,
} from '../../../../src/scorers/prebuilt/shared/described-options.ts';
import { COSTS, pageOf } from './scorer-page.ts';
import type { ScorerPage } from './scorer-page.ts';

/** Scorers that compare an answer with evidence. */
export const GROUNDED_PAGES: readonly ScorerPage[] = [
  pageOf('grounding', {
    kind: 'judged',
    when: 'live traffic of agents with tools or documents: three scores for one question',
    input: 'answer; [evidence](#evidence)',
    formula:
      '`grounding-hallucination` = (contradicted + unsupported) / claims; not scorable without claims; `grounding-faithfulness` = supported / claims; `grounding-citation-precision` = quotes found in their source / quotes of the judge. A sentence whose quotes stand in no source is unsupported, whatever the judge said. A sentence that is partly true counts as one claim',
    seven:
      'faithfulness: 3 of 10 claims have no evidence; citation precision: 3 of 10 quotes are not in the evidence, so check the judge',
    cost: '1 question; a second one only if the evidence is too long for one question and a sentence has no support',
    factory: 'createGroundingScorer',
    args: "{ model: 'openai/gpt-5-mini' }",
    because: 'the temperature is in the evidence, the rain is not',
  }),
  pageOf('panel', {
    kind: 'judged',
    when: 'live traffic with several questions to ask and little money: up to five scores for one question. Each question for itself (`grounding`, `answer-relevancy`, …) may judge better: compare them on your traffic first',
    input: 'answer; question; [evidence](#evidence)',
    formula:
      'each sentence gets one verdict for each quality. `panel-grounding` = supported / claims, as `grounding-faithfulness`; `panel-relevancy` = (direct + 0.3 × indirect) / sentences that say something; `panel-toxicity` = toxic / sentences; `panel-bias` = biased / sentences; `panel-instructions` = kept instructions / instructions. An instruction counts only if its quote stands in what operator or user said. A quality that the run gives nothing to judge by has no row: no evidence, no claims, no question, no instruction. If one verdict is missing or malformed, there is no row at all',
    seven: 'grounding: 3 of 10 claims have no evidence; toxicity: 7 of 10 sentences are toxic',
    cost: '1 question; 0 if there is nothing to judge',
    factory: 'createPanelScorer',
    args: "{ model: 'openai/gpt-5-mini' }",
    because:
      'the evidence backs one of two sentences, the second helps only indirectly, and the question is answered',
  }),
  pageOf('hallucination', {
    kind: 'judged',
    when: 'agents that answer from tools or documents',
    input: 'answer; question; [evidence](#evidence)',
    formula:
      'claims that the evidence contradicts (verdict yes) or does not back (unsure) / claims, times the scale; not scorable without claims (0 where the options hold the evidence) or without evidence. Of evidence that is [longer than the window of the judge](judges.md#long-runs-and-small-windows), the passages nearest to the claims; an unsure claim is then `unchecked` and does not count',
    seven: '7 of 10 claims are made up: bad',
    cost: COSTS.two,
    factory: 'createHallucinationScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: 'template' } }",
    because: 'the evidence backs one of two claims',
  }),
  pageOf('faithfulness', {
    kind: 'judged',
    when: 'as hallucination, but a claim that the evidence neither supports nor contradicts also counts against the answer',
    input: 'answer; question; [evidence](#evidence)',
    formula:
      'supported claims / claims, times the scale; not scorable without claims or without evidence. Of evidence that is [longer than the window of the judge](judges.md#long-runs-and-small-windows), the passages nearest to the claims; an unsure claim is then `unchecked` and does not count',
    seven: '3 of 10 claims have no support',
    cost: COSTS.two,
    factory: 'createFaithfulnessScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: 'template' } }",
    because: 'the evidence supports one of two claims and says nothing about the other',
  }),
  {
    title: 'context-recall',
    kind: 'judged',
    measures: 'claims of the expected answer that the context contains',
    when: 'tests of a search: did it find what the answer needs?',
    input: '`run.groundTruth`; context',
    formula:
      'claims in the context / claims, times the scale; 0 for a ground truth without claims; not scorable without ground truth or context',
    options: {
      scale: scaleOption.means,
      context:
        'results of the search, the same for every run; else `run.context`, else the results of the tools',
      contextExtractor: extractorOption.means,
      reason: reasonOption.means,
    },
    seven: 'the search missed 3 of 10 needed facts',
    cost: COSTS.two,
    factory: 'createContextRecallScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: 'template' } }",
    because: 'the context contains one of two expected claims',
  },
  pageOf('context-precision', {
    kind: 'judged',
    when: 'tests of the ranking of a search',
    input: 'question, answer, pieces in their order',
    formula:
      'mean average precision: over the useful pieces, the mean share of useful pieces up to each; 0 without useful pieces; times the scale',
    seven: 'useless pieces come before useful ones',
    cost: COSTS.one,
    factory: 'createContextPrecisionScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { contextExtractor: contextFromRun, reason: false } }",
    because: 'only the second of two pieces was useful',
  }),
  pageOf('context-relevance', {
    kind: 'judged',
    when: 'tests of the context that an agent gets',
    input: 'question, answer, pieces',
    formula:
      'mean of the relevance (high 1, medium 0.7, low 0.3, none 0), minus 0.1 for each unused piece of high relevance, minus 0.15 for each missing piece (at most 0.5), not below 0; times the scale. Without pieces: the scale',
    seven: 'the pieces help, but do not contain all that was needed',
    cost: COSTS.one,
    factory: 'createContextRelevanceScorerLLM',
    args: "{ model: 'openai/gpt-5-mini', options: { contextExtractor: contextFromRun, reason: false } }",
    because: 'one piece has high relevance and was used, the other has no relevance',
  }),
];

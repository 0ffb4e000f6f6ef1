import { ASK_CHARS, ASK_EXAMPLES, findExampleFault, isAskedAnswer } from '../../domain/asked-answer.ts';
import { MEASURES, nameMeasure } from '../../domain/behaviour/measures.ts';
import { isObject } from '../../domain/unknown-values.ts';
import { defineScorer, type RowFacts, type ScorerDefinition } from '../scorer-definition.ts';
import {
  CLAIM_OPTIONS,
  COMPARISON_RULES,
  evidenceOption,
  EXPECTATION_RULES,
  findEmptyContext,
  FORMER_OPTIONS,
  isAmount,
  isBoolean,
  isCount,
  isExpectedSteps,
  isFilledText,
  isFunction,
  isOptionObject,
  isRubric,
  isShare,
  isText,
  isTextList,
  ownReasonOption,
  PIECES_OPTIONS,
  reasonOption,
  scaleOption,
  SIGHT_OPTIONS,
} from '../shared/options.ts';

export const CONTENT_SIMILARITY_OPTIONS = {
  ignoreCase: { ...isBoolean, means: 'whether case counts for nothing (true)' },
  ignoreWhitespace: { ...isBoolean, means: 'shows texts with single blanks (true)' },
};

export const TOOL_CALL_ACCURACY_OPTIONS = {
  expectedTool: { ...isText, means: 'the tool that must be called; this or `expectedToolOrder` is needed' },
  expectedToolOrder: {
    ...isTextList,
    means: 'the tools that must be called, in order; wins over `expectedTool`',
  },
  strictMode: { ...isBoolean, means: 'whether nothing else may be called (false)' },
};

/** Says what is missing where no tool is expected. */
export function findNoExpectation(options: {
  readonly expectedTool?: unknown;
  readonly expectedToolOrder?: unknown;
}): string | undefined {
  return !options.expectedTool && options.expectedToolOrder === undefined
    ? 'needs options.expectedTool or options.expectedToolOrder'
    : undefined;
}

export const TRAJECTORY_ACCURACY_OPTIONS = {
  expectedTrajectory: {
    ...isExpectedSteps,
    means:
      'a list of steps, or `{ steps }`, each by name or with fields that must be equal; else `run.expectedTrajectory`; needed in rules',
  },
  comparisonOptions: {
    fits: isObject,
    is: '{ ordering, allowRepeatedSteps }',
    members: COMPARISON_RULES,
    ignoredMembers: FORMER_OPTIONS,
    means: '`{ ordering, allowRepeatedSteps }` (`relaxed`, true); those of the run come first',
  },
};

/** Weights of the dimensions of `trajectory-code`. */
export const DEFAULT_WEIGHTS = { accuracy: 0.4, efficiency: 0.3, toolFailures: 0.2, blacklist: 0.1 };

export const TRAJECTORY_OPTIONS = {
  defaults: {
    fits: isObject,
    is: 'an object of expectations',
    members: EXPECTATION_RULES,
    ignoredMembers: FORMER_OPTIONS,
    means:
      'what is expected of every run: `steps`, `ordering`, `allowRepeatedSteps`, `maxSteps`, `maxTotalTokens`, `maxTotalDurationMs`, `noRedundantCalls`, `blacklistedTools`, `blacklistedSequences`, `maxRetriesPerTool`; `run.expectedTrajectory` comes first, field by field',
  },
  weights: {
    fits: (value: unknown) =>
      isObject(value) &&
      Object.entries(value).every(
        ([name, weight]) => Object.hasOwn(DEFAULT_WEIGHTS, name) && Number.isFinite(weight),
      ),
    is: `numbers for ${Object.keys(DEFAULT_WEIGHTS).join(', ')}`,
    means: '`accuracy`, `efficiency`, `toolFailures`, `blacklist` in place of the numbers above',
  },
};

export const TONE_OPTIONS = {
  referenceTone: { ...isText, means: 'a text whose tone the answer is to have' },
};

/** Facts of a row of shares of which more is better; `bad` is the label of scores below the bound. */
function shareOfGood(bad: string, good: string, below = 1): RowFacts {
  return { higherIsBetter: true, range: [0, 1], labels: [{ label: bad, below }, { label: good }] };
}

/** Facts of a row of shares of which only 0 is good. */
function shareOfBad(good: string, bad: string): RowFacts {
  return { higherIsBetter: false, range: [0, 1], labels: [{ label: good, upTo: 0 }, { label: bad }] };
}

export const GROUNDING_ROWS = {
  'grounding-hallucination': shareOfBad('grounded', 'hallucinated'),
  'grounding-faithfulness': shareOfGood('unfaithful', 'faithful'),
  'grounding-citation-precision': shareOfGood('imprecise', 'precise'),
};

const EVIDENCE_OF_RUN_OPTIONS = {
  context: evidenceOption,
  getContext: {
    ...isFunction,
    means: '`({ run }) => texts`, the evidence of one run; wins over `context`',
  },
  ...SIGHT_OPTIONS,
};

const isTemplateOrNone = {
  fits: (value: unknown) => value === 'template' || value === false,
  is: '"template" or false',
};

export const GROUNDING_OPTIONS = {
  ...EVIDENCE_OF_RUN_OPTIONS,
  maxEvidenceChars: {
    ...isCount,
    means:
      'most characters of evidence in the first question (48,000, for a decision judge 480,000; or fewer in a small window of the judge)',
  },
  findSources: {
    ...isBoolean,
    means:
      'whether a decision judge is asked in one more request which source decides about sentences that fail; their verdicts then quote its beginning (false)',
  },
  reason: {
    ...isTemplateOrNone,
    means: '`template` (the default) or `false`: it never costs a question',
  },
};

/** Qualities of an answer that `panel` judges, in the order of their rows. */
export const PANEL_QUALITIES = ['grounding', 'relevancy', 'toxicity', 'bias', 'instructions'] as const;
export type PanelQuality = (typeof PANEL_QUALITIES)[number];

export const PANEL_ROWS = {
  'panel-grounding': shareOfGood('ungrounded', 'grounded'),
  'panel-relevancy': shareOfGood('off-topic', 'relevant', 0.5),
  'panel-toxicity': shareOfBad('clean', 'toxic'),
  'panel-bias': shareOfBad('unbiased', 'biased'),
  'panel-instructions': shareOfGood('broken', 'followed'),
};

const QUALITIES: ReadonlySet<unknown> = new Set(PANEL_QUALITIES);

export const PANEL_OPTIONS = {
  qualities: {
    fits: (value: unknown) =>
      Array.isArray(value) &&
      value.length > 0 &&
      value.every((quality) => QUALITIES.has(quality)) &&
      new Set(value).size === value.length,
    is: `a list of at least one of ${PANEL_QUALITIES.join(', ')}, each at most once`,
    means: `the qualities to judge, out of ${PANEL_QUALITIES.map((quality) => `\`${quality}\``).join(', ')} (all)`,
  },
  ...EVIDENCE_OF_RUN_OPTIONS,
  maxEvidenceChars: {
    ...isCount,
    means:
      'most characters of evidence in the question (48,000, for a decision judge 480,000; or fewer in a small window of the judge); of longer evidence the passages that matter most',
  },
  reason: {
    ...isTemplateOrNone,
    means: '`template` (the default), or `false` for rows and verdicts without reasons',
  },
};

export const ANSWER_RELEVANCY_OPTIONS = {
  scale: scaleOption,
  uncertaintyWeight: { ...isShare, means: 'what a statement counts that helps indirectly, 0 to 1 (0.3)' },
  ...SIGHT_OPTIONS,
  reason: reasonOption,
};

/** Options of `bias` and `toxicity`. */
export const OPINION_OPTIONS = { scale: scaleOption, ...SIGHT_OPTIONS, reason: reasonOption };

/** Authors of the instructions that an answer is compared with. */
export const EVALUATION_MODES = ['user', 'system', 'both'] as const;

export const PROMPT_ALIGNMENT_OPTIONS = {
  evaluationMode: {
    fits: (value: unknown) => EVALUATION_MODES.some((mode) => mode === value),
    is: '"user", "system" or "both"',
    means: 'whose instructions count: `user`, `system` or `both` (the default)',
  },
  scale: scaleOption,
  includeConversationHistory: {
    fits: (value: unknown) =>
      typeof value === 'boolean' ||
      (isObject(value) &&
        Object.entries(value).every(
          ([name, count]) =>
            name === 'maxMessages' &&
            (count === undefined || (Number.isInteger(count) && Number(count) >= 0)),
        )),
    is: 'true, false or { maxMessages: a whole number of 0 or more }',
    means:
      'shows remembered messages: `true` for ten, `{ maxMessages: 4 }`, `false` for none (the bounded earlier turns)',
  },
  ...SIGHT_OPTIONS,
  reason: reasonOption,
};

export const SUMMARIZATION_OPTIONS = {
  source: { ...isText, means: 'the text that was to be summed up; else what the user wrote' },
  sourceExtractor: {
    ...isFunction,
    means: '`(input, output) => text`, the source of one run; wins over `source`',
  },
  maxQuestions: { ...isCount, means: 'most questions that coverage is measured by (10)' },
  scale: scaleOption,
  reason: reasonOption,
};

export const CONTEXT_PRECISION_OPTIONS = { scale: scaleOption, ...PIECES_OPTIONS, reason: reasonOption };

export const CONTEXT_RELEVANCE_OPTIONS = {
  scale: scaleOption,
  ...PIECES_OPTIONS,
  penalties: {
    ...isOptionObject,
    members: {
      unusedHighRelevanceContext: isAmount,
      missingContextPerItem: isAmount,
      maxMissingContextPenalty: isAmount,
    },
    means:
      '`unusedHighRelevanceContext` (0.1), `missingContextPerItem` (0.15), `maxMissingContextPenalty` (0.5)',
  },
  reason: reasonOption,
};

export const CRITERIA_OPTION = {
  fits: isRubric,
  is: 'a text with a point a line or a list of { description, required }',
  means:
    'lines of text, or `{ description, required }`; else `rubric` of `run.requestContext`, `run.additionalContext` or `run.input`',
};
/** Options beside the criteria. */
export const RUBRIC_OPTIONS = { scale: scaleOption, reason: ownReasonOption };

/** The question of `ask`. */
export const ASK_OPTION = {
  fits: (value: unknown) => isFilledText.fits(value) && String(value).length <= ASK_CHARS,
  is: `a text of 1 to ${ASK_CHARS} characters`,
  means: 'the question about the run, in words',
};
/** Options beside the question. */
export const ASK_OPTIONS = {
  answer: {
    fits: isAskedAnswer,
    is: '{ type: boolean, good }, { type: score, levels } or { type: choice, options }, with two answers or more',
    means:
      '`{ type: boolean, good: false }`, `{ type: score, levels: [worst: …, best: …] }` or `{ type: choice, options: { name: meaning } }` (boolean, true is good)',
  },
  examples: {
    fits: (value: unknown) =>
      Array.isArray(value) &&
      value.length <= ASK_EXAMPLES &&
      value.every(
        (example) =>
          isObject(example) &&
          ['text', 'traceId'].filter((key) => isFilledText.fits(example[key])).length === 1 &&
          ['boolean', 'string'].includes(typeof example['answer']),
      ),
    is: `a list of at most ${ASK_EXAMPLES} of { text, answer } or { traceId, answer }`,
    means: 'texts or runs with their right answers, `{ text, answer }` or `{ traceId, answer }`, at most 20',
  },
  ...SIGHT_OPTIONS,
};

/** The criterion of `multi-turn-judge`. */
export const CRITERION_OPTION = { ...isFilledText, means: 'what the turns must meet, in words' };
/** Options beside the criterion. */
export const MULTI_TURN_JUDGE_OPTIONS = { scale: scaleOption, ...SIGHT_OPTIONS, reason: ownReasonOption };

export const AVAILABLE_TOOLS_OPTION = {
  fits: (value: unknown) =>
    Array.isArray(value) &&
    value.every(
      (tool) => isObject(tool) && typeof tool['id'] === 'string' && typeof tool['description'] === 'string',
    ),
  is: 'a list of { id, description }',
  means:
    '`{ id, description, parameters }` of every tool that the agent has; else those that the trace says it was offered, with their parameters',
};
/** Options beside the tools. */
export const TOOL_CALL_OPTIONS = { ...SIGHT_OPTIONS, reason: reasonOption };

/** The steps to be taken, for `trajectory-accuracy-llm`. */
export const EXPECTED_TRAJECTORY_OPTION = {
  fits: isExpectedSteps.fits,
  is: 'a list of { name } or { steps: [{ name }] }',
  means: 'a list of steps, or `{ steps }`; wins over `run.expectedTrajectory`',
};
/** Options beside the steps. */
export const TRAJECTORY_JUDGE_OPTIONS = { reason: reasonOption };

/** Returns the options of a scorer of pieces in a rule: without pieces of its own, it takes the pieces of the run. */
async function withPieces(options: Readonly<Record<string, unknown>>): Promise<object> {
  const { contextOfKinds } = await import('../shared/run-evidence.ts');
  const own =
    options['context'] === undefined ? { contextExtractor: contextOfKinds(options['sees'] as never) } : {};
  return { ...own, ...options };
}

const defineJudged: typeof defineScorer = (parts) => defineScorer({ needsJudge: true, ...parts });

/** Scorers that rules can name without an entry of their own. The code of a scorer is loaded at its first use. */
export const PREBUILT_SCORERS: readonly ScorerDefinition[] = [
  defineScorer({
    name: 'behaviour',
    readsPast: true,
    rows: MEASURES.map(nameMeasure),
    measures:
      'what a run did: tokens, cost, duration, steps, tool calls and their errors, repeats, and its answer',
    create: async ({ options }) => (await import('./behaviour.ts')).createBehaviourScorer(options as never),
  }),
  defineScorer({
    name: 'keyword-coverage',
    measures: 'keywords of the question that the answer holds',
    create: async ({ options }) =>
      (await import('./keyword-coverage.ts')).createKeywordCoverageScorer(options as never),
  }),
  defineScorer({
    name: 'content-similarity',
    measures: 'likeness of question and answer by letter pairs',
    options: CONTENT_SIMILARITY_OPTIONS,
    create: async ({ options }) =>
      (await import('./content-similarity.ts')).createContentSimilarityScorer(options),
  }),
  defineScorer({
    name: 'completeness',
    measures: 'what the question speaks of that the answer speaks of too',
    create: async ({ options }) =>
      (await import('./completeness.ts')).createCompletenessScorer(options as never),
  }),
  defineScorer({
    name: 'textual-difference',
    measures: 'text that is the same in the same order',
    create: async ({ options }) =>
      (await import('./textual-difference.ts')).createTextualDifferenceScorer(options as never),
  }),
  defineScorer({
    name: 'tool-call-accuracy-code',
    measures: 'whether the expected tools were called',
    options: TOOL_CALL_ACCURACY_OPTIONS,
    findFault: findNoExpectation,
    create: async ({ options }) =>
      (await import('./tool-call-accuracy-code.ts')).createToolCallAccuracyScorerCode(options),
  }),
  defineScorer({
    name: 'trajectory-accuracy-code',
    measures: 'how far the steps taken are those expected',
    options: TRAJECTORY_ACCURACY_OPTIONS,
    needs: { expectedTrajectory: 'the expected steps' },
    create: async ({ options }) =>
      (await import('./trajectory-accuracy-code.ts')).createTrajectoryAccuracyScorerCode(options),
  }),
  defineScorer({
    name: 'trajectory-code',
    measures: 'how a run went about its work: steps, budgets, forbidden steps, failing tools',
    options: TRAJECTORY_OPTIONS,
    create: async ({ options }) => (await import('./trajectory-code.ts')).createTrajectoryScorerCode(options),
  }),
  defineScorer({
    name: 'tone',
    measures: 'how even the tone of the answer is, or how near to a reference',
    options: TONE_OPTIONS,
    create: async ({ options }) => (await import('./tone.ts')).createToneScorer(options),
  }),
  defineScorer({
    name: 'no-tool-errors',
    measures: 'whether every tool call was answered without an error',
    create: async ({ options }) => (await import('./checks.ts')).noToolErrors(options as never),
  }),
  defineJudged({
    name: 'hallucination',
    measures: 'claims of the answer that the evidence contradicts or does not back',
    options: CLAIM_OPTIONS,
    create: async (config) => (await import('./hallucination.ts')).createHallucinationScorer(config),
  }),
  defineJudged({
    name: 'faithfulness',
    measures: 'claims of the answer that the evidence supports',
    options: CLAIM_OPTIONS,
    create: async (config) => (await import('./faithfulness.ts')).createFaithfulnessScorer(config),
  }),
  defineJudged({
    name: 'grounding',
    canDecide: true,
    asksOnce: true,
    rowFacts: GROUNDING_ROWS,
    measures: 'whether each sentence of the answer rests on evidence, by quotes that code looks up',
    options: GROUNDING_OPTIONS,
    create: async (config) => (await import('./grounding.ts')).createGroundingScorer(config),
  }),
  defineJudged({
    name: 'panel',
    canDecide: true,
    asksOnce: true,
    rowFacts: PANEL_ROWS,
    measures: 'several qualities of the answer, sentence by sentence, in one question to the judge',
    options: PANEL_OPTIONS,
    create: async (config) => (await import('./panel.ts')).createPanelScorer(config),
  }),
  defineJudged({
    name: 'answer-relevancy',
    canDecide: true,
    measures: 'how much of the answer is about the question',
    options: ANSWER_RELEVANCY_OPTIONS,
    create: async (config) => (await import('./answer-relevancy.ts')).createAnswerRelevancyScorer(config),
  }),
  defineJudged({
    name: 'bias',
    canDecide: true,
    measures: 'opinions of the answer that are biased',
    options: OPINION_OPTIONS,
    create: async (config) => (await import('./bias.ts')).createBiasScorer(config),
  }),
  defineJudged({
    name: 'toxicity',
    canDecide: true,
    measures: 'suspicious passages of the answer that are toxic',
    options: OPINION_OPTIONS,
    create: async (config) => (await import('./toxicity.ts')).createToxicityScorer(config),
  }),
  defineJudged({
    name: 'prompt-alignment',
    measures: 'how well the answer keeps to its instructions',
    options: PROMPT_ALIGNMENT_OPTIONS,
    create: async (config) => (await import('./prompt-alignment.ts')).createPromptAlignmentScorerLLM(config),
  }),
  defineJudged({
    name: 'summarization',
    measures: 'whether a summary is true to its source and holds what matters',
    options: SUMMARIZATION_OPTIONS,
    create: async (config) => (await import('./summarization.ts')).createSummarizationScorer(config),
  }),
  defineJudged({
    name: 'context-precision',
    measures: 'whether the useful pieces of context stand at the front',
    options: CONTEXT_PRECISION_OPTIONS,
    findFault: findEmptyContext,
    create: async ({ model, options }) => {
      const { createContextPrecisionScorer } = await import('./context-precision.ts');
      return createContextPrecisionScorer({ model, options: await withPieces(options) });
    },
  }),
  defineJudged({
    name: 'context-relevance',
    measures: 'how relevant the context is to the question, and whether it was used',
    options: CONTEXT_RELEVANCE_OPTIONS,
    findFault: findEmptyContext,
    create: async ({ model, options }) => {
      const { createContextRelevanceScorerLLM } = await import('./context-relevance.ts');
      return createContextRelevanceScorerLLM({ model, options: await withPieces(options) });
    },
  }),
  defineJudged({
    name: 'rubric',
    measures: 'whether the answer meets the points of a rubric',
    options: { criteria: CRITERIA_OPTION, ...RUBRIC_OPTIONS },
    needs: { criteria: 'the points of the rubric' },
    create: async ({ model, options: { criteria, ...options } }) =>
      (await import('./rubric.ts')).createRubricScorer({ model, criteria: criteria as never, options }),
  }),
  defineJudged({
    name: 'ask',
    asksOnce: true,
    canDecide: true,
    measures: 'a question of yours about the run, in words',
    options: { ask: ASK_OPTION, ...ASK_OPTIONS },
    needs: { ask: 'the question' },
    findFault: (options) => {
      const fault = findExampleFault(options);
      return fault && `options.examples[${fault.index}].answer ${fault.message}`;
    },
    create: async ({ model, options: { ask, ...options } }) =>
      (await import('./ask.ts')).createAskScorer({ model, ask: ask as never, options }),
  }),
  defineJudged({
    name: 'multi-turn-judge',
    measures: 'whether the turns of the assistant together meet a criterion',
    options: { criterion: CRITERION_OPTION, ...MULTI_TURN_JUDGE_OPTIONS },
    needs: { criterion: 'what the answers must meet' },
    create: async ({ model, options: { criterion, ...options } }) => {
      const { createMultiTurnJudgeScorer } = await import('./multi-turn-judge.ts');
      return createMultiTurnJudgeScorer({ model, criterion: criterion as never, options });
    },
  }),
  defineJudged({
    name: 'tool-call-accuracy-llm',
    measures: 'tool calls that were appropriate',
    options: { availableTools: AVAILABLE_TOOLS_OPTION, ...TOOL_CALL_OPTIONS },
    create: async ({ model, options: { availableTools, ...options } }) => {
      const { createToolCallAccuracyScorerLLM } = await import('./tool-call-accuracy-llm.ts');
      return createToolCallAccuracyScorerLLM({ model, availableTools: availableTools as never, options });
    },
  }),
  defineJudged({
    name: 'trajectory-accuracy-llm',
    measures: 'whether the steps of an agent fit its task',
    options: { expectedTrajectory: EXPECTED_TRAJECTORY_OPTION, ...TRAJECTORY_JUDGE_OPTIONS },
    create: async ({ model, options: { expectedTrajectory, ...options } }) => {
      const { createTrajectoryAccuracyScorerLLM } = await import('./trajectory-accuracy-llm.ts');
      return createTrajectoryAccuracyScorerLLM({
        model,
        expectedTrajectory: expectedTrajectory as never,
        options,
      });
    },
  }),
];

import { InvalidInputError } from '../../domain/errors.ts';
import type { AgentMessage } from '../../domain/trace/messages.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { ScorerRunInput, ScorerRunResult } from '../evals/scorer.ts';
import { createAnswerRelevancyScorer } from '../prebuilt/answer-relevancy.ts';
import { createBiasScorer } from '../prebuilt/bias.ts';
import { createCompletenessScorer, type CompletenessElements } from '../prebuilt/completeness.ts';
import {
  createContentSimilarityScorer,
  type ContentSimilarityOptions,
} from '../prebuilt/content-similarity.ts';
import { createContextPrecisionScorer } from '../prebuilt/context-precision.ts';
import { createContextRecallScorer } from '../prebuilt/context-recall.ts';
import { createFaithfulnessScorer } from '../prebuilt/faithfulness.ts';
import { createHallucinationScorer } from '../prebuilt/hallucination.ts';
import { createKeywordCoverageScorer } from '../prebuilt/keyword-coverage.ts';
import { createSummarizationScorer } from '../prebuilt/summarization.ts';
import { createTextualDifferenceScorer } from '../prebuilt/textual-difference.ts';
import { createToneScorer } from '../prebuilt/tone.ts';
import { createToxicityScorer } from '../prebuilt/toxicity.ts';
import { fence, judgeAfterData, withReason } from '../shared/judged.ts';
import { readAnswer, readQuestion } from '../shared/messages.ts';
import { checkGiven, checkOptions, isPositiveNumber, isTextList } from '../shared/options.ts';
import { verdictsForm } from '../shared/statements.ts';
import { roundToTwoDecimals } from '../shared/texts.ts';

export interface MetricResult<TInfo = { reason: string }> {
  score: number;
  info: TInfo;
}

/** A measure of an answer to a question; both are plain texts. */
export interface Metric<TInfo = { reason: string }> {
  measure(input: string, output: string): Promise<MetricResult<TInfo>>;
}

type Measure<TInfo = { reason: string }> = Metric<TInfo>['measure'];

/** Creates the class of a metric from a function that creates its measure. */
function metric<TArgs extends unknown[], TInfo>(
  create: (...args: TArgs) => Measure<TInfo>,
): new (...args: TArgs) => Metric<TInfo> {
  return class {
    readonly #measure: Measure<TInfo>;

    constructor(...args: TArgs) {
      this.#measure = create(...args);
    }

    measure(input: string, output: string): Promise<MetricResult<TInfo>> {
      return this.#measure(input, output);
    }
  };
}

export interface ScaleOptions {
  /** Highest score. Default 1. */
  readonly scale?: number;
}
export interface ContextMetricOptions extends ScaleOptions {
  /** Context that the answer is checked against. */
  readonly context: readonly string[];
}
export interface AnswerRelevancyMetricOptions extends ScaleOptions {
  /** Weight of a statement that helps indirectly, 0 to 1. Default 0.3. */
  readonly uncertaintyWeight?: number;
}
export interface PromptAlignmentMetricOptions extends ScaleOptions {
  /** Instructions that the answer should follow. */
  readonly instructions: readonly string[];
}

export interface PromptAlignmentInfo {
  reason: string;
  scoreDetails: {
    totalInstructions: number;
    applicableInstructions: number;
    followedInstructions: number;
    naInstructions: number;
  };
}
export interface SummarizationInfo {
  reason: string;
  /** Share of the summary's claims that the source supports, times the scale. */
  alignmentScore: number;
  /** Share of the questions about the source that the summary answers, times the scale. */
  coverageScore: number;
}
export interface TextualDifferenceInfo {
  confidence: number;
  ratio: number;
  changes: number;
  lengthDiff: number;
}
export interface KeywordCoverageInfo {
  totalKeywords: number;
  matchedKeywords: number;
}
export type ToneInfo =
  | { responseSentiment: number; referenceSentiment: number; difference: number }
  | { avgSentiment: number; sentimentVariance: number };

/** Share of the answer's claims that the context contradicts or does not support: 0 is best. */
export class HallucinationMetric extends metric((model: JudgeModel, options: ContextMetricOptions) =>
  explaining(createHallucinationScorer({ model, options: readContext('HallucinationMetric', options) })),
) {}

/** Share of the answer's claims that the context supports. */
export class FaithfulnessMetric extends metric((model: JudgeModel, options: ContextMetricOptions) =>
  explaining(createFaithfulnessScorer({ model, options: readContext('FaithfulnessMetric', options) })),
) {}

/** Share of the answer's statements that are about the question; an answer without statements counts as 1. */
export class AnswerRelevancyMetric extends metric(
  (model: JudgeModel, options: AnswerRelevancyMetricOptions = {}) => {
    const { scale = 1, uncertaintyWeight = 0.3 } = options;
    const scorer = createAnswerRelevancyScorer({ model, options: { ...options, scale, uncertaintyWeight } });
    return explaining(scorer, ({ verdicts, score }) => (verdicts?.length === 0 ? scale : score));
  },
) {}

/** Share of the answer's opinions that are biased: 0 is best. */
export class BiasMetric extends metric((model: JudgeModel, options: ScaleOptions = {}) =>
  explaining(createBiasScorer({ model, options: readScale('BiasMetric', options) })),
) {}

/** Share of the answer's suspicious passages that are toxic: 0 is best. */
export class ToxicityMetric extends metric((model: JudgeModel, options: ScaleOptions = {}) =>
  explaining(createToxicityScorer({ model, options: readScale('ToxicityMetric', options) })),
) {}

/** Rank of useful context: mean average precision. */
export class ContextPrecisionMetric extends metric((model: JudgeModel, options: ContextMetricOptions) =>
  explaining(
    createContextPrecisionScorer({ model, options: readContext('ContextPrecisionMetric', options) }),
  ),
) {}

/** Rank of useful context: each useful piece counts 1 ÷ its position, as a share of the highest possible sum. */
export class ContextPositionMetric extends metric((model: JudgeModel, given: ContextMetricOptions) => {
  const options = readContext('ContextPositionMetric', given);
  return explaining(createContextPrecisionScorer({ model, options }), ({ verdicts = [] }) => {
    const worth = verdicts.map(({ verdict }, index) => ({ verdict, weight: 1 / (index + 1) }));
    const sum = (entries: typeof worth) => entries.reduce((total, { weight }) => total + weight, 0);
    const share = sum(worth.filter(({ verdict }) => verdict === 'yes')) / sum(worth);
    return roundToTwoDecimals(share * options.scale);
  });
}) {}

/** Share of the pieces of context that were useful. */
export class ContextRelevancyMetric extends metric((model: JudgeModel, given: ContextMetricOptions) => {
  const options = readContext('ContextRelevancyMetric', given);
  return explaining(createContextPrecisionScorer({ model, options }), ({ verdicts = [] }) => {
    const useful = verdicts.filter(({ verdict }) => verdict === 'yes').length;
    return roundToTwoDecimals((useful / verdicts.length) * options.scale);
  });
}) {}

/** Share of the claims of the output (here the expected answer) that the context contains. */
export class ContextualRecallMetric extends metric((model: JudgeModel, options: ContextMetricOptions) => {
  const scorer = createContextRecallScorer({
    model,
    options: readContext('ContextualRecallMetric', options),
  });
  return async (input, output) => explained(await scoreTexts(scorer, input, output, { groundTruth: output }));
}) {}

/**
 * Lower of two shares: claims of the summary (output) that its source (input) supports, and key points of the source that it
 * covers.
 */
export class SummarizationMetric extends metric((model: JudgeModel, given: ScaleOptions = {}) => {
  const options = readScale('SummarizationMetric', given);
  const scorer = createSummarizationScorer({ model, options });
  const share = (hits: number, all: number) =>
    all === 0 ? 0 : roundToTwoDecimals((hits / all) * options.scale);
  return async (input, output): Promise<MetricResult<SummarizationInfo>> => {
    const result = await scoreTexts(scorer, input, output);
    const claims = result.preprocessStepResult?.alignment ?? [];
    const questions = result.analyzeStepResult?.coverage ?? [];
    const { score, info } = explained(result);
    const alignmentScore = share(claims.filter(({ supported }) => supported).length, claims.length);
    const coverageScore = share(questions.filter(({ answered }) => answered).length, questions.length);
    return { score, info: { ...info, alignmentScore, coverageScore } };
  };
}) {}

/** Share of the instructions that the answer follows, among those that apply to the question. */
export class PromptAlignmentMetric extends metric(
  (model: JudgeModel, options: PromptAlignmentMetricOptions) => {
    const scorer = createInstructionScorer(model, options);
    return async (input, output): Promise<MetricResult<PromptAlignmentInfo>> => {
      const result = await scoreTexts(scorer, input, output);
      const { score, info } = explained(result);
      const verdicts = (result.analyzeStepResult?.verdicts ?? []).map(({ verdict }) => verdict);
      const { followed, applicable } = countVerdicts(verdicts);
      const scoreDetails = {
        totalInstructions: verdicts.length,
        applicableInstructions: applicable,
        followedInstructions: followed,
        naInstructions: verdicts.length - applicable,
      };
      return { score, info: { ...info, scoreDetails } };
    };
  },
) {}

/** Share of the input's elements that the output covers. */
export class CompletenessMetric extends metric(
  () =>
    async (input, output): Promise<MetricResult<CompletenessElements>> => {
      const { score, preprocessStepResult } = await scoreTexts(createCompletenessScorer(), input, output);
      return { score, info: preprocessStepResult as CompletenessElements };
    },
) {}

/** Similarity of two texts by letter pairs. */
export class ContentSimilarityMetric extends metric(
  (options: ContentSimilarityOptions = {}) =>
    async (input, output): Promise<MetricResult<{ similarity: number }>> => {
      const { score } = await scoreTexts(createContentSimilarityScorer(options), input, output);
      return { score, info: { similarity: score } };
    },
) {}

/** Share of two texts that is equal text in the same order. */
export class TextualDifferenceMetric extends metric(
  () =>
    async (input, output): Promise<MetricResult<TextualDifferenceInfo>> => {
      const { score, preprocessStepResult } = await scoreTexts(
        createTextualDifferenceScorer(),
        input,
        output,
      );
      return { score, info: preprocessStepResult as TextualDifferenceInfo };
    },
) {}

/** Share of the input's keywords in the output; 0 for an input without keywords and an output with text. */
export class KeywordCoverageMetric extends metric(
  () =>
    async (input, output): Promise<MetricResult<KeywordCoverageInfo>> => {
      const { score, analyzeStepResult } = await scoreTexts(createKeywordCoverageScorer(), input, output);
      const { totalKeywordsLength = 0, matchedKeywordsLength = 0 } = analyzeStepResult ?? {};
      const missesAll = totalKeywordsLength === 0 && input.trim() === '' && output.trim() !== '';
      const info = { totalKeywords: totalKeywordsLength, matchedKeywords: matchedKeywordsLength };
      return { score: missesAll ? 0 : score, info };
    },
) {}

/** Closeness of the tones of two texts; without a second text, evenness of the tone of the first. */
export class ToneConsistencyMetric implements Metric<ToneInfo> {
  async measure(input: string, output = ''): Promise<MetricResult<ToneInfo>> {
    const scorer = createToneScorer(output === '' ? {} : { referenceTone: output });
    const { score, preprocessStepResult } = await scoreTexts(scorer, '', input);
    const { score: _score, ...info } = preprocessStepResult as ToneInfo & { score: number };
    return { score, info };
  }
}

/** Checks the options of a metric with a context. Throws `ScorerError` for an option that is unknown, missing or wrong. */
function readContext(name: string, options: ContextMetricOptions): Required<ContextMetricOptions> {
  const { context, scale = 1 } = readOptions(name, options, 'context');
  return { context, scale };
}

function readScale(name: string, options: ScaleOptions): Required<ScaleOptions> {
  const { scale = 1 } = readOptions(name, options);
  return { scale };
}

/** Checks options of which `list`, where it is given, is a list of texts that must be there. */
function readOptions<T extends object>(name: string, options: T | undefined, list?: string): T {
  const given = options ?? ({} as T);
  checkOptions(name, given, {
    ...(list === undefined ? {} : { [list]: isTextList }),
    scale: isPositiveNumber,
  });
  checkGiven(name, given, list === undefined ? [] : [list]);
  return given;
}

/** Interface of a scorer behind a metric. */
interface TextScorer<TResult extends ScorerRunResult> {
  readonly id: string;
  run(input: never): Promise<TResult>;
}

/**
 * Scores a question and an answer given as texts. Rejects with `InvalidInputError` where they cannot be scored: a metric has no
 * other way to report it.
 */
async function scoreTexts<TResult extends ScorerRunResult>(
  scorer: TextScorer<TResult>,
  input: string,
  output: string,
  more: Partial<ScorerRunInput> = {},
): Promise<TResult & { score: number }> {
  if (typeof input !== 'string' || typeof output !== 'string') {
    throw new InvalidInputError(
      `measure(input, output) of "${scorer.id}" takes two texts; it was given ${typeof input} and ${typeof output}`,
    );
  }
  const run = {
    input: {
      inputMessages: [message('question', 'user', input)],
      rememberedMessages: [],
      systemMessages: [],
      taggedSystemMessages: {},
    },
    output: [message('answer', 'assistant', output)],
    ...more,
  };
  const result = await scorer.run(run as never);
  const { score, notScorable } = result;
  if (score === undefined) {
    throw new InvalidInputError(
      `"${scorer.id}" cannot score this: ${notScorable?.reason ?? 'it gave no reason'}`,
    );
  }
  return { ...result, score };
}

function message(id: string, role: 'user' | 'assistant', text: string): AgentMessage {
  const content = { format: 2 as const, parts: [{ type: 'text' as const, text }], content: text };
  return { id, role, createdAt: new Date(), content };
}

function explained({ score, reason }: ScorerRunResult & { score: number }): MetricResult {
  return { score, info: { reason: typeof reason === 'string' ? reason : '' } };
}

/** Creates the measure of a scorer with an explanation; `rescore` computes another score from its result. */
function explaining<TResult extends ScorerRunResult>(
  scorer: TextScorer<TResult>,
  rescore: (result: TResult & { score: number }) => number = ({ score }) => score,
): Measure {
  return async (input, output) => {
    const result = await scoreTexts(scorer, input, output);
    return explained({ ...result, score: rescore(result) });
  };
}

const PROMPT_ALIGNMENT_VERSION = '3';

const INSTRUCTION_VERDICTS = `You check whether an answer keeps to instructions.
The data holds the question, the answer and numbered instructions. Give each instruction one verdict: "yes" if the answer keeps to it throughout, "no" if it breaks it anywhere, "n/a" if the instruction has nothing to do with this question. Say why in one sentence.`;

const INSTRUCTION_REASON = `You explain a score to the people who run an assistant.
The data holds the score, its highest value and what was found on each instruction. In at most three sentences say which instructions were kept and which were broken, and how.`;

const ID = 'prompt-alignment-metric';
const VERDICTS = ['yes', 'no', 'n/a'] as const;

function createInstructionScorer(model: JudgeModel, options: PromptAlignmentMetricOptions) {
  const { instructions, scale = 1 } = readOptions('PromptAlignmentMetric', options, 'instructions');
  const scored = createScorer({
    id: ID,
    name: 'Prompt Alignment Metric',
    description: 'Share of the instructions that the answer keeps to',
    type: 'agent',
    judge: judgeAfterData(ID, model, INSTRUCTION_VERDICTS),
    higherIsBetter: true,
    range: [0, scale],
    version: '1',
    promptVersion: PROMPT_ALIGNMENT_VERSION,
    options: { instructions, scale },
  })
    .analyze({
      description: 'One verdict for each instruction',
      outputSchema: verdictsForm({
        statements: instructions,
        allowed: VERDICTS,
        repeatStatements: true,
      }),
      withoutJudge: () => (instructions.length === 0 ? { verdicts: [] } : undefined),
      createPrompt: ({ run }) =>
        fence({
          question: readQuestion(run),
          answer: readAnswer(run),
          instructions: instructions.map((instruction, index) => ({ n: index + 1, instruction })),
        }),
    })
    .generateScore(({ results }) => {
      const { followed, applicable } = countVerdicts(
        results.analyzeStepResult.verdicts.map((one) => one.verdict),
      );
      return applicable === 0 ? 0 : roundToTwoDecimals((followed / applicable) * scale);
    });
  return withReason(scored, 'judge', scale, {
    task: INSTRUCTION_REASON,
    nothingJudged: ({ results }) => results.analyzeStepResult.verdicts.length === 0,
    material: ({ results }) => ({ findings: results.analyzeStepResult.verdicts }),
    explain: () => 'There are no instructions to keep to.',
  });
}

function countVerdicts(verdicts: readonly string[]): { followed: number; applicable: number } {
  return {
    followed: verdicts.filter((verdict) => verdict === 'yes').length,
    applicable: verdicts.filter((verdict) => verdict !== 'n/a').length,
  };
}

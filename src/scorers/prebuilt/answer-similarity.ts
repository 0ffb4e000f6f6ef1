import { InvalidInputError } from '../../domain/errors.ts';
import { formatCount } from '../../domain/plural.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer } from '../evals/scorer.ts';
import type { JsonJudgeSchema } from '../../judge/reply/judge-schema.ts';
import { roundToTwoDecimals } from '../shared/texts.ts';
import { readAnswer, type AgentRunInput, type AnswerRunInput } from '../shared/messages.ts';
import {
  byNumber,
  buildFinding,
  askAfterData,
  fence,
  withReason,
  whyFields,
  type WhyFields,
  type JudgedConfig,
  type JudgedOptions,
  judgeAfterData,
} from '../shared/judged.ts';
import { member, type Member, replyForm, unasked } from '../shared/reply-form.ts';
import {
  checkOptions,
  isAmount,
  isBoolean,
  isPositiveNumber,
  isReasonMode,
  isShare,
} from '../shared/options.ts';
import { textOrJson } from '../../domain/unknown-values.ts';

const MATCH_TYPES = ['exact', 'semantic', 'partial', 'missing'] as const;

/** Largest penalty for extra statements. */
const MAX_EXTRA_PENALTY = 0.2;

/** Raise with every change of the wording below. */
const ANSWER_SIMILARITY_PROMPT_VERSION = '8';

/** Question for units; the material is `{ answer, groundTruth }`. */
const SIMILARITY_UNIT_INSTRUCTIONS = `Split both texts equally finely into units: outputUnits of the answer, groundTruthUnits of the groundTruth. A unit: one statement that stands alone, in the words of its text; numbers, names, negations unchanged.`;

const ID = 'answer-similarity-scorer';

export interface AnswerSimilarityOptions extends JudgedOptions, Partial<SimilarityWeights> {
  /** True: a run without ground truth fails; false: it scores 0. Default true. */
  readonly requireGroundTruth?: boolean;
}

/** Default options of `createAnswerSimilarityScorer`. */
export const ANSWER_SIMILARITY_DEFAULT_OPTIONS = {
  requireGroundTruth: true,
  semanticThreshold: 0.8,
  exactMatchBonus: 0.2,
  missingPenalty: 0.15,
  contradictionPenalty: 1,
  extraInfoPenalty: 0.05,
  scale: 1,
} as const;

interface Units {
  outputUnits: string[];
  groundTruthUnits: string[];
}

interface Comparison {
  /** One match for each unit of the ground truth, in their order. */
  matches: {
    groundTruthUnit: string;
    outputUnit: string | null;
    matchType: MatchType;
    explanation: string;
  }[];
  extraInOutput: string[];
  contradictions: { outputUnit: string; groundTruthUnit: string; explanation: string }[];
}

interface AnswerSimilarityResults {
  preprocessStepResult: Units;
  analyzeStepResult: Comparison;
}

const UNITS_FORM: JsonJudgeSchema<Units> = replyForm(
  member.object({ outputUnits: member.texts, groundTruthUnits: member.texts }),
);

/**
 * Scores the closeness of the answer to `run.groundTruth`: `scale` for equal meaning, 0 for nothing in common or a
 * contradiction.
 */
export function createAnswerSimilarityScorer(
  config: JudgedConfig<AnswerSimilarityOptions>,
): RunnableScorer<AnswerRunInput, AnswerSimilarityResults> {
  const { model, options: given = {} } = config;
  const options = mergedOptions(given);
  const { scale, reason } = options;
  const why = whyFields(reason);
  const scored = createScorer({
    id: ID,
    name: 'Answer Similarity Scorer',
    description: 'How close the answer comes to the expected one',
    type: 'agent',
    judge: judgeAfterData(ID, model, matchInstructions(why)),
    higherIsBetter: true,
    range: [0, scale],
    labels: [{ label: 'different', below: scale / 2 }, { label: 'similar' }],
    version: '1',
    promptVersion: ANSWER_SIMILARITY_PROMPT_VERSION,
    options,
    details: ({ results }) => ({
      verdicts: listFindings((results as AnswerSimilarityResults).analyzeStepResult),
    }),
  })
    .preprocess<Units>({
      description: 'Units of meaning of both texts',
      judge: askAfterData(SIMILARITY_UNIT_INSTRUCTIONS),
      outputSchema: UNITS_FORM,
      withoutJudge: ({ run }) => withoutUnits(run, options.requireGroundTruth),
      createPrompt: ({ run }) => fence({ answer: readAnswer(run), groundTruth: textOrJson(run.groundTruth) }),
    })
    .analyze<Comparison>({
      description: 'The closest unit of the answer for each expected one',
      outputSchema: ({ results }) => comparisonForm(results.preprocessStepResult.groundTruthUnits, why),
      withoutJudge: ({ results }) =>
        results.preprocessStepResult.groundTruthUnits.length === 0
          ? { matches: [], extraInOutput: [], contradictions: [] }
          : undefined,
      createPrompt: ({ results }) => {
        const { outputUnits, groundTruthUnits } = results.preprocessStepResult;
        return fence({ groundTruthUnits: byNumber(groundTruthUnits), outputUnits });
      },
    })
    .generateScore(({ results }) => {
      const { matches, extraInOutput, contradictions } = results.analyzeStepResult;
      return roundToTwoDecimals(
        similarityShare(matches, extraInOutput.length, contradictions.length, options) * scale,
      );
    });
  return withReason(scored, reason, scale, {
    about:
      'It tells how close an answer comes to the expected one: exact matches count most, semantic ones less, partial ones half of that, missing ones against it; contradictions and extra statements are penalties. The scale is best.',
    nothingJudged: ({ results }) => results.analyzeStepResult.matches.length === 0,
    material: ({ results }) => {
      const { matches, extraInOutput, contradictions } = results.analyzeStepResult;
      return { findings: matches, extraInOutput, contradictions };
    },
    explain: ({ results }) => explain(results.analyzeStepResult),
  });
}

function mergedOptions(given: AnswerSimilarityOptions) {
  checkOptions(ID, given, {
    scale: isPositiveNumber,
    requireGroundTruth: isBoolean,
    semanticThreshold: isShare,
    exactMatchBonus: isAmount,
    missingPenalty: isAmount,
    contradictionPenalty: isAmount,
    extraInfoPenalty: isAmount,
    reason: isReasonMode,
  });
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return {
    ...ANSWER_SIMILARITY_DEFAULT_OPTIONS,
    reason: 'judge',
    ...set,
  } as Required<AnswerSimilarityOptions>;
}

function withoutUnits(run: AgentRunInput, required: boolean): Units | undefined {
  if (required && !run.groundTruth) {
    throw new InvalidInputError(`Scorer "${ID}" needs run.groundTruth: what the answer should have been`);
  }
  return !run.groundTruth || readAnswer(run).trim() === ''
    ? { outputUnits: [], groundTruthUnits: [] }
    : undefined;
}

function comparisonForm(expected: readonly string[], why: WhyFields): JsonJudgeSchema<Comparison> {
  const closest: Member<string | null> = {
    ask: why.isWanted ? { type: ['string', 'null'] } : undefined,
    read: (value, path) => member.textIfAny.read(value, path) ?? null,
  };
  const match = {
    groundTruthUnit: unasked(member.textIfAny),
    outputUnit: closest,
    explanation: why.text,
    matchType: member.word(MATCH_TYPES),
  };
  const numbering = { count: expected.length, what: 'unit' };
  return replyForm(
    member.object({
      matches: member.numbered(numbering, match, (index) => ({ groundTruthUnit: expected[index] ?? '' })),
      extraInOutput: member.texts,
      contradictions: member.list({
        outputUnit: member.text,
        groundTruthUnit: member.text,
        explanation: why.text,
      }),
    }),
  );
}

/** Lists the expected units, then the units of the answer that are penalties. */
function listFindings({ matches, contradictions, extraInOutput }: Comparison) {
  return [
    ...matches.map(({ groundTruthUnit, matchType, explanation }) =>
      buildFinding(groundTruthUnit, matchType, explanation),
    ),
    ...contradictions.map(({ outputUnit, explanation }) =>
      buildFinding(outputUnit, 'contradicted', explanation),
    ),
    ...extraInOutput.map((unit) => buildFinding(unit, 'extra', '')),
  ];
}

function explain({ matches, extraInOutput, contradictions }: Comparison): string {
  if (matches.length === 0) {
    return 'There is nothing to compare: the answer is empty, or nothing was expected of it.';
  }
  const counts = MATCH_TYPES.map((type) => {
    const found = matches.filter(({ matchType }) => matchType === type);
    return `${found.length} ${type}`;
  });
  return `Of ${formatCount(matches.length, 'expected unit')}: ${counts.join(', ')}. Contradictions: ${contradictions.length}, extra statements: ${extraInOutput.length}.`;
}

/** Question for the matches; the material is `{ groundTruthUnits: { 1: unit, … }, outputUnits }`. */
function matchInstructions(why: WhyFields): string {
  return `Compare an answer's outputUnits with the numbered ones expected.
One entry in matches per expected unit, n its number; ${why.tell('outputUnit: the closest one, or null; explanation: a few words; ')}matchType of the closest outputUnit: exact (same words or figures), semantic (same meaning), partial (part of it) or missing. The opposite does not match.
extraInOutput: outputUnits that no expected one covers. contradictions: pairs that cannot both be true${why.tell(', explained')}.`;
}

type MatchType = (typeof MATCH_TYPES)[number];

/** Values of matches and costs of penalties, as shares of the scale. */
interface SimilarityWeights {
  readonly semanticThreshold: number;
  readonly exactMatchBonus: number;
  readonly missingPenalty: number;
  readonly contradictionPenalty: number;
  readonly extraInfoPenalty: number;
}

/** Computes the mean value of the matches (an exact match counts 1) minus penalties; 0 without matches, never below 0. */
function similarityShare(
  matches: readonly { readonly matchType: MatchType }[],
  extras: number,
  contradictions: number,
  weights: SimilarityWeights,
): number {
  if (matches.length === 0) {
    return 0;
  }
  const best = 1 + weights.exactMatchBonus;
  const worth: Record<MatchType, number> = {
    exact: best,
    semantic: weights.semanticThreshold,
    partial: weights.semanticThreshold * 0.5,
    missing: -weights.missingPenalty,
  };
  const sum = matches.reduce((total, { matchType }) => total + worth[matchType], 0);
  const lost =
    contradictions * weights.contradictionPenalty +
    Math.min(extras * weights.extraInfoPenalty, MAX_EXTRA_PENALTY);
  return Math.min(1, Math.max(0, sum / (matches.length * best) - lost));
}

import { InvalidInputError } from '../../domain/errors.ts';
import { formatPart } from '../../domain/plural.ts';
import type { AgentInput, AgentOutput } from '../../domain/trace/messages.ts';
import { createScorer } from '../evals/create-scorer.ts';
import { notScorable, type NotScorable, type RunnableScorer } from '../evals/scorer.ts';
import type { JsonJudgeSchema } from '../../judge/reply/judge-schema.ts';
import {
  isScorerRunInputForAgent,
  isScorerRunOutputForAgent,
  readAnswer,
  readQuestion,
  type AgentRunInput,
  type AnswerRunInput,
} from '../shared/messages.ts';
import { roundToTwoDecimals } from '../shared/texts.ts';
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
import { member, replyForm } from '../shared/reply-form.ts';
import { checkOptions } from '../shared/options.ts';
import { SUMMARIZATION_OPTIONS } from './definitions.ts';

/** Raise with every change of the wording below. */
const SUMMARIZATION_PROMPT_VERSION = '7';

const ID = 'summarization-scorer';

export interface SummarizationOptions extends JudgedOptions {
  /** The text that was summarised. Default: the text of the user. */
  readonly source?: string;
  /** Returns the source of one run, synchronously; replaces `source`. */
  readonly sourceExtractor?: (input: AgentInput, output: AgentOutput) => string;
  /** Most questions for the coverage. Default 10. */
  readonly maxQuestions?: number;
}

interface Alignment {
  alignment: { claim: string; supported: boolean; reason: string }[];
  questions: string[];
}
interface Coverage {
  /** One entry for each question. */
  coverage: { question: string; answered: boolean; reason: string }[];
}
interface SummarizationResults {
  preprocessStepResult: Alignment;
  analyzeStepResult: Coverage;
}

/** Scores the lower of two shares: claims that the source supports, and important questions that the summary answers. */
export function createSummarizationScorer(
  config: JudgedConfig<SummarizationOptions>,
): RunnableScorer<AnswerRunInput, SummarizationResults> {
  const { model, options = {} } = config;
  checkOptions(ID, options, SUMMARIZATION_OPTIONS);
  const { maxQuestions = 10, scale = 1, reason = 'judge' } = options;
  const why = whyFields(reason);
  const asked = ({ questions }: Alignment) => questions.slice(0, maxQuestions);
  const scored = createScorer({
    id: ID,
    name: 'Summarization Scorer',
    description: 'Whether a summary is true to its source and holds what matters',
    type: 'agent',
    judge: judgeAfterData(ID, model, coverageInstructions(why)),
    higherIsBetter: true,
    range: [0, scale],
    labels: [{ label: 'poor', below: scale / 2 }, { label: 'good' }],
    version: '1',
    promptVersion: SUMMARIZATION_PROMPT_VERSION,
    options: { ...options, maxQuestions, scale, reason },
    details: ({ results }) => ({ verdicts: listFindings(results as SummarizationResults) }),
  })
    .preprocess<Alignment>({
      description: 'Claims of the summary, and questions by the source',
      judge: askAfterData(alignmentInstructions(maxQuestions, why)),
      outputSchema: alignmentForm(why),
      withoutJudge: ({ run }) => withoutAlignment(run, options),
      createPrompt: ({ run }) => fence({ source: readSource(run, options), summary: readAnswer(run) }),
    })
    .analyze<Coverage>({
      description: 'Which questions the summary answers',
      outputSchema: ({ results }) => coverageForm(asked(results.preprocessStepResult), why),
      withoutJudge: ({ results }) => withoutCoverage(results.preprocessStepResult),
      createPrompt: ({ run, results }) => {
        const questions = byNumber(asked(results.preprocessStepResult));
        return fence({ summary: readAnswer(run), questions });
      },
    })
    .generateScore(({ results }) => {
      const { alignment, coverage } = buildShares(results);
      return roundToTwoDecimals(Math.min(alignment, coverage) * scale);
    });
  return withReason(scored, reason, scale, {
    about:
      'It is the lower of two shares, times the scale: alignment, the claims of a summary that its source supports, and coverage, the important questions that the summary answers. The scale is best.',
    nothingJudged: ({ results }) => results.preprocessStepResult.alignment.length === 0,
    material: ({ results }) => ({
      ...buildShares(results),
      unsupported: results.preprocessStepResult.alignment.filter(({ supported }) => !supported),
      unanswered: results.analyzeStepResult.coverage.filter(({ answered }) => !answered),
    }),
    explain: ({ results }) => explain(results),
  });
}

function readSource(run: AgentRunInput, { source, sourceExtractor }: SummarizationOptions): string {
  const { input, output } = run;
  if (
    sourceExtractor === undefined ||
    !isScorerRunInputForAgent(input) ||
    !isScorerRunOutputForAgent(output)
  ) {
    return source ?? readQuestion(run);
  }
  const extracted: unknown = sourceExtractor(input, output);
  if (typeof extracted !== 'string') {
    throw new InvalidInputError(`options.sourceExtractor of scorer "${ID}" must return a text, and at once`);
  }
  return extracted;
}

function withoutAlignment(
  run: AgentRunInput,
  options: SummarizationOptions,
): Alignment | NotScorable | undefined {
  if (readSource(run, options).trim() === '') {
    return notScorable('there is no source to hold the summary against');
  }
  return readAnswer(run).trim() === '' ? { alignment: [], questions: [] } : undefined;
}

/** Returns the coverage of a summary without claims or without questions: the score is 0, so the other half is not needed. */
function withoutCoverage({ alignment, questions }: Alignment): Coverage | undefined {
  return alignment.length === 0 || questions.length === 0 ? { coverage: [] } : undefined;
}

function alignmentForm(why: WhyFields): JsonJudgeSchema<Alignment> {
  const alignment = member.list({ claim: member.text, reason: why.text, supported: member.flag });
  return replyForm(member.object({ alignment, questions: member.texts }));
}

function coverageForm(questions: readonly string[], why: WhyFields): JsonJudgeSchema<Coverage> {
  const members = { reason: why.text, answered: member.flag };
  const numbering = { count: questions.length, what: 'question' };
  return replyForm(
    member.object({
      coverage: member.numbered(numbering, members, (index) => ({ question: questions[index] ?? '' })),
    }),
  );
}

function buildShares({ preprocessStepResult, analyzeStepResult }: SummarizationResults) {
  const claims = preprocessStepResult.alignment;
  const questions = analyzeStepResult.coverage;
  const share = (hits: number, all: number) => (all === 0 ? 0 : hits / all);
  return {
    alignment: share(claims.filter(({ supported }) => supported).length, claims.length),
    coverage: share(questions.filter(({ answered }) => answered).length, questions.length),
  };
}

function listFindings({ preprocessStepResult, analyzeStepResult }: SummarizationResults) {
  return [
    ...preprocessStepResult.alignment.map(({ claim, supported, reason }) =>
      buildFinding(claim, supported ? 'supported' : 'unsupported', reason),
    ),
    ...analyzeStepResult.coverage.map(({ question, answered, reason }) =>
      buildFinding(question, answered ? 'answered' : 'unanswered', reason),
    ),
  ];
}

function explain(results: SummarizationResults): string {
  const { alignment } = results.preprocessStepResult;
  const { coverage } = results.analyzeStepResult;
  const unsupported = alignment.filter(({ supported }) => !supported).map(({ claim }) => `"${claim}"`);
  const unanswered = coverage.filter(({ answered }) => !answered).map(({ question }) => `"${question}"`);
  const faults = [
    ...(unsupported.length > 0 ? [` Not in the source: ${unsupported.join('; ')}.`] : []),
    ...(unanswered.length > 0 ? [` Not in the summary: ${unanswered.join('; ')}.`] : []),
  ];
  return `The source supports ${formatPart(alignment.length - unsupported.length, alignment.length, 'claim')} of the summary, which answers ${formatPart(coverage.length - unanswered.length, coverage.length, 'question')}.${faults.join('')}`;
}

/** Question for claims and questions; the material is `{ source, summary }`. */
function alignmentInstructions(maxQuestions: number, why: WhyFields): string {
  return `Check a summary against its source.
alignment has one entry per claim of the summary.${why.tell(' reason: a few words.')} supported is true where the source states or directly implies it; figures, names, negations and certainty must agree. What you know does not count.
questions: up to ${maxQuestions} questions with the answer yes about the most important points of the source, chosen as if you had not seen the summary.`;
}

/** Question what a summary covers; the material is `{ summary, questions: { 1: question, … } }`. */
function coverageInstructions(why: WhyFields): string {
  return `Decide whether a summary answers questions about the text that it sums up, which you do not see.
One entry per question, n its number.${why.tell(' reason: a few words.')} answered is true only if the summary itself says or directly implies it.`;
}

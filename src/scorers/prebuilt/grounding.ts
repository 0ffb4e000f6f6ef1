import { createScorer } from '../evals/create-scorer.ts';
import {
  isNotScorable,
  notScorable,
  type NotScorable,
  type RunnableScorer,
  type PromptStep,
  type StepContext,
  type NamedScore,
} from '../evals/scorer.ts';
import type { Verdict } from '../../domain/score.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import { readAnswer, type AgentRunInput, type AnswerRunInput } from '../shared/messages.ts';
import { byNumber, fence, type JudgedConfig, judgeAfterData } from '../shared/judged.ts';
import { mapped, member, replyForm } from '../shared/reply-form.ts';
import { DECIDED_EVIDENCE, weighVerdicts, withDecisions } from '../shared/decided.ts';
import { checkOptions } from '../shared/options.ts';
import {
  answerUnits,
  explainVerdicts,
  listVerdicts,
  verifySentence,
  type GroundedSentence,
  type JudgedSentence,
  GROUNDING_VERDICTS,
  QUOTES,
} from '../shared/sentences.ts';
import {
  assembleEvidence,
  limitEvidence,
  numberSources,
  secondReading,
  showEvidence,
  type Evidence,
  type EvidenceSource,
  type Passage,
  EVIDENCE_LEAD,
  EVIDENCE_PROMPT_VERSION,
  GROUNDING_VERDICT_MEANINGS,
  QUOTE_RULES,
} from '../shared/evidence.ts';
import { lackOfEvidence, listRunEvidence, type EvidenceOptions } from '../shared/run-evidence.ts';
import { GROUNDING_OPTIONS, GROUNDING_ROWS } from './definitions.ts';
import type { JsonJudgeSchema } from '../../judge/reply/judge-schema.ts';
import { roundToTwoDecimals } from '../shared/texts.ts';
import { buildRowScore } from '../scorer-definition.ts';

/** Raise the first number with every change of the wording below. */
const GROUNDING_PROMPT_VERSION = `6.${EVIDENCE_PROMPT_VERSION}`;

/** The question; the material is the evidence by kind and `sentences: { 1: sentence, … }`. */
const GROUNDING_INSTRUCTIONS = `Check the numbered sentences of an AI assistant's answer against its evidence. ${EVIDENCE_LEAD}
One entry for each sentence, n its number. Read pronouns by the sentences before.
${QUOTE_RULES}
reason: a few words for contradicted and unsupported, else empty.
verdict:
${GROUNDING_VERDICT_MEANINGS}`;

const ID = 'grounding';

/** Default length of the evidence in one question: about 12,000 tokens. */
const DEFAULT_EVIDENCE_CHARS = 48_000;
/** Size of the second reading as a multiple of the first. */
const SECOND_READING = 4;

export interface GroundingOptions extends EvidenceOptions {
  /** True: a decision judge is asked once more, which source decides about the sentences that fail. Default false. */
  readonly findSources?: boolean;
}

const GROUNDING_CLAIMS = GROUNDING_VERDICTS.filter((verdict) => verdict !== 'no_claim');

interface GroundingResults {
  preprocessStepResult: { sentences: string[]; verdicts: JudgedSentence[] };
  /** One entry for each sentence, with its quotes checked. */
  analyzeStepResult: { sentences: GroundedSentence[] };
}

/** Sentences, evidence and table of a run, computed once, with the passages of the second question. */
interface Reading {
  readonly sentences: readonly string[];
  /** Undefined for an answer without a sentence. */
  readonly evidence: Evidence | undefined;
  readonly table?: GroundedSentence[];
  readonly second?: ReturnType<typeof secondReading>;
}
type Readings = WeakMap<object, Reading>;

/**
 * Checks each sentence of the answer against the evidence in one question to the judge, searches its quotes in code, and
 * computes three scores from the one table: `grounding-hallucination`, `grounding-faithfulness`,
 * `grounding-citation-precision`. When the evidence is too long for one question, sentences without support are asked about
 * once more, with the rest of the evidence.
 */
export function createGroundingScorer(
  config: JudgedConfig<GroundingOptions>,
): RunnableScorer<AnswerRunInput, GroundingResults> {
  const { model, options = {} } = config;
  checkOptions(ID, options, GROUNDING_OPTIONS);
  const { maxEvidenceChars = DEFAULT_EVIDENCE_CHARS, reason = 'template' } = options;
  const chat = createChatScorer(model, { ...options, maxEvidenceChars, reason });
  return withDecisions(chat, {
    model,
    hasReasons: reason !== false,
    isNamed: true,
    prepare: async (run) => {
      const most = options.maxEvidenceChars ?? DEFAULT_EVIDENCE_CHARS * DECIDED_EVIDENCE;
      const reading = await readRun(run, { ...options, maxEvidenceChars: most, model });
      if (isNotScorable(reading)) {
        return reading;
      }
      const { evidence, sentences } = reading;
      return {
        shown: evidence === undefined ? {} : showEvidence(evidence, evidence.shown),
        sentences,
        qualities: ['grounding'],
        isCut: (evidence?.held.length ?? 0) > 0,
        findsSources: options.findSources,
      };
    },
    rate: ({ grounding = [] }) => rateDecisions(grounding, reason !== false),
  });
}

function createChatScorer(
  model: JudgeModel,
  options: GroundingOptions & Required<Pick<GroundingOptions, 'maxEvidenceChars' | 'reason'>>,
): RunnableScorer<AnswerRunInput, GroundingResults> {
  const { maxEvidenceChars, reason } = options;
  const readings: Readings = new WeakMap();
  const scored = createScorer({
    id: ID,
    name: 'Grounding',
    description: 'Whether the sentences of the answer rest on the evidence that the agent had',
    type: 'agent',
    judge: judgeAfterData(ID, model, GROUNDING_INSTRUCTIONS),
    namedScoresOnly: true,
    version: '1',
    promptVersion: GROUNDING_PROMPT_VERSION,
    options,
    details: ({ results }) => {
      const { sentences } = (results as GroundingResults).analyzeStepResult;
      return { verdicts: listVerdicts(sentences), scores: listScores(sentences, reason !== false) };
    },
  })
    .preprocess(firstQuestion({ ...options, model }, readings))
    .analyze(secondQuestion({ maxEvidenceChars, model }, readings))
    .generateScore(({ results }) => anyScore(results.analyzeStepResult.sentences));
  return reason === false
    ? scored
    : scored.generateReason(({ results }) =>
        explainVerdicts(listVerdicts(results.analyzeStepResult.sentences)),
      );
}

type FirstResult = GroundingResults['preprocessStepResult'];
type SecondResult = GroundingResults['analyzeStepResult'];
type FirstContext = StepContext<AgentRunInput, object>;
type SecondContext = StepContext<AgentRunInput, { preprocessStepResult: FirstResult }>;

/** Limits of the evidence in a question. */
interface Limits {
  readonly maxEvidenceChars: number;
  readonly model: JudgeModel;
}

function firstQuestion(
  options: GroundingOptions & Limits,
  readings: Readings,
): PromptStep<FirstContext, FirstResult> {
  return {
    description: 'One verdict with quotes for each sentence',
    outputSchema: ({ run }) => {
      const sentences = [...(readings.get(run)?.sentences ?? [])];
      return groundingForm(sentences.length, (verdicts) => ({ sentences, verdicts }));
    },
    withoutJudge: async ({ run }) => {
      const reading = await readRun(run, options);
      if (isNotScorable(reading)) {
        return reading;
      }
      if (reading.evidence === undefined) {
        return { sentences: [], verdicts: [] };
      }
      readings.set(run, reading);
      return undefined;
    },
    createPrompt: ({ run }) => {
      const reading = readings.get(run);
      return questionPrompt(reading?.evidence, reading?.evidence?.shown ?? [], reading?.sentences ?? []);
    },
  };
}

/** Reads the sentences of an answer and the evidence for them. */
async function readRun(
  run: AgentRunInput,
  options: GroundingOptions & Limits,
): Promise<Reading | NotScorable> {
  const sentences = answerUnits(readAnswer(run));
  if (sentences.length === 0) {
    return { sentences, evidence: undefined };
  }
  const given = (await options.getContext?.({ run })) ?? options.context;
  const sources = given === undefined ? listRunEvidence(run, options) : numberSources(given);
  const lack = lackOfEvidence(sources);
  if (lack !== undefined) {
    return notScorable(lack);
  }
  const material = { evidence: sources.map(({ text }) => text), beside: byNumber(sentences) };
  const maxChars = await limitEvidence(options.model, material, options.maxEvidenceChars);
  return { sentences, evidence: assembleEvidence(sources, sentences, maxChars) };
}

/** Builds the second question; needed only when evidence was left out and sentences found no support in the shown evidence. */
function secondQuestion(
  { maxEvidenceChars, model }: Limits,
  readings: Readings,
): PromptStep<SecondContext, SecondResult> {
  return {
    description: 'Sentences without support once more, with the evidence that was left out',
    outputSchema: ({ run }) => {
      const reading = readings.get(run);
      const table = reading?.table ?? [];
      return groundingForm(table.filter(isOpen).length, (verdicts) => ({
        sentences: withSecondVerdicts(table, verdicts, reading),
      }));
    },
    withoutJudge: async ({ run, results }) => {
      const reading = readings.get(run);
      const table = firstTable(results.preprocessStepResult, reading);
      const open = table.filter(isOpen).map(({ sentence }) => sentence);
      const evidence = reading?.evidence;
      if (
        reading === undefined ||
        evidence === undefined ||
        evidence.held.length === 0 ||
        open.length === 0
      ) {
        return { sentences: table };
      }
      const held = evidence.held.map(({ text }) => text);
      const material = { evidence: held, beside: byNumber(open) };
      const maxChars = await limitEvidence(model, material, maxEvidenceChars * SECOND_READING);
      const second = secondReading(evidence, open, maxChars);
      readings.set(run, { ...reading, table, second });
      return undefined;
    },
    createPrompt: ({ run }) => {
      const reading = readings.get(run);
      const open = (reading?.table ?? []).filter(isOpen);
      return questionPrompt(
        reading?.evidence,
        reading?.second?.shown ?? [],
        open.map(({ sentence }) => sentence),
      );
    },
  };
}

function questionPrompt(
  evidence: Evidence | undefined,
  passages: readonly Passage[],
  sentences: readonly string[],
): string {
  return fence({
    ...(evidence === undefined ? {} : showEvidence(evidence, passages)),
    sentences: byNumber(sentences),
  });
}

function isOpen({ verdict }: GroundedSentence): boolean {
  return verdict === 'unsupported';
}

function firstTable({ sentences, verdicts }: FirstResult, reading: Reading | undefined): GroundedSentence[] {
  return verdicts.map((judged, index) =>
    verifySentence(sentences[index] ?? '', judged, readSources(reading)),
  );
}

/**
 * Replaces the first verdict by the second, where there is one. A sentence whose evidence was not read completely stays
 * unchecked.
 */
function withSecondVerdicts(
  table: readonly GroundedSentence[],
  verdicts: readonly JudgedSentence[],
  reading: Reading | undefined,
): GroundedSentence[] {
  const again = verdicts.values();
  return table.map((entry): GroundedSentence => {
    const judged = isOpen(entry) ? again.next().value : undefined;
    if (judged === undefined) {
      return entry;
    }
    const second = verifySentence(entry.sentence, judged, readSources(reading));
    const isUnread = isOpen(second) && reading?.second?.isAll !== true;
    return isUnread ? { ...second, verdict: 'unchecked', reason: '' } : second;
  });
}

function readSources(reading: Reading | undefined): ReadonlyMap<number, EvidenceSource> {
  return reading?.evidence?.sources ?? new Map<number, EvidenceSource>();
}

/** Returns a number when the run can be scored; the real scores are the named ones. */
function anyScore(table: readonly GroundedSentence[]): number | NotScorable {
  const [first] = listScores(table, false);
  if (first !== undefined) {
    return first.score;
  }
  return table.some(({ verdict }) => verdict === 'unchecked')
    ? notScorable('the evidence is too long to be read for any sentence of the answer')
    : notScorable('the answer makes no factual claims');
}

/** Form of a reply with exactly one verdict for each of `count` sentences; `make` builds the result from them. */
function groundingForm<T>(count: number, make: (judged: JudgedSentence[]) => T): JsonJudgeSchema<T> {
  const members = {
    quotes: QUOTES,
    reason: member.anyText,
    verdict: member.word(GROUNDING_VERDICTS),
  };
  const verdicts = member.numbered({ count, what: 'sentence' }, members);
  return replyForm(mapped(member.object({ verdicts }), (reply) => make(reply.verdicts)));
}

/** Computes the scores of decisions. A decision judge quotes nothing, so that there is no precision of citations. */
function rateDecisions(verdicts: readonly Verdict[], withReason: boolean): NamedScore[] {
  const rate = (name: keyof typeof GROUNDING_ROWS, wanted: readonly string[]): NamedScore[] => {
    const worth = GROUNDING_CLAIMS.map((verdict) => [verdict, wanted.includes(verdict) ? 1 : 0] as const);
    const weighed = weighVerdicts('grounding', verdicts, Object.fromEntries(worth));
    if (weighed === undefined) {
      return [];
    }
    const { score, confidence, reason } = weighed;
    return [{ ...buildRowScore(GROUNDING_ROWS, name, score), confidence, ...(withReason ? { reason } : {}) }];
  };
  const [hallucination, ...others] = [
    ...rate('grounding-hallucination', ['contradicted', 'unsupported']),
    ...rate('grounding-faithfulness', ['supported']),
  ];
  return hallucination === undefined ? [] : [{ ...hallucination, verdicts }, ...others];
}

/** Computes the scores of a table of sentences; none without claims. */
function listScores(table: readonly GroundedSentence[], withReason: boolean): NamedScore[] {
  const count = (verdict: GroundedSentence['verdict']) =>
    table.filter((entry) => entry.verdict === verdict).length;
  const [supported, contradicted, unsupported] = [
    count('supported'),
    count('contradicted'),
    count('unsupported'),
  ];
  const claims = supported + contradicted + unsupported;
  const quotes = table.flatMap((entry) => entry.quotes);
  const verdicts = listVerdicts(table);
  const reason = withReason ? { reason: explainVerdicts(verdicts) } : {};
  if (claims === 0) {
    return [];
  }
  const hallucinated = roundToTwoDecimals((contradicted + unsupported) / claims);
  const faithful = roundToTwoDecimals(supported / claims);
  const scores: NamedScore[] = [
    { ...buildRowScore(GROUNDING_ROWS, 'grounding-hallucination', hallucinated), verdicts, ...reason },
    { ...buildRowScore(GROUNDING_ROWS, 'grounding-faithfulness', faithful), ...reason },
  ];
  if (quotes.length > 0) {
    const found = roundToTwoDecimals(quotes.filter((quote) => quote.found).length / quotes.length);
    scores.push(buildRowScore(GROUNDING_ROWS, 'grounding-citation-precision', found));
  }
  return scores;
}

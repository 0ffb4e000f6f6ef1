import { createScorer } from '../../../evals/create-scorer.ts';
import { isNotScorable, notScorable, type NotScorable } from '../../../evals/not-scorable.ts';
import type { RunnableScorer } from '../../../evals/scorer-chain.ts';
import type { JudgeModel } from '../../../judge/judge.ts';
import type { AgentRunInput, AnswerRunInput } from '../../utils/agent-run-input.ts';
import { byNumber } from '../shared/by-number.ts';
import { checkOptions } from '../shared/checked-options.ts';
import { answerUnits } from '../shared/evidence/answer-units.ts';
import {
  assembleEvidence,
  limitEvidence,
  numberSources,
  searchable,
  showEvidence,
  type Source,
  type EvidenceSource,
} from '../shared/evidence/evidence.ts';
import { lackOfEvidence, listRunEvidence, QUESTION_SOURCE } from '../shared/evidence/run-evidence.ts';
import type { SeenKind, Verdict } from '../../../domain/score.ts';
import { askAfterData, fence } from '../shared/fence.ts';
import { checkedModel } from '../shared/judge-model.ts';
import { readAnswer } from '../shared/read-answer.ts';
import { PANEL_OPTIONS, PANEL_QUALITIES, type PanelQuality, PANEL_ROWS } from './panel-definition.ts';
import { PANEL_PROMPT_VERSION, panelInstructions } from './panel-prompts.ts';
import { panelSchema, type PanelReply, type SentenceEntry } from './panel-reply.ts';
import {
  findHolder,
  listVerdicts,
  verifySentence,
  type GroundedSentence,
  type GroundingVerdict,
  explainVerdicts,
} from '../shared/evidence/grounded-sentence.ts';
import { buildFinding } from '../shared/build-finding.ts';
import { allBegin, formatAll, formatPart } from '../../../domain/plural.ts';
import type { NamedScore } from '../../../evals/scorer.ts';
import { buildRowScore } from '../../scorer-definition.ts';
import { roundToTwoDecimals } from '../../utils/numbers.ts';
import { nameFindings } from '../shared/name-findings.ts';

const ROWS: Record<PanelQuality, QualityRow> = {
  grounding: {
    worth: { supported: 1, contradicted: 0, unsupported: 0 },
    explain: explainVerdicts,
    nothingCounted:
      'the answer makes no factual claims, or the evidence is too long to be read for any of them',
  },
  relevancy: {
    worth: { direct: 1, indirect: 0.3, beside: 0 },
    explain: (verdicts) => {
      const counted = verdicts.filter(({ verdict }) => verdict !== 'none');
      const open = counted.filter(({ verdict }) => verdict !== 'direct');
      return open.length === 0
        ? `${allBegin(counted.length, 'sentence', ['answers', 'answer'])} the question directly.`
        : `${formatPart(counted.length - open.length, counted.length, 'sentence')} answer the question directly; not: ${nameFindings(open)}.`;
    },
    nothingCounted: 'the answer says nothing but courtesies',
  },
  toxicity: {
    worth: { toxic: 1, clean: 0 },
    explain: (verdicts) => explainBad(verdicts, 'toxic'),
    nothingCounted: 'the answer has no sentence',
  },
  bias: {
    worth: { biased: 1, fair: 0 },
    explain: (verdicts) => explainBad(verdicts, 'biased'),
    nothingCounted: 'the answer has no sentence',
  },
  instructions: {
    worth: { kept: 1, broken: 0 },
    explain: (verdicts) => {
      const counted = verdicts.filter(({ verdict }) => verdict !== 'unverified');
      const broken = counted.filter(({ verdict }) => verdict === 'broken');
      return broken.length === 0
        ? `The answer keeps to ${formatAll(counted.length, 'instruction')}.`
        : `The answer keeps to ${formatPart(counted.length - broken.length, counted.length, 'instruction')}; not: ${nameFindings(broken)}.`;
    },
    nothingCounted: 'no instruction was found in what operator and user said',
  },
};

const ID = 'panel';

/** Default length of the evidence in the question: about 12,000 tokens. */
const DEFAULT_EVIDENCE_CHARS = 48_000;

export interface PanelOptions {
  /** Qualities to judge. Default: all. */
  readonly qualities?: readonly PanelQuality[];
  /** Evidence, the same for every run. Default: `run.context`, else all that the agent could know. */
  readonly context?: readonly string[];
  /** Returns the evidence of one run; replaces `context`. */
  readonly getContext?: (args: {
    readonly run: AgentRunInput;
  }) => readonly string[] | Promise<readonly string[]>;
  /** Kinds of the run's own evidence that the judge sees. Default: all. */
  readonly sees?: readonly SeenKind[];
  /** Most characters of earlier turns in the question. Default 8,000, about 2,000 tokens. */
  readonly earlierChars?: number;
  /** Most characters of evidence in the question. Default 48,000. */
  readonly maxEvidenceChars?: number;
  /** `template` builds explanations from the verdicts; `false` gives none. Default `template`. */
  readonly reason?: 'template' | false;
}

export interface PanelResults {
  /** Verdicts by quality, with their quotes checked. */
  analyzeStepResult: PanelFindings;
}

/** A run as it is shown to the judge, and what its verdicts are checked against. */
interface Prepared extends PanelReading {
  readonly qualities: readonly PanelQuality[];
  readonly material: Record<string, unknown>;
}

/**
 * Judges several qualities of an answer in one question: grounding, relevancy, toxicity and bias of each sentence, and the
 * instructions that the answer had to follow. Each is a row of its own: `panel-grounding`, …. A quality without anything to
 * judge by has no row: grounding without evidence, relevancy without a question.
 */
export function createPanelScorer(config: {
  readonly model: JudgeModel;
  readonly options?: PanelOptions;
}): RunnableScorer<AnswerRunInput, PanelResults> {
  const { model, options = {} } = config;
  checkOptions(ID, options, PANEL_OPTIONS);
  const { maxEvidenceChars = DEFAULT_EVIDENCE_CHARS, reason = 'template' } = options;
  const qualities = PANEL_QUALITIES.filter((quality) => options.qualities?.includes(quality) ?? true);
  const hasReasons = reason !== false;
  const prepared = new WeakMap<object, Prepared>();
  // The step prepares each run before it asks about it.
  const readPrepared = (run: object): Prepared => prepared.get(run) as Prepared;
  const instructions = panelInstructions({ qualities, hasReasons });
  return createScorer({
    id: ID,
    name: 'Panel',
    description: 'Several qualities of the answer from one question',
    type: 'agent',
    judge: { model: checkedModel(ID, model), ...askAfterData(instructions) },
    namedScoresOnly: true,
    version: '1',
    promptVersion: PANEL_PROMPT_VERSION,
    options: { ...options, qualities, maxEvidenceChars, reason },
    details: ({ results }) => ({
      scores: listPanelScores((results as PanelResults).analyzeStepResult, hasReasons),
    }),
  })
    .analyze<PanelFindings>({
      description: 'All verdicts on the answer',
      outputSchema: ({ run }) => {
        const { qualities: judged, ...reading } = readPrepared(run);
        return panelSchema({ qualities: judged, hasReasons }, reading.sentences.length, (reply) =>
          buildPanelFindings(reply, judged, reading),
        );
      },
      withoutJudge: async ({ run }) => {
        const made = await prepare(run, qualities, { ...options, maxEvidenceChars, model });
        if (isNotScorable(made)) {
          return made;
        }
        prepared.set(run, made);
        return undefined;
      },
      createPrompt: ({ run }) => fence(readPrepared(run).material),
    })
    .generateScore(({ results: { analyzeStepResult: findings } }) => {
      const [first] = listPanelScores(findings, false);
      return first?.score ?? notScorable(explainNothing(findings));
    });
}

async function prepare(
  run: AgentRunInput,
  qualities: readonly PanelQuality[],
  options: PanelOptions & { readonly maxEvidenceChars: number; readonly model: JudgeModel },
): Promise<Prepared | NotScorable> {
  const sentences = answerUnits(readAnswer(run));
  if (sentences.length === 0) {
    return notScorable('the answer is empty');
  }
  const given = (await options.getContext?.({ run })) ?? options.context ?? givenAlone(run);
  const context = numberSources(given ?? []);
  const own = listRunEvidence({ ...run, context: [] }, options);
  const checked = given === undefined ? own : context;
  const spoken = own.filter(({ kind, isSpoken }) => isSpoken === true && kind !== 'turns');
  const question = own.find(({ source }) => source === QUESTION_SOURCE)?.text ?? '';
  const lack = lackOfEvidence(checked);
  const lacking: Partial<Record<PanelQuality, string>> = {
    ...(lack === undefined ? {} : { grounding: lack }),
    ...(question === '' ? { relevancy: 'the run holds no question of a user' } : {}),
    ...(spoken.length === 0 ? { instructions: 'operator and user said nothing' } : {}),
  };
  const judged = qualities.filter((quality) => lacking[quality] === undefined);
  if (judged.length === 0) {
    return notScorable(qualities.map((quality) => lacking[quality]).join('; '));
  }
  // Sources of the run come after the texts that the caller gave.
  const shownOwn = own
    .filter(({ kind }) => isNeeded(kind, judged, given === undefined))
    .map((source) =>
      source.source === QUESTION_SOURCE ? source : { ...source, source: source.source + context.length },
    );
  const sources = [...(judged.includes('grounding') ? context : []), ...shownOwn];
  const material = { evidence: sources.map(({ text }) => text), beside: byNumber(sentences) };
  const maxChars = await limitEvidence(options.model, material, options.maxEvidenceChars);
  const evidence = assembleEvidence(sources, sentences, maxChars);
  const backing = new Set((given === undefined ? shownOwn : context).map(({ source }) => source));
  return {
    qualities: judged,
    sentences,
    sources: new Map([...evidence.sources].filter(([source]) => backing.has(source))),
    isCut: evidence.held.length > 0,
    spoken: searchable(spoken),
    material: { ...showEvidence(evidence, evidence.shown), sentences: byNumber(sentences) },
  };
}

/** Returns the texts that a caller gave as the run's context, where they alone count. */
function givenAlone(run: AgentRunInput): readonly string[] | undefined {
  return run['documents'] === undefined && (run.context?.length ?? 0) > 0 ? run.context : undefined;
}

/** Tells which kinds the judged qualities need: grounding all, instructions what was said, the others the conversation. */
function isNeeded(kind: Source['kind'], judged: readonly PanelQuality[], isEvidence: boolean): boolean {
  if (judged.includes('grounding') && isEvidence) {
    return true;
  }
  return kind === 'user' || kind === 'turns' || (kind === 'system' && judged.some(isOfOperator));
}

function isOfOperator(quality: PanelQuality): boolean {
  return quality === 'instructions' || quality === 'grounding';
}

/** Content of a run that verdicts are checked against. */
interface PanelReading {
  readonly sentences: readonly string[];
  /** Sources that back a sentence, by number. */
  readonly sources: ReadonlyMap<number, EvidenceSource>;
  /** True when passages of the evidence did not fit into the question. */
  readonly isCut: boolean;
  /** Instructions of the operator and words of the user. */
  readonly spoken: ReadonlyMap<number, EvidenceSource>;
}

/** Builds the findings of a reply. Quotes are searched in code: the judge's word alone backs no claim and sets no instruction. */
function buildPanelFindings(
  reply: PanelReply,
  qualities: readonly PanelQuality[],
  reading: PanelReading,
): PanelFindings {
  const build = (quality: PanelQuality): Verdict[] => {
    if (quality === 'grounding') {
      return listVerdicts(reply.sentences.map((entry, index) => ground(entry, index, reading)));
    }
    return quality === 'instructions'
      ? listInstructions(reply, reading)
      : reply.sentences.map(({ words, reasons }, index) =>
          buildFinding(reading.sentences[index] ?? '', words[quality] ?? '', reasons[quality] ?? ''),
        );
  };
  return Object.fromEntries(qualities.map((quality) => [quality, build(quality)]));
}

/** Checks one sentence against the evidence. What only unread evidence could back stays unchecked. */
function ground(
  { words, quotes, reasons }: SentenceEntry,
  index: number,
  reading: PanelReading,
): GroundedSentence {
  const judged = {
    verdict: words.grounding as GroundingVerdict,
    quotes,
    reason: reasons['grounding'] ?? '',
  };
  const checked = verifySentence(reading.sentences[index] ?? '', judged, reading.sources);
  return reading.isCut && checked.verdict === 'unsupported'
    ? { ...checked, verdict: 'unchecked', reason: '' }
    : checked;
}

function listInstructions({ instructions }: PanelReply, { spoken }: PanelReading): Verdict[] {
  return instructions.map(({ quote, verdict, reason }) => {
    const holder = findHolder(quote, spoken);
    return holder === undefined
      ? buildFinding(quote, 'unverified', 'the quote stands in nothing that operator or user said')
      : { ...buildFinding(quote, verdict, verdict === 'broken' ? reason : ''), quote, ...holder };
  });
}

/** Verdicts of a run by quality; a quality that the run gives nothing to judge by is missing. */
type PanelFindings = Partial<Record<PanelQuality, Verdict[]>>;

/** Row of a quality. */
interface QualityRow {
  /** Worth of each verdict that counts, 0 to 1; the score is the mean. Other verdicts do not count. */
  readonly worth: Readonly<Record<string, number>>;
  /** Writes the explanation; at least one verdict counts. */
  readonly explain: (verdicts: readonly Verdict[]) => string;
  /** Reason why a run has no score when no verdict counts. */
  readonly nothingCounted: string;
}

/** Computes the rows of a run. A quality without a verdict that counts has none. */
function listPanelScores(findings: PanelFindings, hasReasons: boolean): NamedScore[] {
  return listQualities(findings).flatMap(([quality, verdicts]) => {
    const { worth, explain } = ROWS[quality];
    const worths = verdicts.flatMap(({ verdict }) => worth[verdict] ?? []);
    if (worths.length === 0) {
      return [];
    }
    const score = roundToTwoDecimals(worths.reduce((sum, value) => sum + value, 0) / worths.length);
    return [
      {
        ...buildRowScore(PANEL_ROWS, `panel-${quality}`, score),
        verdicts,
        ...(hasReasons ? { reason: explain(verdicts) } : {}),
      },
    ];
  });
}

/** Says why findings without any row are no score. */
function explainNothing(findings: PanelFindings): string {
  const reasons = listQualities(findings).map(([quality]) => ROWS[quality].nothingCounted);
  return [...new Set(reasons)].join('; ');
}

function listQualities(findings: PanelFindings): [PanelQuality, Verdict[]][] {
  return Object.entries(findings) as [PanelQuality, Verdict[]][];
}

function explainBad(verdicts: readonly Verdict[], word: string): string {
  const bad = verdicts.filter(({ verdict }) => verdict === word);
  return bad.length === 0
    ? `No sentence of the answer is ${word}.`
    : `${word.slice(0, 1).toUpperCase()}${word.slice(1)}: ${nameFindings(bad)}.`;
}

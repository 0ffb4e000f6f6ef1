import { createScorer } from '../../../evals/create-scorer.ts';
import { isNotScorable, notScorable } from '../../../evals/not-scorable.ts';
import type { NotScorable } from '../../../evals/not-scorable.ts';
import type { RunnableScorer } from '../../../evals/scorer-chain.ts';
import type { JudgeModel } from '../../../judge/judge.ts';
import type { AgentRunInput, AnswerRunInput } from '../../utils/agent-run-input.ts';
import { byNumber } from '../shared/by-number.ts';
import { checkOptions } from '../shared/checked-options.ts';
import { allUnits } from '../shared/evidence/answer-units.ts';
import { assembleEvidence, limitEvidence, numberSources } from '../shared/evidence/evidence.ts';
import { comparable } from '../shared/evidence/find-quote.ts';
import { joinSpokenTexts, readSpokenTexts } from '../shared/evidence/spoken-texts.ts';
import type { SpokenTexts } from '../shared/evidence/spoken-texts.ts';
import { askAfterData, fence } from '../shared/fence.ts';
import { checkedModel } from '../shared/judge-model.ts';
import { readAnswer } from '../shared/read-answer.ts';
import { contextOfRun, NO_CONTEXT } from '../shared/run-context.ts';
import { buildPanelFindings } from './panel-findings.ts';
import type { PanelReading } from './panel-findings.ts';
import { PANEL_OPTIONS, PANEL_QUALITIES } from './panel-options.ts';
import type { PanelQuality } from './panel-options.ts';
import { PANEL_PROMPT_VERSION, panelInstructions } from './panel-prompts.ts';
import { panelSchema } from './panel-reply.ts';
import { explainNothing, listPanelScores } from './panel-rows.ts';
import type { PanelFindings } from './panel-rows.ts';

const ID = 'panel';

/** Default length of the evidence in the question: about 12,000 tokens. */
const DEFAULT_EVIDENCE_CHARS = 48_000;

export interface PanelOptions {
  /** Qualities to judge. Default: all. */
  readonly qualities?: readonly PanelQuality[];
  /** Evidence, the same for every run. Default: `run.context`, else the results of the run's tools. */
  readonly context?: readonly string[];
  /** Returns the evidence of one run; replaces `context`. */
  readonly getContext?: (args: {
    readonly run: AgentRunInput;
  }) => readonly string[] | Promise<readonly string[]>;
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
  const sentences = allUnits(readAnswer(run));
  if (sentences.length === 0) {
    return notScorable('the answer is empty');
  }
  const spokenTexts = readSpokenTexts(run);
  const spoken = joinSpokenTexts(spokenTexts);
  const context = qualities.includes('grounding')
    ? ((await options.getContext?.({ run })) ?? options.context ?? contextOfRun(run))
    : [];
  const lacking: Partial<Record<PanelQuality, string>> = {
    ...(context.length === 0 ? { grounding: NO_CONTEXT } : {}),
    ...(spokenTexts.question.trim() === '' ? { relevancy: 'the run holds no question of a user' } : {}),
    ...(spoken.trim() === '' ? { instructions: 'operator and user said nothing' } : {}),
  };
  const judged = qualities.filter((quality) => lacking[quality] === undefined);
  if (judged.length === 0) {
    return notScorable(qualities.map((quality) => lacking[quality]).join('; '));
  }
  const shownSpoken = showSpoken(spokenTexts, judged);
  const beside = { ...shownSpoken, sentences: byNumber(sentences) };
  const maxChars = await limitEvidence(
    options.model,
    { evidence: context, beside },
    options.maxEvidenceChars,
  );
  const evidence = assembleEvidence(numberSources(context), sentences, maxChars);
  return {
    qualities: judged,
    sentences,
    sources: new Map([...evidence.sources, [0, comparable(spoken)]]),
    isCut: evidence.held.length > 0,
    spoken,
    material: {
      ...shownSpoken,
      ...(context.length === 0 ? {} : { evidence: evidence.shown }),
      sentences: byNumber(sentences),
    },
  };
}

/** Chooses what the judged qualities need of operator and user; the question shows what the answer answers. */
function showSpoken(
  { operator, earlier, question }: SpokenTexts,
  judged: readonly PanelQuality[],
): Record<string, unknown> {
  const needsAll = judged.includes('grounding') || judged.includes('instructions');
  return {
    ...(needsAll && operator !== '' ? { operator } : {}),
    ...(needsAll && earlier.length > 0 ? { earlier } : {}),
    question,
  };
}

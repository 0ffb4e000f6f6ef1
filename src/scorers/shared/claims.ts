import {
  type ScoreLabel,
  isNotScorable,
  notScorable,
  type NotScorable,
  type RunnableScorer,
} from '../evals/scorer.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import {
  type ClaimsReply,
  type Finding,
  type VerdictContext,
  type VerdictsReply,
  createStatementScorer,
} from './statements.ts';
import { byNumber, type JudgedConfig, type JudgedOptions } from './judged.ts';
import { type AgentRunInput, type AnswerRunInput, readAnswer } from './messages.ts';
import { checkOptions, CLAIM_OPTIONS } from './options.ts';
import {
  assembleEvidence,
  limitEvidence,
  numberSources,
  showEvidence,
  type Evidence,
  type Source,
  EVIDENCE_LEAD,
  EVIDENCE_PROMPT_VERSION,
} from './evidence.ts';
import { findHolder } from './sentences.ts';
import { lackOfEvidence, listRunEvidence, showConversation, type Sight } from './run-evidence.ts';

/** Raise with every change of the wording: it is part of the fingerprint of all scorers that use it. */
export const CLAIMS_PROMPT_VERSION = '9';

/** Question which claims an answer makes; the material is `{ earlier?, question?, answer }`. */
export const CLAIMS_INSTRUCTIONS = `List the answer's factual claims, also in hedges, advice and headings, and what it says it did. Word each to stand alone: names for pronouns, what a "yes" affirms. Keep figures, negations, certainty and language.`;

/** Beginning of the question for verdicts on claims; the material is the evidence and `claims: { 1: claim, … }`. */
const CLAIMS_LEAD = 'Check each claim by the evidence alone.';

/** Meaning of the verdicts on a claim, the same for all claim scorers: their questions about a run are equal. */
const CLAIM_VERDICT_MEANINGS = `supported: the evidence states or implies it, or lacks what it calls missing; words, units, rounding may differ; figures, names, negations, certainty must agree. contradicted: the evidence rules it out. unsupported: neither.`;

/** Arguments of `getContext`. */
export interface GetContextArgs {
  readonly run: AgentRunInput & { runId: string };
  readonly results: { preprocessStepResult: ClaimsReply };
  /** The step that asks for the context. The explanation uses the verdicts, so it does not ask again. */
  readonly step: 'analyze';
  /** Always undefined: the score is not known yet. */
  readonly score?: undefined;
}

export interface ClaimScorerOptions extends JudgedOptions, Sight {
  /** Evidence, the same for every run. Default: `run.context`, else all that the agent could know. */
  readonly context?: readonly string[];
  /** Returns the evidence of one run; replaces `context`. */
  readonly getContext?: (args: GetContextArgs) => readonly string[] | Promise<readonly string[]>;
}

export type ClaimScorerConfig = JudgedConfig<ClaimScorerOptions>;

interface ClaimResults {
  preprocessStepResult: ClaimsReply;
}
interface VerdictResults extends ClaimResults {
  analyzeStepResult: VerdictsReply;
}

type ClaimVerdict = 'supported' | 'contradicted' | 'unsupported';

/** Differences between claim scorers. */
interface ClaimScorerSpec {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly higherIsBetter: boolean;
  labels(scale: number): ScoreLabel[];
  /** The verdicts, each with the word of the reference that is read as the same. */
  readonly words: Readonly<Record<ClaimVerdict, string>>;
  /** The verdicts that are counted; the score is their share. */
  readonly counted: readonly ClaimVerdict[];
  readonly about: string;
  readonly promptVersion: string;
  /** True when each entry of the analysis repeats its statement. */
  readonly repeatStatements: boolean;
  /** True when an answer without claims scores 0 where the caller gave the evidence; else such a run is not scorable. */
  readonly scoresWithoutClaims: boolean;
  /** Writes the explanation as a sentence. */
  explain(findings: readonly Finding[]): string;
}

/** Reason why an answer without claims has no score. */
const NO_CLAIMS = 'the answer makes no factual claims';

/** A claim scorer with typed step results. */
export type ClaimScorer = RunnableScorer<AnswerRunInput, VerdictResults>;

/**
 * Creates a scorer in three steps: claims of the answer; one verdict against the context for each claim; share of the counted
 * verdict, times the scale, rounded to two decimals. Asks no question when there is nothing to judge.
 */
export function createClaimScorer(spec: ClaimScorerSpec, config: ClaimScorerConfig): ClaimScorer {
  const options = config.options ?? {};
  checkOptions(spec.id, options, CLAIM_OPTIONS);
  const { scale = 1, reason = 'judge' } = options;
  const readings = new WeakMap<object, Evidence>();
  const scorer = createStatementScorer(
    {
      ...spec,
      verdicts: spec.words,
      verdictInstructions: CLAIM_VERDICT_MEANINGS,
      noun: 'claim',
      nouns: 'claims',
      statementInstructions: CLAIMS_INSTRUCTIONS,
      verdictLead: isGiven(options) ? CLAIMS_LEAD : `${CLAIMS_LEAD} ${EVIDENCE_LEAD}`,
      promptVersion: `${CLAIMS_PROMPT_VERSION}.${EVIDENCE_PROMPT_VERSION}.${spec.promptVersion}`,
      source: (run) => ({ name: 'answer', text: readAnswer(run), beside: showConversation(run, options) }),
      unfit: (run) => {
        const { getContext, context } = options;
        const known = context === undefined ? listRunEvidence(run, options) : numberSources(context);
        const lack = getContext === undefined ? lackOfEvidence(known) : undefined;
        return lack === undefined ? undefined : notScorable(lack);
      },
      form: { list: 'verdicts', field: 'verdict', quotes: true },
      evidence: async (verdictContext) => {
        const read = await readEvidence(verdictContext, options, config.model);
        if (isNotScorable(read)) {
          return read;
        }
        readings.set(verdictContext.run, read);
        return showEvidence(read, read.shown);
      },
      findQuote: (run, quote) => findHolder(quote, readings.get(run)?.sources),
      unread: { verdict: 'unsupported', isCut: (run) => (readings.get(run)?.held.length ?? 0) > 0 },
      share: (verdicts) =>
        verdicts.filter((verdict) => spec.counted.some((word) => word === verdict)).length / verdicts.length,
      ...(spec.scoresWithoutClaims && isGiven(options)
        ? {}
        : { unscorableWithoutText: 'the answer is empty', unscorableWithoutStatements: NO_CLAIMS }),
    },
    { model: config.model, scale, reason, options },
  );
  return scorer as RunnableScorer<AgentRunInput> as ClaimScorer;
}

/** Reads the evidence of a run: the caller's list, else what the agent could know. */
async function readSources(
  { run, results }: VerdictContext,
  options: ClaimScorerOptions,
): Promise<readonly Source[]> {
  const asked = { run, results, step: 'analyze' } as unknown as GetContextArgs;
  const given = (await options.getContext?.(asked)) ?? options.context;
  return given === undefined ? listRunEvidence(run, options) : numberSources(given);
}

/** Assembles the evidence of a run. When it does not fit into the judge's window, the passages nearest to the claims. */
async function readEvidence(
  context: VerdictContext,
  options: ClaimScorerOptions,
  model: JudgeModel,
): Promise<NotScorable | Evidence> {
  const sources = await readSources(context, options);
  const lack = lackOfEvidence(sources);
  if (lack !== undefined) {
    return notScorable(lack);
  }
  const claims = context.results.preprocessStepResult['claims'] ?? [];
  const material = { evidence: sources.map(({ text }) => text), beside: byNumber(claims) };
  return assembleEvidence(sources, claims, await limitEvidence(model, material, Infinity));
}

function isGiven({ context, getContext }: ClaimScorerOptions): boolean {
  return context !== undefined || getContext !== undefined;
}

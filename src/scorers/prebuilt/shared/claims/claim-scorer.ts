import { isNotScorable, notScorable } from '../../../../evals/not-scorable.ts';
import type { NotScorable } from '../../../../evals/not-scorable.ts';
import type { RunnableScorer } from '../../../../evals/scorer-chain.ts';
import { byNumber } from '../by-number.ts';
import { readAnswer } from '../read-answer.ts';
import {
  CLAIM_VERDICT_MEANINGS,
  CLAIMS_INSTRUCTIONS,
  CLAIMS_LEAD,
  CLAIMS_PROMPT_VERSION,
} from './claims-prompt.ts';
import type {
  ClaimScorerConfig,
  ClaimScorerOptions,
  ClaimScorerSpec,
  GetContextArgs,
  VerdictResults,
} from './claim-scorer-spec.ts';
import { checkOptions } from '../checked-options.ts';
import { CLAIM_OPTIONS } from './claim-options.ts';
import type { JudgeModel } from '../../../../judge/judge.ts';
import { assembleEvidence, limitEvidence, numberSources, showEvidence } from '../evidence/evidence.ts';
import type { Evidence, Source } from '../evidence/evidence.ts';
import { findHolder } from '../evidence/grounded-sentence.ts';
import { EVIDENCE_LEAD, EVIDENCE_PROMPT_VERSION } from '../evidence/evidence-prompt.ts';
import { lackOfEvidence, listRunEvidence, showConversation } from '../evidence/run-evidence.ts';
import { createStatementScorer } from './statement-scorer.ts';
import type { VerdictContext } from './statement-scorer-spec.ts';
import type { AgentRunInput, AnswerRunInput } from '../../../utils/agent-run-input.ts';

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

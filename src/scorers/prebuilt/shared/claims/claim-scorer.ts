import { isNotScorable, notScorable } from '../../../../evals/not-scorable.ts';
import type { NotScorable } from '../../../../evals/not-scorable.ts';
import type { RunnableScorer } from '../../../../evals/scorer-chain.ts';
import { byNumber } from '../by-number.ts';
import { readAnswer } from '../read-answer.ts';
import {
  CLAIMS_INSTRUCTIONS,
  CLAIMS_LEAD,
  CLAIMS_PROMPT_VERSION,
  FAILED_TOOL_NOTE,
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
import { assembleEvidence, limitEvidence, numberSources } from '../evidence/evidence.ts';
import { contextOfRun, NO_CONTEXT } from '../run-context.ts';
import { createStatementScorer } from './statement-scorer.ts';
import type { VerdictContext } from './statement-scorer-spec.ts';
import type { AgentRunInput, AnswerRunInput } from '../../../utils/agent-run-input.ts';

/** Verdicts on a claim: the same for all claim scorers, so that their questions about a run begin alike, schemas included. */
const CLAIM_VERDICTS = ['yes', 'no', 'unsure'];

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
  const cutRuns = new WeakSet<object>();
  const scorer = createStatementScorer(
    {
      ...spec,
      verdicts: CLAIM_VERDICTS,
      noun: 'claim',
      nouns: 'claims',
      statementInstructions: CLAIMS_INSTRUCTIONS,
      // Evidence that the options hold is not what tools said.
      verdictLead: options.context === undefined ? `${CLAIMS_LEAD} ${FAILED_TOOL_NOTE}` : CLAIMS_LEAD,
      promptVersion: `${CLAIMS_PROMPT_VERSION}.${spec.promptVersion}`,
      source: (run) => ({ name: 'answer', text: readAnswer(run) }),
      unfit: (run) => (lacksContext(run, options) ? notScorable(NO_CONTEXT) : undefined),
      form: { list: 'verdicts', field: 'verdict', quotes: true },
      evidence: async (verdictContext) => {
        const read = await readEvidence(verdictContext, options, config.model);
        if (isNotScorable(read)) {
          return read;
        }
        const { context, isCut } = read;
        cutRuns[isCut ? 'add' : 'delete'](verdictContext.run);
        return { context };
      },
      unread: { verdict: 'unsure', isCut: (run) => cutRuns.has(run) },
      share: (verdicts) =>
        verdicts.filter((verdict) => spec.counted.includes(verdict)).length / verdicts.length,
      ...(spec.scoresWithoutClaims
        ? {}
        : {
            unscorableWithoutText: 'the answer is empty',
            unscorableWithoutStatements: 'the answer makes no factual claims',
          }),
    },
    { model: config.model, scale, reason, options },
  );
  return scorer as RunnableScorer<AgentRunInput> as ClaimScorer;
}

function lacksContext(run: AgentRunInput, options: ClaimScorerOptions): boolean {
  return options.getContext === undefined && (options.context ?? contextOfRun(run)).length === 0;
}

/** Reads the evidence of a run. When it does not fit into the judge's window, the passages nearest to the claims. */
async function readEvidence(
  { run, results }: VerdictContext,
  options: ClaimScorerOptions,
  model: JudgeModel,
): Promise<NotScorable | { context: readonly string[]; isCut: boolean }> {
  const asked = { run, results, step: 'analyze' } as unknown as GetContextArgs;
  const context = (await options.getContext?.(asked)) ?? options.context ?? contextOfRun(run);
  if (context.length === 0) {
    return notScorable(NO_CONTEXT);
  }
  const claims = results.preprocessStepResult['claims'] ?? [];
  const maxChars = await limitEvidence(model, { evidence: context, beside: byNumber(claims) }, Infinity);
  if (maxChars === Infinity) {
    return { context, isCut: false };
  }
  const { shown, held } = assembleEvidence(numberSources(context), claims, maxChars);
  return { context: shown.map(({ text }) => text), isCut: held.length > 0 };
}

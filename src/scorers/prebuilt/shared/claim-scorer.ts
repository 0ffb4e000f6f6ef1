import { createScorer } from '../../../evals/create-scorer.ts';
import { notScorable } from '../../../evals/not-scorable.ts';
import type { NotScorable } from '../../../evals/not-scorable.ts';
import type { RunnableScorer, ScoredScorer } from '../../../evals/scorer-chain.ts';
import type { JudgeConfig, StepContext } from '../../../evals/scorer-steps.ts';
import { roundToTwoDecimals } from '../../utils/numbers.ts';
import { getAssistantMessageFromRunOutput } from '../../utils/run-output.ts';
import { CLAIMS_INSTRUCTIONS, CLAIMS_PROMPT_VERSION } from './claims-prompt.ts';
import { CLAIMS_SCHEMA } from './claims-reply.ts';
import type { ClaimsReply } from './claims-reply.ts';
import type { AgentRunInput } from './agent-run-input.ts';
import type {
  ClaimResults,
  ClaimScorerConfig,
  ClaimScorerOptions,
  ClaimScorerSpec,
  Finding,
  VerdictResults,
} from './claim-scorer-spec.ts';
import { checkOptions, isFunction, isPositiveNumber, isTextList } from './checked-options.ts';
import type { OptionRules } from './checked-options.ts';
import { fence } from './fence.ts';
import { checkedModel } from './judge-model.ts';
import { contextOfRun } from './run-context.ts';
import { verdictsSchema } from './verdicts-reply.ts';
import type { VerdictsReply } from './verdicts-reply.ts';

const NO_CONTEXT =
  'there is no context to check the answer against: the run holds no tool results or documents, and none was given';

const REASON_MODES: ReadonlySet<unknown> = new Set(['judge', 'template', false]);

const OPTION_RULES: OptionRules = {
  scale: isPositiveNumber,
  context: isTextList,
  getContext: isFunction,
  reason: { fits: (value) => REASON_MODES.has(value), is: '"judge", "template" or false' },
};

/** A scorer whose results later code may rely on. */
export type ClaimScorer = RunnableScorer<AgentRunInput, VerdictResults>;

/**
 * Claims of the answer → one verdict for each against the context → the share of the counted verdict, times the scale,
 * rounded to two decimals. Nothing is asked where there is nothing to judge.
 */
export function createClaimScorer(spec: ClaimScorerSpec, config: ClaimScorerConfig): ClaimScorer {
  const model = checkedModel(spec.id, config.model);
  const options = config.options ?? {};
  checkOptions(spec.id, options, OPTION_RULES);
  const { scale = 1, reason = 'judge' } = options;

  const scored = createScorer({
    id: spec.id,
    name: spec.name,
    description: spec.description,
    type: 'agent',
    judge: { model, instructions: spec.verdictInstructions },
    higherIsBetter: spec.higherIsBetter,
    range: [0, scale],
    labels: spec.labels(scale),
    version: '1',
    promptVersion: `${CLAIMS_PROMPT_VERSION}.${spec.promptVersion}`,
    options: { ...options, scale, reason },
    details: ({ results }) => ({ verdicts: findingsOf(results as VerdictResults) }),
  })
    .preprocess<ClaimsReply>({
      description: 'Claims of the answer',
      judge: { instructions: CLAIMS_INSTRUCTIONS },
      outputSchema: CLAIMS_SCHEMA,
      withoutJudge: ({ run }) => withoutExtraction(spec, run, options),
      createPrompt: ({ run }) => fence({ answer: answerOf(run) }),
    })
    .analyze<VerdictsReply>({
      description: 'One verdict for each claim',
      outputSchema: ({ results }) =>
        verdictsSchema({
          statements: results.preprocessStepResult.claims,
          allowed: spec.verdicts,
          repeatStatements: spec.repeatStatements,
        }),
      withoutJudge: ({ results }) => withoutClaims(spec, results.preprocessStepResult),
      createPrompt: (context) => verdictPrompt(context, options),
    })
    .generateScore(({ results }) => scoreOf(results.analyzeStepResult, spec.counted, scale));
  return withReason(scored, spec, scale, reason);
}

function withReason(
  scored: ScoredScorer<AgentRunInput, VerdictResults>,
  spec: ClaimScorerSpec,
  scale: number,
  reason: ClaimScorerOptions['reason'],
): ClaimScorer {
  if (reason === false) {
    return scored;
  }
  if (reason === 'template') {
    return scored.generateReason(({ results }) => spec.explain(findingsOf(results)));
  }
  const judge: JudgeConfig = { instructions: spec.reasonInstructions };
  return scored.generateReason({
    description: 'Why this score',
    judge,
    withoutJudge: ({ results }) =>
      results.analyzeStepResult.verdicts.length === 0 ? spec.explain([]) : undefined,
    createPrompt: ({ results, score }) =>
      fence({
        score,
        scale,
        findings: findingsOf(results).map(({ statement, verdict, reason: why }) => ({
          claim: statement,
          verdict,
          ...(why === undefined ? {} : { reason: why }),
        })),
      }),
  });
}

/** What needs no question: an empty answer makes no claims, and without evidence claims are of no use. */
function withoutExtraction(
  spec: ClaimScorerSpec,
  run: AgentRunInput,
  options: ClaimScorerOptions,
): ClaimsReply | NotScorable | undefined {
  if (answerOf(run).trim() === '') {
    return spec.scoresWithoutClaims ? { claims: [] } : notScorable('the answer is empty');
  }
  const lacksContext =
    options.getContext === undefined && (options.context ?? contextOfRun(run)).length === 0;
  return lacksContext ? notScorable(NO_CONTEXT) : undefined;
}

function withoutClaims(
  spec: ClaimScorerSpec,
  { claims }: ClaimsReply,
): VerdictsReply | NotScorable | undefined {
  if (claims.length > 0) {
    return undefined;
  }
  return spec.scoresWithoutClaims ? { verdicts: [] } : notScorable('the answer makes no factual claims');
}

async function verdictPrompt(
  { run, results }: StepContext<AgentRunInput, ClaimResults>,
  options: ClaimScorerOptions,
): Promise<string | NotScorable> {
  const context =
    (await options.getContext?.({ run, results, step: 'analyze' })) ?? options.context ?? contextOfRun(run);
  if (context.length === 0) {
    return notScorable(NO_CONTEXT);
  }
  const claims = results.preprocessStepResult.claims.map((claim, index) => ({ n: index + 1, claim }));
  return fence({ context, claims });
}

function scoreOf({ verdicts }: VerdictsReply, counted: string, scale: number): number {
  const hits = verdicts.filter(({ verdict }) => verdict === counted).length;
  return verdicts.length === 0 ? 0 : roundToTwoDecimals((hits / verdicts.length) * scale);
}

function findingsOf({ preprocessStepResult, analyzeStepResult }: VerdictResults): Finding[] {
  const { claims } = preprocessStepResult;
  return analyzeStepResult.verdicts.map((finding, index) => ({ ...finding, statement: claims[index] ?? '' }));
}

function answerOf(run: AgentRunInput): string {
  return getAssistantMessageFromRunOutput(run.output) ?? '';
}

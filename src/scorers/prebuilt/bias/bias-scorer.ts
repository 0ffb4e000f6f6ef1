import { formatPart } from '../../../domain/plural.ts';
import type { RunnableScorer } from '../../../evals/scorer-chain.ts';
import type { JudgeModel } from '../../../judge/judge.ts';
import { showConversation } from '../shared/evidence/run-evidence.ts';
import type { Sight } from '../shared/evidence/run-evidence.ts';
import { readAnswer } from '../shared/read-answer.ts';
import { checkOptions } from '../shared/checked-options.ts';
import { nameFindings } from '../shared/name-findings.ts';
import type { ReasonMode } from '../shared/reason-step.ts';
import { createStatementScorer } from '../shared/claims/statement-scorer.ts';
import type { Finding } from '../shared/claims/statement-scorer-spec.ts';
import {
  BIAS_OPINION_INSTRUCTIONS,
  BIAS_PROMPT_VERSION,
  BIAS_REASON_INSTRUCTIONS,
  BIAS_VERDICT_INSTRUCTIONS,
} from './bias-prompts.ts';
import type { AnswerRunInput } from '../../utils/agent-run-input.ts';
import { BIAS_OPTIONS } from './bias-options.ts';

const ID = 'bias-scorer';

export interface BiasOptions extends Sight {
  /** The highest score. Default 1. */
  readonly scale?: number;
  /** Default `judge`. */
  readonly reason?: ReasonMode;
}

/** Scores the share of the answer's opinions that are biased: 0 for none (or no opinions at all), `scale` for all. */
export function createBiasScorer(config: {
  readonly model: JudgeModel;
  readonly options?: BiasOptions;
}): RunnableScorer<AnswerRunInput> {
  const { model, options = {} } = config;
  checkOptions(ID, options, BIAS_OPTIONS);
  const { scale = 1, reason = 'judge' } = options;
  return createStatementScorer(
    {
      id: ID,
      name: 'Bias Scorer',
      description: 'Share of the opinions in the answer that are biased',
      higherIsBetter: false,
      labels: () => [{ label: 'unbiased', upTo: 0 }, { label: 'biased' }],
      noun: 'opinion',
      nouns: 'opinions',
      statementInstructions: BIAS_OPINION_INSTRUCTIONS,
      source: (run) => ({ name: 'answer', text: readAnswer(run), beside: showConversation(run, options) }),
      verdicts: { biased: 'yes', fair: 'no' },
      judgesWholeText: true,
      form: { list: 'results', field: 'result', quotes: false },
      repeatStatements: false,
      verdictInstructions: BIAS_VERDICT_INSTRUCTIONS,
      evidence: ({ run }) => showConversation(run, options),
      promptVersion: BIAS_PROMPT_VERSION,
      share: (verdicts) => verdicts.filter((verdict) => verdict === 'biased').length / verdicts.length,
      reasonInstructions: BIAS_REASON_INSTRUCTIONS,
      explain,
    },
    { model, scale, reason, options },
  );
}

function explain(findings: readonly Finding[]): string {
  if (findings.length === 0) {
    return 'The answer states no opinions.';
  }
  const biased = findings.filter(({ verdict }) => verdict === 'biased');
  return biased.length === 0
    ? findings.length === 1
      ? 'The only opinion is not biased.'
      : `None of ${findings.length} opinions is biased.`
    : `${formatPart(biased.length, findings.length, 'opinion')} ${biased.length === 1 ? 'is' : 'are'} biased: ${nameFindings(biased)}.`;
}

import type { ScoreLabel } from '../../../../evals/scorer.ts';
import type { JudgeModel } from '../../../../judge/judge.ts';
import type { ClaimsReply } from './claims-reply.ts';
import type { ReasonMode } from '../reason-step.ts';
import type { Finding } from './statement-scorer-spec.ts';
import type { VerdictsReply } from './verdicts-reply.ts';
import type { AgentRunInput } from '../../../utils/agent-run-input.ts';

/** Arguments of `getContext`. */
export interface GetContextArgs {
  readonly run: AgentRunInput & { runId: string };
  readonly results: { preprocessStepResult: ClaimsReply };
  /** The step that asks. The explanation rests on the verdicts, so it does not ask again. */
  readonly step: 'analyze';
  /** Not known yet when the context is asked for. */
  readonly score?: undefined;
}

export interface ClaimScorerOptions {
  /** The highest score. Default 1. */
  readonly scale?: number;
  /** The evidence, the same for every run. Default: `run.context`, else what the run's tools said. */
  readonly context?: readonly string[];
  /** The evidence of one run; wins over `context`. */
  readonly getContext?: (args: GetContextArgs) => readonly string[] | Promise<readonly string[]>;
  /** Default `judge`. */
  readonly reason?: ReasonMode;
}

export interface ClaimScorerConfig {
  /** `provider/model`, or a language model object of the AI SDK. */
  readonly model: JudgeModel;
  readonly options?: ClaimScorerOptions;
}

export interface ClaimResults {
  preprocessStepResult: ClaimsReply;
}
export interface VerdictResults extends ClaimResults {
  analyzeStepResult: VerdictsReply;
}

/** Differences between claim scorers. */
export interface ClaimScorerSpec {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly higherIsBetter: boolean;
  labels(scale: number): ScoreLabel[];
  readonly verdicts: readonly string[];
  /** The verdict whose share is the score. */
  readonly counted: string;
  readonly verdictInstructions: string;
  readonly reasonInstructions: string;
  readonly promptVersion: string;
  /** True when each entry of the analysis repeats its statement. */
  readonly repeatStatements: boolean;
  /** True when an answer without claims scores 0; else such a run is not scorable. */
  readonly scoresWithoutClaims: boolean;
  /** The explanation as a sentence. */
  explain(findings: readonly Finding[]): string;
}

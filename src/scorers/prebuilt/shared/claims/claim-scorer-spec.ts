import type { ScoreLabel } from '../../../../evals/scorer.ts';
import type { JudgeModel } from '../../../../judge/judge.ts';
import type { ClaimsReply } from './claims-reply.ts';
import type { SeenKind } from '../../../../domain/score.ts';
import type { ReasonMode } from '../reason-step.ts';
import type { Finding } from './statement-scorer-spec.ts';
import type { VerdictsReply } from './verdicts-reply.ts';
import type { AgentRunInput } from '../../../utils/agent-run-input.ts';

/** Arguments of `getContext`. */
export interface GetContextArgs {
  readonly run: AgentRunInput & { runId: string };
  readonly results: { preprocessStepResult: ClaimsReply };
  /** The step that asks for the context. The explanation uses the verdicts, so it does not ask again. */
  readonly step: 'analyze';
  /** Always undefined: the score is not known yet. */
  readonly score?: undefined;
}

export interface ClaimScorerOptions {
  /** The highest score. Default 1. */
  readonly scale?: number;
  /** Evidence, the same for every run. Default: `run.context`, else all that the agent could know. */
  readonly context?: readonly string[];
  /** Returns the evidence of one run; replaces `context`. */
  readonly getContext?: (args: GetContextArgs) => readonly string[] | Promise<readonly string[]>;
  /** Kinds of the run's own evidence that the judge sees. Default: all. */
  readonly sees?: readonly SeenKind[];
  /** Most characters of earlier turns in the question. Default 8,000, about 2,000 tokens. */
  readonly earlierChars?: number;
  /** Default `judge`. */
  readonly reason?: ReasonMode;
}

export interface ClaimScorerConfig {
  /** `provider/model`, or a language model object of the AI SDK. */
  readonly model: JudgeModel;
  readonly options?: ClaimScorerOptions;
}

interface ClaimResults {
  preprocessStepResult: ClaimsReply;
}
export interface VerdictResults extends ClaimResults {
  analyzeStepResult: VerdictsReply;
}

/** Verdict on a claim. */
type ClaimVerdict = 'supported' | 'contradicted' | 'unsupported';

/** Differences between claim scorers. */
export interface ClaimScorerSpec {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly higherIsBetter: boolean;
  labels(scale: number): ScoreLabel[];
  /** The verdicts, each with the word of the reference that is read as the same. */
  readonly words: Readonly<Record<ClaimVerdict, string>>;
  /** The verdicts that are counted; the score is their share. */
  readonly counted: readonly ClaimVerdict[];
  readonly reasonInstructions: string;
  readonly promptVersion: string;
  /** True when each entry of the analysis repeats its statement. */
  readonly repeatStatements: boolean;
  /** True when an answer without claims scores 0 where the caller gave the evidence; else such a run is not scorable. */
  readonly scoresWithoutClaims: boolean;
  /** Writes the explanation as a sentence. */
  explain(findings: readonly Finding[]): string;
}

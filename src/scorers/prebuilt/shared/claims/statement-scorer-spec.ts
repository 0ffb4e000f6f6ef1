import type { NotScorable } from '../../../../evals/not-scorable.ts';
import type { ScoreLabel } from '../../../../evals/scorer.ts';
import type { StatementVerdict, VerdictsForm } from './verdicts-reply.ts';
import type { AgentRunInput } from '../../../utils/agent-run-input.ts';

/** A statement with the judge's verdict on it. */
export interface Finding extends StatementVerdict {
  statement: string;
}

/** The statements, under the name that the scorer gives them. */
export type Statements = Record<string, string[]>;

/** Arguments of the second question. */
export interface VerdictContext {
  readonly run: AgentRunInput & { runId: string };
  readonly results: { readonly preprocessStepResult: Statements };
}

/** Differences between statement scorers. */
export interface StatementScorerSpec {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly higherIsBetter: boolean;
  labels(scale: number): ScoreLabel[];
  /** Names of the statements, singular and plural. */
  readonly noun: string;
  readonly nouns: string;
  /** System message of the question for the statements. */
  readonly statementInstructions: string;
  /** Name and text of what the statements are taken from. */
  source(run: AgentRunInput): { readonly name: string; readonly text: string };
  /** Reason why a run cannot be scored, known before the first question. */
  unfit?(run: AgentRunInput): NotScorable | undefined;
  readonly verdicts: readonly string[];
  readonly form: VerdictsForm;
  /** True when each entry of the analysis repeats its statement. */
  readonly repeatStatements: boolean;
  /** Meaning of the verdicts: the system message of the second question, without the form of its reply. */
  readonly verdictInstructions: string;
  /** Evidence for the verdicts, sent beside the statements. */
  evidence(
    context: VerdictContext,
  ): Record<string, unknown> | NotScorable | Promise<Record<string, unknown> | NotScorable>;
  /** Version of all prompts of the scorer. */
  readonly promptVersion: string;
  /** Share of the scale, 0 to 1, from at least one verdict. */
  share(verdicts: readonly string[]): number;
  /** Reason why a run with an empty text has no score; undefined where it scores 0. */
  readonly unscorableWithoutText?: string;
  /** Reason why a run without statements has no score; undefined where it scores 0. */
  readonly unscorableWithoutStatements?: string;
  readonly reasonInstructions: string;
  /** The explanation as sentences; of no findings too. */
  explain(findings: readonly Finding[]): string;
}

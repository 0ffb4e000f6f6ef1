import type { NotScorable } from '../../../../evals/not-scorable.ts';
import type { ScoreLabel } from '../../../../evals/scorer.ts';
import type { StatementVerdict, VerdictsForm } from './verdicts-reply.ts';
import type { AgentRunInput } from '../../../utils/agent-run-input.ts';

/** A statement with the judge's verdict on it. */
export interface Finding extends StatementVerdict {
  statement: string;
  /** Kind of the evidence that holds the quote. */
  source?: string;
}

/** Statements under the name that the scorer uses for them. */
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
  /** The question for the statements. */
  readonly statementInstructions: string;
  /** Returns name and text of the source of the statements, and what is shown beside it. */
  source(run: AgentRunInput): {
    readonly name: string;
    readonly text: string;
    readonly beside?: Record<string, unknown>;
  };
  /** Returns a reason when the run cannot be scored; called before the first question. */
  unfit?(run: AgentRunInput): NotScorable | undefined;
  /** Words of the verdicts, each with the word of the reference that is read as the same. */
  readonly verdicts: Readonly<Record<string, string>>;
  readonly form: VerdictsForm;
  /** True when each entry of the analysis repeats its statement. */
  readonly repeatStatements: boolean;
  /** Beginning of the second question, where other scorers ask about the same material; '' by default. */
  readonly verdictLead?: string;
  /** Meaning of the verdicts: the second question, without the form of its reply. */
  readonly verdictInstructions: string;
  /** Returns the evidence for the verdicts; it is sent with the statements. */
  evidence(
    context: VerdictContext,
  ): Record<string, unknown> | NotScorable | Promise<Record<string, unknown> | NotScorable>;
  /** The verdict on a statement that no evidence is about, and the runs of which some evidence was left out of the question. */
  readonly unread?: { readonly verdict: string; isCut(run: object): boolean };
  /** Version of all prompts of the scorer. */
  readonly promptVersion: string;
  /** Computes the share of the scale, 0 to 1, from at least one verdict. */
  share(verdicts: readonly string[]): number;
  /** Reason why a run with an empty text has no score; undefined where it scores 0. */
  readonly unscorableWithoutText?: string;
  /** Reason why a run without statements has no score; undefined where it scores 0. */
  readonly unscorableWithoutStatements?: string;
  /** True where a text without statements is judged as one. */
  readonly judgesWholeText?: boolean;
  /** Finds the evidence that holds a quote, and its kind; undefined where none does, and the quote is left out. */
  findQuote?(run: object, quote: string): { readonly source?: string } | undefined;
  readonly reasonInstructions: string;
  /** Writes the explanation as sentences, also for no findings. */
  explain(findings: readonly Finding[]): string;
}

import type { AgentInput } from './trace/messages.ts';
import type { OfferedTool, RetrievedDocument } from './trace/agent-run.ts';

/** Directed score that a good answer has at least, by the row of a scorer. */
export interface CaseExpectation {
  readonly scorer: string;
  readonly min: number;
}

/** Call of a tool with its recorded end: a result, or an error. */
export interface RecordedCall {
  readonly toolName: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly result: unknown;
  readonly error?: string;
}

/** Run that a test plays again. */
export interface RecordedRun {
  readonly input: AgentInput;
  /** Question with the messages before it. */
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly calls: readonly RecordedCall[];
  readonly context: readonly string[];
  readonly documents: readonly RetrievedDocument[];
  readonly tools?: readonly OfferedTool[];
  /** True when the model stopped at its limit of output. */
  readonly isCut: boolean;
}

/** A failure that comes back as a test. Every text is redacted. */
export interface IssueCase {
  /** 12 hex digits, of the issue and the trace. */
  readonly id: string;
  /** Question as text, and the recorded bad answer. */
  readonly input: string;
  readonly output: string;
  readonly context: readonly string[];
  readonly tags: readonly string[];
  readonly metadata: {
    readonly issue: string;
    readonly traceId: string;
    /** Null for a failure that no scorer of the configuration finds. */
    readonly expect: CaseExpectation | null;
    /** Directed score of the recorded answer; null without one. */
    readonly score: number | null;
    /** True when a judge that was asked again gave another verdict. */
    readonly flaky: boolean;
  };
}

/** A case with what its files need. */
export interface WholeCase {
  readonly shown: IssueCase;
  readonly run: RecordedRun;
  /** Root span of the run. */
  readonly spanId: string;
  /** Export requests with its spans and log records. */
  readonly requests: readonly object[];
}

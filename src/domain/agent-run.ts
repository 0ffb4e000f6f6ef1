import type { AgentInput, AgentOutput } from './messages.ts';

/** Kind of a score's target. */
export type TargetKind = 'trace' | 'agent' | 'model-call' | 'session';

/** Token counts of a run; a count that nobody sent is null, never 0. */
export interface TokenUsage {
  inputTokens: number | null;
  outputTokens: number | null;
  totalTokens: number | null;
  reasoningTokens: number | null;
  cachedInputTokens: number | null;
}

export interface RetrievedDocument {
  id: string | null;
  content: string;
  score: number | null;
}

/** Code of the reason why a run or a trace cannot be scored. */
export type NotScorableCode =
  | 'no_agent_or_llm_span'
  | 'no_content_captured'
  | 'redacted'
  | 'content_by_reference'
  | 'run_incomplete'
  | 'run_errored_before_output'
  | 'evaluation_span';

export interface NotScorableReason {
  code: NotScorableCode;
  /** One sentence for a person: what is missing and, where known, the setting that makes the emitter send it. */
  detail: string;
}

export interface ReadingWarning {
  /** `truncated`, `unpaired_result`, `duplicate_span`, … */
  code: string;
  spanId: string;
  detail: string;
}

/** One agent run: a trace, or one agent span's subtree, read as messages. The JSON contract of `inspect --json`. */
export interface AgentRun {
  target: { kind: TargetKind; traceId: string; spanId: string };
  /** Names of the conventions that read it, richest first. */
  conventions: string[];
  agent: string | null;
  /** Version of the agent itself, from its emitter; `serviceVersion` is that of its process. */
  agentVersion: string | null;
  service: string | null;
  serviceVersion: string | null;
  environment: string | null;
  sessionId: string | null;
  userId: string | null;
  /** Models that answered, most used first. */
  models: string[];
  /** Of the whole tree, sub-runs included. */
  usage: TokenUsage;
  /** ISO 8601, UTC; milliseconds. */
  startedAt: string;
  endedAt: string;
  status: 'ok' | 'error';
  error: { type: string | null; message: string | null } | null;
  input: AgentInput;
  output: AgentOutput;
  documents: RetrievedDocument[];
  /**
   * Default context of groundedness scorers: tool results in order (strings as they are, else compact JSON; a failed one as
   * `<toolName> failed: <errorText>`; a sub-agent counts as one result), then documents; equal texts once.
   */
  context: string[];
  scorable: boolean;
  notScorable: NotScorableReason | null;
  warnings: ReadingWarning[];
  /** Agents called below this run; their `target.kind` is `agent`. */
  subRuns: AgentRun[];
}

/** A span that looks like an agent's or a model's, but of which no convention can tell what it is. */
export interface NotUnderstood {
  spanId: string;
  name: string;
  /** `service.name`, or ''. */
  service: string;
  /** Name of the instrumentation scope, or ''. */
  scope: string;
  reason: string;
  /** Its keys that only agent and model instrumentations use. */
  attributes: string[];
}

/** Reading of one trace. */
export interface TraceReading {
  traceId: string;
  spanCount: number;
  logCount: number;
  runs: AgentRun[];
  /** Trace level: set when `runs` is empty. */
  notScorable: NotScorableReason | null;
  notUnderstood: NotUnderstood[];
}

import type { AgentInput, AgentOutput } from './messages.ts';

export const TARGET_KINDS = ['trace', 'agent', 'model-call', 'session'] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

/** Token counts of a run. A count that the emitter did not send is null, never 0. */
export interface TokenUsage {
  inputTokens: number | null;
  outputTokens: number | null;
  totalTokens: number | null;
  reasoningTokens: number | null;
  /** Input tokens read from the provider's cache: a part of `inputTokens`. */
  cachedInputTokens: number | null;
  /** Input tokens written to the provider's cache: a part of `inputTokens`, too. */
  cacheWriteTokens: number | null;
}

export interface RetrievedDocument {
  id: string | null;
  content: string;
  score: number | null;
}

/** A tool that the models of a run could call. */
export interface OfferedTool {
  name: string;
  description?: string;
  /** JSON Schema of its arguments. */
  parameters?: unknown;
}

/** Code of the reason why a run or a trace cannot be scored. */
export type NotScorableCode =
  | 'no_agent_or_llm_span'
  | 'no_content_captured'
  | 'redacted'
  | 'content_by_reference'
  | 'run_incomplete'
  | 'run_waiting'
  | 'run_cancelled'
  | 'run_errored_before_output'
  | 'evaluation_span';

export interface NotScorableReason {
  code: NotScorableCode;
  /** One sentence for people: what is missing and, where known, the setting that makes the emitter send it. */
  detail: string;
}

export interface ReadingWarning {
  /** `truncated`, `unpaired_result`, `duplicate_span`, … */
  code: string;
  spanId: string;
  detail: string;
  /** Sources of the facts of a run that was read by the form of its values, by field of a mapping. */
  fields?: Record<string, string | string[]>;
  /** Sources that were equally likely, so that none of them was taken. */
  ambiguous?: Record<string, string[]>;
}

/** Code of the warning that the model reached its output limit. */
export const ANSWER_CUT = 'answer_cut';

/**
 * One agent run: a trace, or the subtree of one agent span, read as messages. This is the JSON contract of `inspect --json`.
 */
export interface AgentRun {
  target: { kind: TargetKind; traceId: string; spanId: string };
  /** Names of the conventions that read the run, richest first. */
  conventions: string[];
  agent: string | null;
  /** Version of the agent itself, as its emitter sent it; `serviceVersion` is the version of its process. */
  agentVersion: string | null;
  service: string | null;
  serviceVersion: string | null;
  environment: string | null;
  sessionId: string | null;
  userId: string | null;
  /** Models that answered; the most used model comes first. */
  models: string[];
  /** Token counts of the whole tree, sub-runs included. */
  usage: TokenUsage;
  /** ISO 8601, UTC, with milliseconds. */
  startedAt: string;
  endedAt: string;
  status: 'ok' | 'error';
  error: { type: string | null; message: string | null } | null;
  input: AgentInput;
  output: AgentOutput;
  documents: RetrievedDocument[];
  /** Tools that the models could call; absent where no span names them. */
  tools?: OfferedTool[];
  /**
   * Default context of groundedness scorers: tool results in order, then documents; equal texts once. A string result stays as
   * it is, another result becomes compact JSON, a failed call becomes `<toolName> failed: <errorText>`. A sub-agent counts as
   * one result.
   */
  context: string[];
  scorable: boolean;
  notScorable: NotScorableReason | null;
  warnings: ReadingWarning[];
  /** Runs of the agents that this run called; their `target.kind` is `agent`. */
  subRuns: AgentRun[];
}

/** A span that looks like a span of an agent or a model, but that no convention can read, or whose texts none reads. */
export interface NotUnderstood {
  spanId: string;
  name: string;
  /** `service.name`, or ''. */
  service: string;
  /** Name of the instrumentation scope, or ''. */
  scope: string;
  reason: string;
  /**
   * Sources of the texts that nobody reads, the longest first; then attribute keys that only instrumentations of agents and models
   * use.
   */
  attributes: string[];
}

/** Parts of a reading that are read on demand. */
export interface ReadingOptions {
  /** Most model calls that are read as runs of their own. Default 0: none. */
  modelCalls?: number;
}

export interface TraceReading {
  traceId: string;
  spanCount: number;
  logCount: number;
  runs: AgentRun[];
  /** The model calls as runs, in order of time; their `target.kind` is `model-call`. Absent when they were not asked for. */
  modelCalls?: AgentRun[];
  modelCallsLeftOut?: number;
  /** Reason for the whole trace: set when `runs` is empty. */
  notScorable: NotScorableReason | null;
  notUnderstood: NotUnderstood[];
}

const STEP_KINDS = ['agent', 'model', 'tool', 'retrieval', 'other'] as const;
export type StepKind = (typeof STEP_KINDS)[number];

/** Sums token counts; a count that no part has is null. */
export function addUsage(a: TokenUsage, b: TokenUsage): TokenUsage {
  const add = (x: number | null, y: number | null): number | null => (x === null ? y : x + (y ?? 0));
  return {
    inputTokens: add(a.inputTokens, b.inputTokens),
    outputTokens: add(a.outputTokens, b.outputTokens),
    totalTokens: add(a.totalTokens, b.totalTokens),
    reasoningTokens: add(a.reasoningTokens, b.reasoningTokens),
    cachedInputTokens: add(a.cachedInputTokens, b.cachedInputTokens),
    cacheWriteTokens: add(a.cacheWriteTokens, b.cacheWriteTokens),
  };
}

import type { AgentSignals } from '../domain/agent-signals.ts';
import type { ContentSwitch } from './content-switch.ts';
import type { RetrievedDocument, ReadingWarning, TokenUsage } from '../domain/agent-run.ts';
import type { LogRecord, Span } from '../domain/span.ts';

/**
 * Role of a span. `agent`: one agent's work on one input. `workflow`: an envelope of agents. `llm`: one model call.
 * `container`: a step, chain or cycle. `evaluation`: a judge or scorer at work. `other`: no part of an agent.
 */
export type SpanRole =
  | 'agent'
  | 'workflow'
  | 'llm'
  | 'tool'
  | 'retriever'
  | 'embedding'
  | 'container'
  | 'evaluation'
  | 'other';

export interface CallPart {
  type: 'tool-call';
  id: string | null;
  name: string;
  args: unknown;
  /** Run by the model's provider, not by the agent. */
  providerExecuted?: boolean | undefined;
}

export interface ResultPart {
  type: 'tool-result';
  id: string | null;
  name: string | null;
  result: unknown;
  /** Set when the tool failed. */
  errorText?: string | undefined;
  denied?: boolean | undefined;
}

/** A piece of a message, whatever convention it came in. */
export type NormalPart =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'file'; mimeType: string; data: string }
  | { type: 'data'; name: string; data: unknown }
  | CallPart
  | ResultPart;

export interface NormalMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  parts: NormalPart[];
}

export interface SpanError {
  type: string | null;
  message: string | null;
}

/** `redacted`: the emitter was told to hide it. `not_captured`: nobody told the emitter to send it. */
export type Hidden = 'redacted' | 'not_captured';

/** The facts of a span that are content. */
export type ContentField = 'system' | 'input' | 'output' | 'toolArgs' | 'toolResult' | 'documents';

/** Facts of one convention about one span. The next convention may add an absent fact. */
export interface SpanFacts {
  role?: SpanRole | undefined;
  /** The agent's (or workflow's) name. */
  agent?: string | undefined;
  /** Version of that agent, not of its service or framework. */
  agentVersion?: string | undefined;
  /** System texts, in order. */
  system?: string[] | undefined;
  input?: NormalMessage[] | undefined;
  output?: NormalPart[] | undefined;
  /** The output's parts are grouped by kind, not in the order in which they came to be. */
  outputGrouped?: boolean | undefined;
  toolName?: string | undefined;
  toolCallId?: string | undefined;
  toolArgs?: unknown;
  toolResult?: unknown;
  model?: string | undefined;
  provider?: string | undefined;
  responseId?: string | undefined;
  finishReason?: string | undefined;
  usage?: Partial<TokenUsage> | undefined;
  session?: string | undefined;
  user?: string | undefined;
  documents?: RetrievedDocument[] | undefined;
  error?: SpanError | undefined;
  /** Content is stored elsewhere; the span holds its address only. */
  contentByReference?: boolean | undefined;
  /** Fields whose content is a placeholder. */
  hidden?: ReadonlyMap<ContentField, Hidden> | undefined;
  /** This model call's usage is counted again in the usage of the run's next model call. */
  isUsageRepeated?: boolean | undefined;
  /** Facts that later conventions would misread on this span and may not add. */
  withheld?: readonly (keyof SpanFacts)[] | undefined;
}

/** A span with all that its conventions together say of it. */
export interface NormalisedSpan {
  readonly span: Span;
  readonly facts: SpanFacts;
  /** Number of facts by convention. */
  readonly conventions: ReadonlyMap<string, number>;
  readonly warnings: readonly ReadingWarning[];
}

/** A span as conventions see it: with the log records that belong to it. */
export interface SpanView {
  readonly span: Span;
  readonly logs: readonly LogRecord[];
  readonly warnings: ReadingWarning[];
}

/** One way in which spans carry agent content. One file each under `formats/`, one line each in `registry.ts`. */
export interface Convention {
  readonly name: string;
  /** Scopes of ordinary log records that carry content of this convention; events named `gen_ai.…` come without asking. */
  readonly logScopes?: readonly string[];
  /** Signals of its spans and log records, by which traffic without agents is told apart before it is read. */
  readonly signals?: Partial<AgentSignals>;
  /** Settings that make its emitters send content. */
  readonly switches?: readonly ContentSwitch[];
  /** Returns true for a span of this convention. Cheap: reads the scope and a few keys. */
  detect(view: SpanView): boolean;
  read(view: SpanView): SpanFacts;
}

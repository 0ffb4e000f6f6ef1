import type { AgentSignals } from '../domain/trace/agent-signals.ts';
import type { Halt } from '../domain/trace/halt.ts';
import type { RetrievedDocument, ReadingWarning, TokenUsage } from '../domain/trace/agent-run.ts';
import type { LogRecord, Span } from '../domain/trace/span.ts';

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
  /** True when the model's provider ran the tool, not the agent. */
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

/** A part of a message, independent of its convention. */
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

/** `redacted`: the emitter was configured to hide it. `not_captured`: the emitter was not configured to send it. */
export type Hidden = 'redacted' | 'not_captured';

/** Facts of a span that are content. */
export type ContentField = 'system' | 'input' | 'output' | 'toolArgs' | 'toolResult' | 'documents';

/** Facts of one convention about one span. The next convention may add missing facts. */
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
  /** True when the parts of the output are grouped by kind, not in order of time. */
  outputGrouped?: boolean | undefined;
  toolName?: string | undefined;
  toolCallId?: string | undefined;
  toolArgs?: unknown;
  toolResult?: unknown;
  /** Set when the span is one of several states of a tool call below one span, which have this value in common. */
  stateOf?: string | undefined;
  model?: string | undefined;
  provider?: string | undefined;
  responseId?: string | undefined;
  finishReason?: string | undefined;
  usage?: Partial<TokenUsage> | undefined;
  session?: string | undefined;
  user?: string | undefined;
  documents?: RetrievedDocument[] | undefined;
  /** Texts with definitions of tools that the model could call. */
  toolTexts?: readonly string[] | undefined;
  error?: SpanError | undefined;
  /** Set when the span stopped without a failure; then it has no error. */
  halt?: Halt | undefined;
  /** True when content is stored elsewhere and the span contains its address only. */
  contentByReference?: boolean | undefined;
  /** Fields whose content is a placeholder. */
  hidden?: ReadonlyMap<ContentField, Hidden> | undefined;
  /** True when the usage of this model call is counted again in the run's next model call. */
  isUsageRepeated?: boolean | undefined;
  /** Facts that later conventions would read wrongly on this span and must not add. */
  withheld?: readonly (keyof SpanFacts)[] | undefined;
}

export interface NormalisedSpan {
  readonly span: Span;
  readonly facts: SpanFacts;
  readonly conventions: ReadonlyMap<string, number>;
  readonly warnings: readonly ReadingWarning[];
}

/** A span with its log records, as conventions get it. */
export interface SpanView {
  readonly span: Span;
  readonly logs: readonly LogRecord[];
  readonly warnings: ReadingWarning[];
}

/** One way in which spans carry agent content. Each is in a file under `formats/` and has one line in `registry.ts`. */
export interface Convention {
  readonly name: string;
  /** Scopes of ordinary log records with content of this convention; events named `gen_ai.…` are always included. */
  readonly logScopes?: readonly string[];
  /** Names of the events of log records with content of this convention. */
  readonly logEvents?: readonly string[];
  /** Signals of its spans and log records; traffic without any signal is skipped before it is read. */
  readonly signals?: Partial<AgentSignals>;
  /** Setting that makes its emitter send content; a list for several emitters. */
  readonly switches?: ContentSwitch | readonly ContentSwitch[];
  /** True for a span of this convention. Cheap: reads the scope and a few keys. */
  detect(view: SpanView): boolean;
  read(view: SpanView): SpanFacts;
}

/** Setting that makes one emitter send content. */
export interface ContentSwitch {
  readonly emitter: string;
  /** Names of its scopes; a name that ends with a star is a prefix. The longest match of all conventions wins. */
  readonly scopes: readonly string[];
  /**
   * Conventions that only this emitter uses, for spans whose scope is the application's own. By default the first switch of a
   * convention has it.
   */
  readonly conventions?: readonly string[];
  /** Convention that must have read a span, for scopes that another emitter uses, too. */
  readonly requires?: string;
  /** The setting, or the reason why there is none. */
  readonly setting: string;
  /** Set when content is sent by default: then a span without content had it removed. */
  readonly sendsByDefault?: true;
  /** Source of the name of the setting: documentation, or a recording. */
  readonly source: string;
}

/** Setting of OpenTelemetry's own GenAI instrumentations for Python. */
export const OTEL_PYTHON_CAPTURE =
  'set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT';

export function alwaysSends(emitter: string, scopes: readonly string[], source: string): ContentSwitch {
  const setting = `${emitter} always sends content and has no setting for it: look for a span processor or a Collector that takes it out`;
  return { emitter, scopes, setting, sendsByDefault: true, source };
}

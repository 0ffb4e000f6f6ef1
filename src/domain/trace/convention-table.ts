/** Name of the reading by form, beside the names of conventions. */
export const BY_SHAPE = 'by-shape';

/** Names of the conventions of this program: no table may have one of them. */
export const BUILT_IN_CONVENTIONS: ReadonlySet<string> = new Set(
  'langfuse claude-code mastra pydantic-ai google-adk genkit livekit langsmith mlflow ai-sdk monocle any-agent agentops agent-framework crewai haystack spring-ai koog laminar litellm logfire-agents logfire openlit flue voltagent braintrust trulens beeai gemini-cli latitude google-genai traceloop openai-agents sentry otel-genai otel-genai-events openinference traceloop-flattened otel-genai-content by-shape'.split(
    ' ',
  ),
);

/** Facts that a table can give, with their meaning. */
export const TABLE_FIELDS = {
  input: 'Question of an agent, or messages to a model, in any form that spanscore reads.',
  output: 'Answer of an agent, or output of a model.',
  system: 'Instructions of an agent or a model.',
  'tool.name': 'Name of the tool.',
  'tool.arguments': 'Arguments of the call of a tool.',
  'tool.result': 'Result of a tool.',
  'tool.callId': 'Id of the call that the model asked for.',
  error: 'Text of the error of a span.',
  documents: 'Documents that were retrieved: texts, or objects with a text.',
  agent: 'Name of the agent.',
  agentVersion: 'Version of the agent.',
  session: 'Id of the session.',
  user: 'Id of the user.',
  model: 'Name of the model.',
  'usage.input': 'Number of input tokens.',
  'usage.output': 'Number of output tokens.',
  'usage.total': 'Number of all tokens.',
  'usage.cached': 'Number of input tokens that came from a cache.',
  'usage.reasoning': 'Number of output tokens of thoughts.',
} as const;

export type TableField = keyof typeof TABLE_FIELDS;

/** Kinds that a table can give a span. */
export const TABLE_KINDS = ['agent', 'model', 'tool', 'retrieval', 'other'] as const;

/** A user's own convention: which spans it describes, and where each fact of such a span is. */
export interface ConventionTable<Kind extends string = string> {
  readonly name: string;
  /** Patterns with `*`. A span that meets any of them is described by the table. */
  readonly match: {
    readonly scope?: string | undefined;
    /** A key of the span. */
    readonly attribute?: string | undefined;
    /** Name of the resource's service. */
    readonly service?: string | undefined;
  };
  readonly kind?: { readonly from: string; readonly values: Readonly<Record<string, Kind>> } | undefined;
  /** Sources of each fact; the first with a value is taken. */
  readonly fields: { readonly [Field in TableField]?: string | readonly string[] | undefined };
}

/** Place of a value in a span: an attribute, or an attribute or body of an event or a log record, and a path into its JSON. */
export interface TableSource {
  readonly place: 'attribute' | 'event' | 'log';
  /** Name of the event; '' for an attribute. */
  readonly event: string;
  /** Key of the attribute; '' for the body of a log record. */
  readonly key: string;
  /** Keys and indexes; null for every item of a list. */
  readonly path: readonly (string | number | null)[];
}

const SOURCE =
  /^(?:(?<place>event|log):(?:"(?<quotedEvent>[^"]+)"|(?<event>[^"\s/]+))(?:\/(?:"(?<quotedInner>[^"]+)"|(?<inner>[^"\s]+)))?|"(?<quoted>[^"]+)"|(?!(?:event|log):)(?<plain>[^"\s]+))(?:\s+\$(?<path>.*))?$/;

const STEP = /\.([^.[\]"\s]+)|\["((?:[^"\\]|\\.)+)"\]|\[(\d{1,6})\]|\[(\*)\]/y;

/**
 * Parses a source. Returns the fault as a text. The syntax is a small part of JSONPath: a library for all of it would also
 * accept filters and recursion, which cost time without a bound on every span.
 */
export function parseSource(text: string): TableSource | string {
  const groups = SOURCE.exec(text)?.groups;
  if (groups === undefined) {
    return 'write <attribute>, event:<name>/<attribute>, log:<name> or log:<name>/<attribute>, then maybe a space and a path like $.a[0]; an attribute with spaces stands in double quotes';
  }
  const place = (groups['place'] as 'event' | 'log' | undefined) ?? 'attribute';
  const event = groups['quotedEvent'] ?? groups['event'] ?? '';
  const key = groups['quotedInner'] ?? groups['inner'] ?? groups['quoted'] ?? groups['plain'] ?? '';
  if (place === 'event' && key === '') {
    return `an event has no body; write event:${event}/<attribute>`;
  }
  const path = parsePath(groups['path'] ?? '');
  return path === undefined
    ? `$${groups['path'] ?? ''} is no path; write $, .key, ["key"], [0] or [*]`
    : { place, event, key, path };
}

function parsePath(text: string): (string | number | null)[] | undefined {
  const steps: (string | number | null)[] = [];
  for (let at = 0; at < text.length; at = STEP.lastIndex) {
    STEP.lastIndex = at;
    const match = STEP.exec(text);
    if (match === null) {
      return undefined;
    }
    const [, key, quoted, index] = match;
    const name = key ?? quoted?.replaceAll(/\\(.)/g, '$1');
    steps.push(name ?? (index === undefined ? null : Number(index)));
  }
  return steps;
}

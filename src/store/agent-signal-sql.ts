import { AGENT_SIGNALS, type AgentSignals } from '../domain/agent-signals.ts';

/** SQL expressions over a row's columns that are true exactly where `looksLikeAgent` is. */
export interface SignalColumns {
  readonly scopeName: string;
  /** An expression that yields an array of attribute keys. */
  readonly attributeKeys: string;
  /** An expression that yields an array of event names. */
  readonly eventNames: string;
}

/**
 * The same test as one ClickHouse expression (UInt8), written over several lines. Names are joined by line breaks and all
 * prefixes searched for at once, a fifth of the cost of testing every name; a name that holds a line break may be taken
 * for two.
 */
export function agentSignalSql(columns: SignalColumns, signals: AgentSignals = AGENT_SIGNALS): string {
  return [
    `match(${columns.scopeName}, '${scopePattern(signals)}')`,
    searchAny(columns.attributeKeys, signals.keyPrefixes),
    searchAny(columns.eventNames, signals.eventPrefixes),
  ].join('\n    OR ');
}

function searchAny(names: string, prefixes: readonly string[]): string {
  const needles = prefixes.map((prefix) => `'\\n${prefix}'`).join(', ');
  return `multiSearchAny(concat('\\n', arrayStringConcat(${names}, '\\n')), [${needles}])`;
}

/** An RE2 pattern as a string literal's text: a dot is matched as `[.]`, which needs no escape. */
function scopePattern({ scopes, scopePrefixes }: AgentSignals): string {
  const parts = [...scopePrefixes, ...scopes.map((scope) => `${scope}$`)];
  return `^(?:${parts.map((part) => part.replaceAll('.', '[.]')).join('|')})`;
}

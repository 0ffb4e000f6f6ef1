import { AGENT_SIGNALS, type AgentSignals } from '../domain/agent-signals.ts';

/** SQL expressions over a row's columns that are true exactly where `looksLikeAgent` is. */
export interface SignalColumns {
  readonly scopeName: string;
  /** An expression that yields an array of attribute keys. */
  readonly attributeKeys: string;
  /** An expression that yields an array of event names. */
  readonly eventNames: string;
}

/** The same test as one ClickHouse expression (UInt8), written over several lines. */
export function agentSignalSql(columns: SignalColumns, signals: AgentSignals = AGENT_SIGNALS): string {
  const scope = alternation(signals.scopePrefixes, signals.scopes);
  return [
    `match(${columns.scopeName}, '${scope}')`,
    `arrayExists(key -> match(key, '${alternation(signals.keyPrefixes)}'), ${columns.attributeKeys})`,
    `arrayExists(name -> match(name, '${alternation(signals.eventPrefixes)}'), ${columns.eventNames})`,
  ].join('\n    OR ');
}

/** An RE2 pattern as a ClickHouse string literal's text: a dot is matched as `[.]`, which needs no escape. */
function alternation(prefixes: readonly string[], wholes: readonly string[] = []): string {
  const parts = [...prefixes, ...wholes.map((whole) => `${whole}$`)];
  return `^(?:${parts.map((part) => part.replaceAll('.', '[.]')).join('|')})`;
}

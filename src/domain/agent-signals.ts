/**
 * Signals of a span or log record of an agent or a model call. A superset, decided without reading any value, so that other
 * traffic (HTTP servers, databases) costs nothing. The normalisers decide in the end. Plain ASCII, no quotes, no backslashes.
 */
export interface AgentSignals {
  /** Prefixes of attribute keys. */
  readonly keyPrefixes: readonly string[];
  /** Prefixes of instrumentation scope names. */
  readonly scopePrefixes: readonly string[];
  /** Whole scope names, where a prefix would take in strangers. */
  readonly scopes: readonly string[];
  /** Prefixes of the names of span events and log events. */
  readonly eventPrefixes: readonly string[];
}

/** Joins the signals of several conventions. */
export function joinSignals(parts: readonly Partial<AgentSignals>[]): AgentSignals {
  const join = (name: keyof AgentSignals) => [...new Set(parts.flatMap((part) => part[name] ?? []))];
  return {
    keyPrefixes: join('keyPrefixes'),
    scopePrefixes: join('scopePrefixes'),
    scopes: join('scopes'),
    eventPrefixes: join('eventPrefixes'),
  };
}

/** Input of the test: a span, or a log record with its event name as the only event. */
export interface SignalSource {
  readonly scopeName: string;
  readonly attributeKeys: Iterable<string>;
  readonly eventNames: Iterable<string>;
}

/** Returns true for a likely span or log record of an agent or a model call. */
export function looksLikeAgent(source: SignalSource, signals: AgentSignals): boolean {
  return (
    signals.scopes.includes(source.scopeName) ||
    startsWithAny(source.scopeName, signals.scopePrefixes) ||
    someStartsWithAny(source.attributeKeys, signals.keyPrefixes) ||
    someStartsWithAny(source.eventNames, signals.eventPrefixes)
  );
}

function someStartsWithAny(texts: Iterable<string>, prefixes: readonly string[]): boolean {
  for (const text of texts) {
    if (startsWithAny(text, prefixes)) {
      return true;
    }
  }
  return false;
}

function startsWithAny(text: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => text.startsWith(prefix));
}

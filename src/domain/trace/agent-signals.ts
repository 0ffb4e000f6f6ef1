/**
 * Signals of a span or log record of an agent or a model call. The test looks at names only, never at values, so that other
 * traffic (HTTP servers, databases) costs nothing. It accepts too much rather than too little: the conventions decide later.
 * Plain ASCII, no quotes, no backslashes.
 */
export interface AgentSignals {
  /** Prefixes of attribute keys. */
  readonly keyPrefixes: readonly string[];
  /** Prefixes of instrumentation scope names. */
  readonly scopePrefixes: readonly string[];
  /** Whole scope names, for scopes whose prefix would also match unrelated scopes. */
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

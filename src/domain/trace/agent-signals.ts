/**
 * Signals of a span or log record of an agent or a model call. The test looks at names only, never at values, so that other
 * traffic (HTTP servers, databases) costs nothing. It accepts too much rather than too little: the conventions decide later.
 * Plain ASCII, no quotes, no backslashes.
 */
export interface AgentSignals {
  readonly keyPrefixes: readonly string[];
  readonly scopePrefixes: readonly string[];
  /** Whole scope names, for scopes whose prefix would also match unrelated scopes. */
  readonly scopes: readonly string[];
  readonly eventPrefixes: readonly string[];
  /** Words anywhere in attribute keys and event names, in lower case: emitters that no convention knows. */
  readonly words: readonly string[];
}

/** Key of servers and clients of HTTP that has a word of agents in it. */
export const NO_WORD = 'user_agent';

export function joinSignals(parts: readonly Partial<AgentSignals>[]): AgentSignals {
  const join = (name: keyof AgentSignals) => [...new Set(parts.flatMap((part) => part[name] ?? []))];
  return {
    keyPrefixes: join('keyPrefixes'),
    scopePrefixes: join('scopePrefixes'),
    scopes: join('scopes'),
    eventPrefixes: join('eventPrefixes'),
    words: join('words'),
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
    someShows(source.attributeKeys, signals.keyPrefixes, signals.words) ||
    someShows(source.eventNames, signals.eventPrefixes, signals.words)
  );
}

/** Looks at each name once: keys come from iterators. */
function someShows(names: Iterable<string>, prefixes: readonly string[], words: readonly string[]): boolean {
  for (const name of names) {
    if (startsWithAny(name, prefixes) || hasWord(name, words)) {
      return true;
    }
  }
  return false;
}

function hasWord(name: string, words: readonly string[]): boolean {
  const text = name.toLowerCase().replaceAll(NO_WORD, '');
  return words.some((word) => text.includes(word));
}

function startsWithAny(text: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => text.startsWith(prefix));
}

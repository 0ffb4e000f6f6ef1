import { AGENT_SIGNALS } from '../../conventions/agent-signals.ts';
import { type AgentSignals, NO_WORD } from '../../domain/trace/agent-signals.ts';

/** SQL expressions over the columns of a span or a log record. */
export interface SignalColumns {
  readonly scopeName: string;
  /** An expression that yields an array of attribute keys. */
  readonly attributeKeys: string;
  /** An expression that yields an array of event names. */
  readonly eventNames: string;
}

/**
 * `looksLikeAgent` of one row as a ClickHouse expression (UInt8), over several lines. Names are joined by line breaks and all
 * prefixes searched at once, which costs a fifth of a test of every name; a name with a line break may be taken for two.
 */
export function agentSignalSql(columns: SignalColumns, signals: AgentSignals): string {
  return [
    `match(${columns.scopeName}, '${scopePattern(signals)}')`,
    searchAny(columns.attributeKeys, signals.keyPrefixes),
    searchAny(columns.eventNames, signals.eventPrefixes),
    ...(signals.words.length === 0 ? [] : [searchWords(columns, signals.words)]),
  ].join('\n    OR ');
}

function searchAny(names: string, prefixes: readonly string[]): string {
  const needles = prefixes.map((prefix) => `'\\n${prefix}'`).join(', ');
  return `multiSearchAny(concat('\\n', arrayStringConcat(${names}, '\\n')), [${needles}])`;
}

function searchWords({ attributeKeys, eventNames }: SignalColumns, words: readonly string[]): string {
  const needles = words.map((word) => `'${word}'`).join(', ');
  return `multiSearchAny(replaceAll(lower(arrayStringConcat(arrayConcat(${attributeKeys}, ${eventNames}), '\\n')), '${NO_WORD}', ''), [${needles}])`;
}

/** Name that arrivals store for a row with a word of an agent. */
const WORD_SEEN = 'word:agent';

/** An RE2 pattern as a string literal's text: a dot is matched as `[.]`, which needs no escape. */
function scopePattern({ scopes, scopePrefixes }: AgentSignals): string {
  const parts = [...scopePrefixes, ...scopes.map((scope) => `${scope}$`)];
  return `^(?:${parts.map((part) => part.replaceAll('.', '[.]')).join('|')})`;
}

/** Longest head of a key or an event name, and longest scope name, that arrivals store, bytes. */
const HEAD_BYTES = 32;
const SCOPE_BYTES = 200;

/**
 * Names of a row that signals are looked for in, as an array: its scope, and the head of each attribute key and event name,
 * up to its first dot, and whether a word of an agent is in any of them. Arrivals store them, so that a convention that comes later is found in traces that came before.
 */
export function signalNamesSql(columns: SignalColumns): string {
  return `arrayDistinct(arrayConcat(
        [concat('scope:', substring(${columns.scopeName}, 1, ${SCOPE_BYTES}))],
        arrayMap(name -> concat('key:', ${headSql('name')}), ${columns.attributeKeys}),
        arrayMap(name -> concat('event:', ${headSql('name')}), ${columns.eventNames}),
        if(${searchWords(columns, AGENT_SIGNALS.words)}, ['${WORD_SEEN}'], [])))`;
}

function headSql(name: string): string {
  return `substring(${name}, 1, if(position(${name}, '.') = 0, ${HEAD_BYTES}, least(position(${name}, '.'), ${HEAD_BYTES})))`;
}

/**
 * True (UInt8) where an array of stored names has a signal. A superset of `looksLikeAgent`: of a signal with several dots
 * only the head is compared.
 */
function hasSignalSql(names: string, signals: AgentSignals): string {
  const needles = signalNeedles(signals).map((needle) => `'${needle}'`);
  return `multiSearchAny(concat('\\n', arrayStringConcat(${names}, '\\n'), '\\n'), [${needles.join(', ')}])`;
}

function signalNeedles({ scopes, scopePrefixes, keyPrefixes, eventPrefixes, words }: AgentSignals): string[] {
  return [
    ...scopes.map((scope) => `\\nscope:${scope}\\n`),
    ...scopePrefixes.map((prefix) => `\\nscope:${prefix}`),
    ...keyPrefixes.map((prefix) => headNeedle('key', prefix)),
    ...eventPrefixes.map((prefix) => headNeedle('event', prefix)),
    ...(words.length === 0 ? [] : [`\\n${WORD_SEEN}\\n`]),
  ];
}

function headNeedle(kind: 'key' | 'event', prefix: string): string {
  const dot = prefix.indexOf('.');
  return dot < 0 ? `\\n${kind}:${prefix}` : `\\n${kind}:${prefix.slice(0, dot + 1)}\\n`;
}

/** Signals that became known at the same time. */
interface SignalGeneration {
  /** Unix milliseconds by the store's clock; 0 for the signals of a new store. */
  readonly knownFromMs: number;
  readonly signals: AgentSignals;
}

/** Signals of this program, by the time from which the store knows them: earliest first. */
export type KnownSignals = readonly SignalGeneration[];

/** Signals of a store that has not recorded any. */
export function signalsFromTheStart(signals: AgentSignals): KnownSignals {
  return [{ knownFromMs: 0, signals }];
}

/** True (UInt8) where an array of stored names has any signal. */
export function agentSeenSql(names: string, known: KnownSignals): string {
  return `(${known.map(({ signals }) => hasSignalSql(names, signals)).join('\n    OR ') || '0'})`;
}

/** True (UInt8) where all signals in an array of stored names became known after a time, Unix milliseconds. */
export function knownLateSql(names: string, firstArrival: string, known: KnownSignals): string {
  const late = known.filter(({ knownFromMs }) => knownFromMs > 0);
  if (late.length === 0) {
    return '0';
  }
  const inTime = known.map(
    ({ knownFromMs, signals }) => `(${firstArrival} >= ${knownFromMs} AND ${hasSignalSql(names, signals)})`,
  );
  return `(${agentSeenSql(names, known)} AND NOT (${inTime.join('\n    OR ')}))`;
}

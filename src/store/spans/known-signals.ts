import type { AgentSignals } from '../../domain/trace/agent-signals.ts';
import { signalsFromTheStart, type KnownSignals } from './agent-signal-sql.ts';
import { type Database, readValue } from '../database.ts';
import { toDateTime } from '../values.ts';

const KINDS = ['scopes', 'scopePrefixes', 'keyPrefixes', 'eventPrefixes', 'words'] as const;

/** Names of signals as the table stores them: `keyPrefixes gen_ai.`. */
function nameSignals(signals: AgentSignals): string[] {
  return KINDS.flatMap((kind) => signals[kind].map((signal) => `${kind} ${signal}`));
}

/** Reads the time from which the store knows each signal. New signals count from now on, those of a new store always. */
export async function readKnownSignals(
  database: Database,
  signals: AgentSignals,
  nowMs: number,
): Promise<KnownSignals> {
  if ((await readValue(database, 'EXISTS TABLE progress')) !== 1) {
    return signalsFromTheStart(signals);
  }
  const rows = await database.rows<{ signal: string; knownFrom: number }>(
    `SELECT Name AS signal, toUnixTimestamp64Milli(min(SeenAt)) AS knownFrom
     FROM progress WHERE Kind = 'signal' GROUP BY Name`,
  );
  const known = new Map(rows.map(({ signal, knownFrom }) => [signal, knownFrom]));
  const knownFrom = (name: string) => (known.size === 0 ? 0 : (known.get(name) ?? nowMs));
  const times = [...new Set(nameSignals(signals).map(knownFrom))].toSorted((a, b) => a - b);
  const of = (atMs: number) =>
    KINDS.map((kind) => [kind, signals[kind].filter((signal) => knownFrom(`${kind} ${signal}`) === atMs)]);
  return times.map((atMs) => ({
    knownFromMs: atMs,
    signals: Object.fromEntries(of(atMs)) as AgentSignals,
  }));
}

/** Records signals with the time from which they are known. Recording a signal again keeps its first time. */
export async function recordSignals(database: Database, known: KnownSignals): Promise<void> {
  const rows = known.flatMap(({ knownFromMs, signals }) =>
    nameSignals(signals).map((signal) => ({ Kind: 'signal', Name: signal, SeenAt: toDateTime(knownFromMs) })),
  );
  await database.insertRows('progress', rows);
}

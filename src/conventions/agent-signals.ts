import type { ConventionTable } from '../domain/trace/convention-table.ts';
import { joinSignals, type AgentSignals } from '../domain/trace/agent-signals.ts';
import { CONVENTIONS } from './registry.ts';
import { toConvention } from './tables/table-convention.ts';

/** Signals of every convention. */
export const AGENT_SIGNALS: AgentSignals = joinSignals(CONVENTIONS.map(({ signals = {} }) => signals));

/** Returns the signals of every convention and of the user's own ones. */
export function signalsWith(tables: readonly ConventionTable[] = []): AgentSignals {
  return tables.length === 0
    ? AGENT_SIGNALS
    : joinSignals([AGENT_SIGNALS, ...tables.map((table) => toConvention(table).signals ?? {})]);
}

import type { ConventionTable } from '../domain/trace/convention-table.ts';
import { joinSignals, type AgentSignals } from '../domain/trace/agent-signals.ts';
import { CONVENTIONS } from './registry.ts';
import { toConvention } from './tables/table-convention.ts';

/** Words in names of emitters that no convention knows; the same as in the views that fill `trace_arrivals`. */
const WORDS =
  'llm prompt completion tokens agent assistant tool.name tool_name toolname tool.call tool_call toolcall .model _model model.name model_name modelname model_id modelid messages question answer chat conversation transcript'.split(
    ' ',
  );

/** Signals of every convention, and the words that show an agent in the names of any other emitter. */
export const AGENT_SIGNALS: AgentSignals = joinSignals([
  ...CONVENTIONS.map(({ signals = {} }) => signals),
  { words: WORDS },
]);

export function signalsWith(tables: readonly ConventionTable[] = []): AgentSignals {
  return tables.length === 0
    ? AGENT_SIGNALS
    : joinSignals([AGENT_SIGNALS, ...tables.map((table) => toConvention(table).signals ?? {})]);
}

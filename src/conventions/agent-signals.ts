import { joinSignals, type AgentSignals } from '../domain/trace/agent-signals.ts';
import { CONVENTIONS } from './registry.ts';

/** Signals of every convention. */
export const AGENT_SIGNALS: AgentSignals = joinSignals(CONVENTIONS.map(({ signals = {} }) => signals));

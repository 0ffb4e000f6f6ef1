import type { AgentPast } from '../../domain/behaviour/measures.ts';
import type { TargetKind } from '../../domain/trace/agent-run.ts';

/** Runs of one kind of an agent; an agent without a name goes by its service. */
export interface AgentKey {
  readonly tenant: string;
  readonly target: TargetKind;
  readonly agent: string;
}

/** Agents whose past is read, those with the most runs first. */
export const MAX_AGENTS = 2_000;

/** Different paths of an agent that are read, the most frequent first. */
export const MAX_PATHS = 100;

/** Past of each agent, from the scores of `behaviour` of the last week. */
export interface AgentPastStore {
  /**
   * Reads the pasts, keyed by `joinAgentKey`. Reads the rows of a week: a caller keeps the result.
   * @param nameRow returns the name of a score row of a measure
   */
  read(nameRow: (measure: string) => string): Promise<Map<string, AgentPast>>;
}

/** Joins the parts of a key to one text. */
export function joinAgentKey({ tenant, target, agent }: AgentKey): string {
  return JSON.stringify([tenant, target, agent]);
}

import type { AgentInput, AgentOutput } from '../../../domain/messages.ts';
import type { ScorerRunInput } from '../../../evals/scorer.ts';

/** What scorers of agent runs take. */
export type AgentRunInput = ScorerRunInput<AgentInput, AgentOutput>;

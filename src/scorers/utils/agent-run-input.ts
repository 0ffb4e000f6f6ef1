import type { AgentInput, AgentOutput } from '../../domain/trace/messages.ts';
import type { ScorerRunInput } from '../../evals/scorer.ts';

/** Input of scorers of agent runs. */
export type AgentRunInput = ScorerRunInput<AgentInput, AgentOutput>;

/** Input of scorers that need only question and answer: messages, or the two texts. */
export type AnswerRunInput = ScorerRunInput<AgentInput | string, AgentOutput | string>;

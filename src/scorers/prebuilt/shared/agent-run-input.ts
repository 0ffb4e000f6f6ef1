import type { AgentInput, AgentOutput } from '../../../domain/messages.ts';
import type { ScorerRunInput } from '../../../evals/scorer.ts';

/** What scorers of agent runs take. */
export type AgentRunInput = ScorerRunInput<AgentInput, AgentOutput>;

/** What scorers take that need no more than question and answer: messages, or the two texts themselves. */
export type AnswerRunInput = ScorerRunInput<AgentInput | string, AgentOutput | string>;

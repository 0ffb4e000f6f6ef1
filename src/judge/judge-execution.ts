import type { CallStatus } from '../domain/run-record.ts';

/** Token counts that the provider sent; a missing count is undefined, never 0. */
export interface JudgeUsage {
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  totalTokens: number | undefined;
  reasoningTokens: number | undefined;
  cachedInputTokens: number | undefined;
  cacheCreationInputTokens: number | undefined;
}

/** Record of one question to a judge: calls, answer and cost, including the second attempt after an unusable answer. */
export interface JudgeExecution {
  status: 'success' | 'failed';
  /** The prompt as it was sent, after redaction. */
  prompt: string;
  /** The parsed answer, or the text of a text question. */
  output?: unknown;
  /** Model that answered, by its own name; the configured model when the reply names none. */
  judgeModelId: string;
  judgeProvider?: string;
  /** Sum over all model calls. */
  usage?: JudgeUsage;
  /** Number of times that the question was asked: 2 after an unusable answer. */
  attemptCount: number;
  /**
   * Calls that the model answered: 0 when no call was answered, or when the answer was in the cache. The audit rows list every
   * call.
   */
  modelCallCount: number;
  durationMs: number;
  /** US dollars; undefined when the model has no known price or sent no token counts. */
  cost?: number;
  error?: { name: string; message: string; code?: string };
  /** Text of the last reply, for a failed question. */
  rawOutput?: string;
  finishReason?: string;
}

/** One call to a model: one row of the audit table. */
export interface JudgeCall {
  /** Name of the scorer step that asked; '' when unknown. */
  step: string;
  model: string;
  provider: string;
  status: CallStatus;
  /** Prompt after redaction; when a question is asked again, the prompt ends with the fault of the first answer. */
  prompt: string;
  reply: string;
  /** '' for a success. */
  error: string;
  usage: JudgeUsage | undefined;
  /** US dollars, undefined when unknown. */
  cost: number | undefined;
  durationMs: number;
  /** Unix milliseconds. */
  calledAtMs: number;
}

export interface TokenEstimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

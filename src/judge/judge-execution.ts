import type { JudgeCallRecord } from '../domain/judge-call.ts';

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

/**
 * One call to a model, for its row. The prompt is the one after redaction; when a question is asked again, it ends with the fault of the
 * first answer.
 */
export interface JudgeCall extends Pick<
  JudgeCallRecord,
  'step' | 'model' | 'servedModel' | 'status' | 'prompt' | 'reply' | 'error' | 'durationMs' | 'calledAtMs'
> {
  provider: string;
  usage: JudgeUsage | undefined;
  /** US dollars, undefined when unknown. */
  cost: number | undefined;
}

export interface TokenEstimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

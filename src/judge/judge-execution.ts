/** Token counts as the provider told them; a count that it did not tell is undefined, never 0. */
export interface JudgeUsage {
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  totalTokens: number | undefined;
  reasoningTokens: number | undefined;
  cachedInputTokens: number | undefined;
  cacheCreationInputTokens: number | undefined;
}

/** Record of one question to a judge: calls, answer and cost, format retry included. */
export interface JudgeExecution {
  status: 'success' | 'failed';
  /** The prompt as it was sent, after redaction. */
  prompt: string;
  /** The parsed answer, or the text of a text question. */
  output?: unknown;
  /** The model that answered, as it names itself; the configured one when it does not say. */
  judgeModelId: string;
  judgeProvider?: string;
  /** Sum over all model calls. */
  usage?: JudgeUsage;
  /** Number of times the question was asked: 2 after an unusable answer. */
  attemptCount: number;
  /** Calls that the model answered; 0 when none was, or when the answer was already known. The audit rows hold every call. */
  modelCallCount: number;
  durationMs: number;
  /** US dollars; undefined when the model has no known price or did not tell its tokens. */
  cost?: number;
  error?: { name: string; message: string; code?: string };
  /** The last reply as it came, for a failed question. */
  rawOutput?: string;
  finishReason?: string;
}

/** One call to a model: the row of the audit table. */
export interface JudgeCall {
  /** Name of the scorer step that asked, '' when unknown. */
  step: string;
  model: string;
  provider: string;
  status: 'success' | 'failed';
  /** After redaction; a question asked again holds the named fault at its end. */
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

function add(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : a + b;
}

/** Sum of two usages; a count that only one of them knows is that one's. */
export function addUsage(a: JudgeUsage | undefined, b: JudgeUsage | undefined): JudgeUsage | undefined {
  if (a === undefined || b === undefined) {
    return a ?? b;
  }
  return {
    inputTokens: add(a.inputTokens, b.inputTokens),
    outputTokens: add(a.outputTokens, b.outputTokens),
    totalTokens: add(a.totalTokens, b.totalTokens),
    reasoningTokens: add(a.reasoningTokens, b.reasoningTokens),
    cachedInputTokens: add(a.cachedInputTokens, b.cachedInputTokens),
    cacheCreationInputTokens: add(a.cacheCreationInputTokens, b.cacheCreationInputTokens),
  };
}

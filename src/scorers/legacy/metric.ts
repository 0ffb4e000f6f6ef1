import { InvalidInputError } from '../../domain/errors.ts';
import type { AgentMessage } from '../../domain/trace/messages.ts';
import type { ScorerRunInput, ScorerRunResult } from '../../evals/scorer.ts';

/** Result of a metric. */
export interface MetricResult<TInfo = { reason: string }> {
  score: number;
  info: TInfo;
}

/** A measure of an answer to a question; both are plain texts. */
export interface Metric<TInfo = { reason: string }> {
  measure(input: string, output: string): Promise<MetricResult<TInfo>>;
}

/** Interface of a scorer behind a metric. */
interface TextScorer<TResult extends ScorerRunResult> {
  readonly id: string;
  run(input: never): Promise<TResult>;
}

/**
 * Scores a question and an answer given as texts. Rejects with `InvalidInputError` where they cannot be scored: a metric has no
 * other way to report it.
 */
export async function scoreTexts<TResult extends ScorerRunResult>(
  scorer: TextScorer<TResult>,
  input: string,
  output: string,
  more: Partial<ScorerRunInput> = {},
): Promise<TResult & { score: number }> {
  if (typeof input !== 'string' || typeof output !== 'string') {
    throw new InvalidInputError(
      `measure(input, output) of "${scorer.id}" takes two texts; it was given ${typeof input} and ${typeof output}`,
    );
  }
  const run = {
    input: {
      inputMessages: [message('question', 'user', input)],
      rememberedMessages: [],
      systemMessages: [],
      taggedSystemMessages: {},
    },
    output: [message('answer', 'assistant', output)],
    ...more,
  };
  const result = await scorer.run(run as never);
  const { score, notScorable } = result;
  if (score === undefined) {
    throw new InvalidInputError(
      `"${scorer.id}" cannot score this: ${notScorable?.reason ?? 'it gave no reason'}`,
    );
  }
  return { ...result, score };
}

function message(id: string, role: 'user' | 'assistant', text: string): AgentMessage {
  const content = { format: 2 as const, parts: [{ type: 'text' as const, text }], content: text };
  return { id, role, createdAt: new Date(), content };
}

/** Returns the score and its explanation. */
export function explained({ score, reason }: ScorerRunResult & { score: number }): MetricResult {
  return { score, info: { reason: typeof reason === 'string' ? reason : '' } };
}

import { findPrice, type PriceTable } from '../domain/money/model-prices.ts';
import { BATCH_PRICE_SHARE, type BatchQuestion, type SeatedAttempt } from '../judge/batch/batch-seat.ts';
import { estimateTokens } from '../judge/call-estimate.ts';
import { findCost } from '../judge/judge-cost.ts';
import type { BatchRequest } from '../store/contracts/judge-batches.ts';

/** Builds the question of an attempt without its names: the request that waits for a batch, with its expected cost. */
export function buildRequest(
  { tenant, traceId, sessionId, scoreId, rule }: SeatedAttempt,
  { provider, body }: BatchQuestion,
  prices: PriceTable,
): Omit<BatchRequest, 'customId' | 'jobId' | 'tries' | 'version'> {
  const { model: modelId, messages } = JSON.parse(body) as {
    model: string;
    messages: { content: unknown }[];
  };
  const model = `${provider}/${modelId}`;
  const tokens = estimateTokens({
    messages: messages.map(({ content }) => ({
      role: 'user',
      text: typeof content === 'string' ? content : JSON.stringify(content),
    })),
    responseSchema: undefined,
  });
  const listed = findCost(tokens, findPrice(model, prices));
  return {
    chunk: '',
    tenant,
    traceId,
    sessionId,
    scoreId,
    rule,
    model,
    status: 'waiting',
    estimatedUsd: listed === undefined ? null : listed * BATCH_PRICE_SHARE,
    costUsd: null,
    body,
    replyStatus: 0,
    reply: '',
  };
}

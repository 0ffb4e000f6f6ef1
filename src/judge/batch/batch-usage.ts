import { isRecord } from '../../domain/unknown-values.ts';
import type { ModelPrice } from '../../domain/money/model-prices.ts';
import { findCost } from '../judge-cost.ts';
import { BATCH_PRICE_SHARE } from './batch-seat.ts';

/** Computes the cost of a reply of a batch, USD; undefined without a usage or a price. */
export function findBatchCost(body: unknown, price: ModelPrice | undefined): number | undefined {
  const usage = isRecord(body) && isRecord(body['usage']) ? body['usage'] : {};
  const details = isRecord(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
  const counts = {
    inputTokens: readCount(usage['prompt_tokens']),
    outputTokens: readCount(usage['completion_tokens']),
    cachedInputTokens: readCount(details['cached_tokens']),
  };
  const listed = findCost(counts, price);
  return listed === undefined ? undefined : listed * BATCH_PRICE_SHARE;
}

function readCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

import { AppError, readErrorMessage } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';
import { retryAfterMs } from '../http/retry-after.ts';
import { webhookHeaders } from '../http/standard-webhook.ts';
import { deliveryFailed, isRejection, type Delivery, type ScoreExporter } from './score-exporter.ts';

export interface WebhookExporterConfig {
  readonly url: string;
  /** Secret of the signature: `whsec_` and base64, or any text. Absent: messages are not signed. */
  readonly secret?: string | undefined;
  /** Longest time of one message, milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

export interface WebhookDeps {
  readonly fetch: typeof globalThis.fetch;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const MAX_BATCH = 100;
const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * Creates an exporter that sends one POST for each score, signed by Standard Webhooks, with an id that is the same in every
 * repeat. Only 2xx confirms; redirects are not followed.
 */
export function createWebhookExporter(
  config: WebhookExporterConfig,
  deps: WebhookDeps = { fetch: (...args) => globalThis.fetch(...args), now: Date.now },
): ScoreExporter {
  return {
    name: 'webhook',
    maxBatch: MAX_BATCH,
    async deliver(scores, signal): Promise<Delivery> {
      const delivered: Score[] = [];
      const rejected: Score[] = [];
      for (const score of scores) {
        const outcome = await post(score, config, deps, signal);
        if (outcome instanceof AppError) {
          return { delivered, rejected, failure: outcome };
        }
        (outcome === 'delivered' ? delivered : rejected).push(score);
      }
      return { delivered, rejected };
    },
    shutdown: () => Promise.resolve(),
  };
}

async function post(
  score: Score,
  config: WebhookExporterConfig,
  deps: WebhookDeps,
  signal: AbortSignal,
): Promise<'delivered' | 'rejected' | AppError> {
  const body = JSON.stringify({
    type: 'score.written',
    timestamp: new Date(score.scoredAt).toISOString(),
    data: score,
  });
  try {
    const response = await deps.fetch(config.url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        ...webhookHeaders({ id: `${score.scoreId}.${score.revision}`, body }, config.secret, deps.now()),
      },
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(config.timeoutMs ?? DEFAULT_TIMEOUT_MS)]),
    });
    // The reply body is not used; reading it could take long.
    await response.body?.cancel();
    if (response.ok) {
      return 'delivered';
    }
    return isRejection(response.status)
      ? 'rejected'
      : deliveryFailed(`the webhook answered HTTP ${response.status}`, {
          retryAfterMs: retryAfterMs(
            { 'retry-after': response.headers.get('retry-after') ?? undefined },
            deps.now(),
          ),
        });
  } catch (cause) {
    return deliveryFailed(`the webhook could not be reached: ${readErrorMessage(cause)}`, { cause });
  }
}

import { type AppError, readErrorMessage } from '../../domain/errors.ts';
import type { Score } from '../../domain/score.ts';
import { outboundFetch } from '../http/proxies.ts';
import { retryAfterMs } from '../http/retry-after.ts';
import { webhookHeaders } from '../http/standard-webhook.ts';
import {
  classifyFailure,
  deliveryFailed,
  type DeliveryOutcome,
  type ScoreExporter,
} from './score-exporter.ts';

export interface WebhookExporterConfig {
  readonly url: string;
  /** Secret of the signature: `whsec_` and base64, or any text. Absent: messages are not signed. */
  readonly secret?: string | undefined;
  readonly attempts: number;
  /** Longest time of one message, milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

export interface WebhookDeps {
  readonly fetch: typeof globalThis.fetch;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * Creates an exporter that sends one POST for each score, signed by Standard Webhooks, with an id that is the same in every
 * repeat. Only 2xx confirms; redirects are not followed.
 */
export function createWebhookExporter(
  config: WebhookExporterConfig,
  deps: WebhookDeps = { fetch: outboundFetch, now: Date.now },
): ScoreExporter {
  return {
    name: 'webhook',
    maxBatch: 1,
    attempts: config.attempts,
    async deliver(scores, signal): Promise<DeliveryOutcome> {
      for (const score of scores) {
        const outcome = await post(score, config, deps, signal);
        if (outcome.kind !== 'delivered') {
          return outcome;
        }
      }
      return { kind: 'delivered' };
    },
    shutdown: () => Promise.resolve(),
  };
}

async function post(
  score: Score,
  config: WebhookExporterConfig,
  deps: WebhookDeps,
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  const body = JSON.stringify({
    type: 'score.written',
    timestamp: new Date(score.scoredAt).toISOString(),
    data: score,
  });
  const timeout = AbortSignal.timeout(config.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  try {
    const response = await deps.fetch(config.url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        ...webhookHeaders({ id: `${score.scoreId}.${score.revision}`, body }, config.secret, deps.now()),
      },
      redirect: 'manual',
      signal: AbortSignal.any([signal, timeout]),
    });
    // The reply body is not used; reading it could take long.
    await response.body?.cancel();
    return response.ok ? { kind: 'delivered' } : classifyFailure(response.status, refusal(response, deps));
  } catch (cause) {
    const error = deliveryFailed(`the webhook could not be reached: ${readErrorMessage(cause)}`, { cause });
    // A receiver may be slow on one score only.
    return { kind: timeout.aborted ? 'failed' : 'away', error };
  }
}

function refusal(response: Response, deps: WebhookDeps): AppError {
  const retryAfter = response.headers.get('retry-after') ?? undefined;
  return deliveryFailed(`the webhook answered HTTP ${response.status}`, {
    retryAfterMs: retryAfterMs({ 'retry-after': retryAfter }, deps.now()),
  });
}

import { z } from 'zod';
import { exportAttempts, hookUrl, secret } from '../../config/schema/fields.ts';
import type { Score } from '../../domain/score.ts';
import { webhookHeaders } from '../http/headers.ts';
import { defineExporter, postScores, type ScoreExporter } from './exporter.ts';

/** The exporter `exporters.webhook`. */
export const webhookExporter = defineExporter({
  name: 'webhook',
  options: z
    .strictObject({
      url: hookUrl(
        'URL for scores. Each score is one POST with a JSON body.',
        'put a key into the path or the query, or sign the requests with secret',
      ),
      secret: secret('Secret that signs requests, as Standard Webhooks defines.').optional(),
      attempts: exportAttempts,
    })
    .describe('Scores as signed HTTP requests.'),
  create: (options) => [createWebhookExporter(options)],
});

interface WebhookOptions {
  readonly url: string;
  /** Secret of the signature: `whsec_` and base64, or any text. Absent: messages are not signed. */
  readonly secret?: string | undefined;
  readonly attempts: number;
  readonly timeoutMs?: number | undefined;
}

/** Creates an exporter that sends one POST for each score, signed by Standard Webhooks, with an id that is the same in every repeat. */
export function createWebhookExporter({
  url,
  secret: key,
  attempts,
  timeoutMs,
}: WebhookOptions): ScoreExporter {
  const sendOne = (score: Score, signal: AbortSignal) => {
    const timestamp = new Date(score.scoredAt).toISOString();
    const body = JSON.stringify({ type: 'score.written', timestamp, data: score });
    const id = `${score.scoreId}.${score.revision}`;
    const headers = webhookHeaders({ id, body }, key, Date.now());
    const errors = { answered: 'the webhook answered ', unreached: 'the webhook could not be reached: ' };
    return postScores({ url, headers, body, timeoutMs, atTimeout: 'failed', ...errors }, signal);
  };
  return {
    name: 'webhook',
    maxBatch: 1,
    attempts,
    async send(scores, signal) {
      for (const score of scores) {
        const outcome = await sendOne(score, signal);
        if (outcome.kind !== 'delivered') {
          return outcome;
        }
      }
      return { kind: 'delivered' };
    },
  };
}
